import type { Comment, Post } from '../facts/thread.ts'

/** A client's request for a verdict, apart from the stream. */
export interface VerdictRequest {
  /** `id` is the client's: the request is erased when the stream's subject of this id is deleted. With `hateSpeech` it is a reply. */
  readonly post: Post
  readonly comments: readonly Comment[]
  /** The protocols that are to judge it; null leaves the choice to the routes. */
  readonly protocols: readonly string[] | null
  /** Its verdicts are also handed to the tenant's webhooks. */
  readonly webhook: boolean
  /** Somebody waits for the answer now: it is judged as of the class `waiting`. */
  readonly waits: boolean
}

/** A request that may be made; with `any`, by all that may be asked about such a post. */
export interface PossibleRequest extends Pick<VerdictRequest, 'post' | 'comments'> {
  readonly protocols: VerdictRequest['protocols'] | 'any'
}

/** The outcome of a request. Except for `asked`, nothing of it is kept. */
export type VerdictRequestOutcome =
  /** Until `until`, ms since 1970, the answer can be read under this id. */
  | { readonly kind: 'asked'; readonly id: string; readonly until: number; readonly protocols: readonly string[] }
  /** The stream's subject of that id has been deleted. */
  | { readonly kind: 'deleted' }
  /** What the tenant sent and asked, with its answers, holds all that it may. */
  | { readonly kind: 'over-share' }
  | { readonly kind: 'paused'; readonly protocols: readonly string[] }
  /** Protocols that are off, unknown, or don't judge such a subject; none are named where the routes choose none. `judging` do. */
  | { readonly kind: 'unjudged'; readonly protocols: readonly string[]; readonly judging: readonly string[] }

/** Has posts judged that a client asks about. Each is a request of its own: asked again, it is another one. */
export interface VerdictRequests {
  /**
   * Most calls of models that judging it may take, retries of a call aside; 0 if nothing judges it.
   */
  mostCalls(tenant: string, asked: PossibleRequest): number
  /** Whether its tenant may hold it besides what it holds, as far as is known: before anything is done or charged for it. */
  hasRoom(tenant: string, asked: PossibleRequest): Promise<boolean>
  /** Resolves when it is durable. Throws `StoreSuspended` while the store can't be trusted. */
  ask(tenant: string, asked: VerdictRequest): Promise<VerdictRequestOutcome>
  /** Its client has gone and has no address of it: calls made for it alone are stopped, and nothing is kept. */
  leave(tenant: string, id: string): Promise<void>
  /** The same where a client asks for it. False if this tenant has no such request. */
  erase(tenant: string, id: string): Promise<boolean>
}

/** The verdicts on one request so far. */
export interface VerdictAnswer {
  /** The client's id of the post or reply. */
  readonly subjectId: string
  readonly protocols: readonly string[]
  /** When it was asked, and until when it can be read; ms since 1970. */
  readonly opened: number
  readonly until: number
  /** By protocol, as JSON: each as it was decided. It is complete when every one of `protocols` is here. */
  readonly verdicts: ReadonlyMap<string, string>
  readonly transcripts: ReadonlyMap<string, string>
  /** The stream's subject of that id was deleted, or a client erased it: nothing else of it is kept. */
  readonly erased: boolean
}

/** Verdicts on requests, kept for a set time, then forgotten. */
export interface Answers {
  /**
   * Repeatable. Nothing is kept if the request was dropped, or its answer forgotten. Resolves to whether its client wants it by webhook
   * too: of a forgotten answer as well, not of a dropped request.
   */
  put(of: {
    readonly tenant: string
    readonly request: string
    readonly protocol: string
    readonly verdict: string
    readonly transcript: string
  }): Promise<boolean>
  /** Null if this tenant has no such request, or it has been forgotten. Without `transcripts` it has none of them. */
  read(tenant: string, request: string, options?: { readonly transcripts?: boolean }): Promise<VerdictAnswer | null>
  /** Resolves when the request may have another answer or was dropped, at `signal`, and after a second at the latest. */
  changed(request: string, signal: AbortSignal): Promise<void>
  /** Tells every process that the request was dropped. May be lost, and is never waited for. */
  tellDropped(request: string): Promise<void>
  /** Calls `listener` at most once, if the request is reported as dropped, until the returned function is called. */
  onDropped(request: string, listener: () => void): () => void
  close(): Promise<void>
}
