import type { ThreadRef } from '../facts/thread.ts'

/** Somebody of a tenant, by the hash of their name (`authorHashes`). */
export interface NamedAuthor {
  readonly tenant: string
  readonly author: string
}

/** That somebody wrote a subject: a post, a reply, or a comment, also one that is not judged by itself. */
export interface Authorship extends NamedAuthor {
  readonly subject: ThreadRef
}

/** A subject, and when it was last noted, ms since 1970. */
export interface NotedSubject {
  readonly subject: ThreadRef
  readonly at: number
}

/**
 * Who wrote what of which the store may hold anything. A subject is noted before anything of it is stored, and stays noted for as long as
 * that may be. What it takes counts to its tenant. All steps are repeatable, in any process.
 */
export interface AuthorIndex {
  note(of: readonly Authorship[]): Promise<void>
  /** Some of what somebody wrote, those first that were noted first. */
  by(author: NamedAuthor, limit: number): Promise<readonly NotedSubject[]>
  /** Notes that were not made anew since are forgotten. */
  forget(author: NamedAuthor, noted: readonly NotedSubject[]): Promise<void>
  /** Forgets some of the notes on what the store holds no more. */
  tidy(): Promise<void>
}

/** What an erasure of a person waits for. `intake`: to read what is on its topics; `shelves`: or cases that were shown something. */
export const AUTHOR_ERASURE_WAITS = ['intake', 'record', 'shelves'] as const

/** The erasure of all that somebody wrote. */
export interface AuthorErasure {
  /** The hash of the author's name. */
  readonly id: string
  readonly tenant: string
  /** The name; gone once it is done. */
  readonly author?: string | undefined
  /** Who asked for it. */
  readonly by: string
  /** ms since 1970 */
  readonly askedAt: number
  /**
   * `asked`: nobody has begun; `sending`: deletions of what is found are sent; `sent`: all of them are, and are carried out; `done`:
   * they were.
   */
  readonly state: 'asked' | 'sending' | 'sent' | 'done'
  readonly waitsFor: (typeof AUTHOR_ERASURE_WAITS)[number] | null
  /** How many deletions were sent. */
  readonly sent: number
  /** Up to which offsets intake, and the record, have to read before it goes on, by `topic/partition`. */
  readonly upTo: Readonly<Record<string, string>>
  /** Since when it is `sent`, and `done`, ms since 1970. */
  readonly sentAt?: number | undefined
  readonly doneAt?: number | undefined
}

/** How far the record has come with an erasure: what it has of the author is noted; it has read all deletions. */
export type RecordErasure = 'searched' | 'clean'

/** The erasures of authors, of all processes. */
export interface AuthorErasures {
  /** Begins one unless one of the same author is under way; returns the one that is. */
  ask(erasure: AuthorErasure): Promise<AuthorErasure>
  all(): Promise<readonly AuthorErasure[]>
  read(id: string): Promise<AuthorErasure | null>
  /** By the process that leads them alone. */
  save(erasure: AuthorErasure): Promise<void>
  /** Forgets one that is done. */
  drop(id: string): Promise<void>
  /** A record is kept, and holds for so long, ms, what it has. */
  noteRecord(keepMs: number): Promise<void>
  /** Whether one is kept, or was within that time. */
  hasRecord(): Promise<boolean>
  recordOf(id: string): Promise<RecordErasure | null>
  saveRecord(id: string, state: RecordErasure): Promise<void>
}
