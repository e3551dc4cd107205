import type { Right } from '../domain/person-roles.ts'
import type { Session } from './sessions.ts'
import type { Safe } from './view.ts'

/** What a page is made of. */
export interface Asked {
  readonly query: URLSearchParams
  /** The fields of a form; empty for a GET. */
  readonly form: URLSearchParams
  readonly session: Session
  /** Which event a stream goes on after. */
  readonly lastEventId: string | null
  /** Aborts when the client has gone, or the console closes. */
  readonly signal: AbortSignal
  /** Notes which verdicts a stream has told; false if that can't be kept. */
  told(verdicts: readonly string[]): Promise<boolean>
}

/** What a page answers: itself, another address, or a stream. */
export type Answer =
  | { readonly title: string; readonly body: Safe; readonly status?: 200 | 400 | 403 | 404 | 409 | 503 }
  | { readonly to: string }
  /** What has become of a page that somebody has open, in a few words; null: nothing. */
  | { readonly news: string | null }
  | { readonly file: string; readonly name: string }
  | { readonly stream: ReadableStream<Uint8Array> }

/** A page of the console, behind all checks. */
export interface Page {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Who may ask for it. */
  readonly right: Right
  /** What it does costs so much that no other site may begin it. */
  readonly isCostly?: true
  /** A page's script asks for it again and again: that keeps no session from being idle. */
  readonly isByItself?: true
  answer(asked: Asked): Promise<Answer> | Answer
}
