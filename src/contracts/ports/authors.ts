import type { AuthorErasure } from '../facts/author-erasure.ts'
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
  /** Of a tenant that holds `most` bytes nothing new is noted; null: there is no limit. */
  note(of: readonly Authorship[], most?: number | null): Promise<void>
  /** Some of what somebody wrote, those first that were noted first. */
  by(author: NamedAuthor, limit: number): Promise<readonly NotedSubject[]>
  /** Notes that were not made anew since are forgotten. */
  forget(author: NamedAuthor, noted: readonly NotedSubject[]): Promise<void>
  /** Forgets the notes on what the store holds no more, as far as it gets in half a second. */
  tidy(): Promise<void>
}

/** How far the record has come with an erasure: what it has of the author is noted; it has read all deletions. */
export type RecordErasure = 'searched' | 'clean'

/** The erasures of authors, of all processes. */
export interface AuthorErasures {
  /** Begins one unless one of the same author is under way; returns the one that is; null if `mostOpen` of the tenant are. */
  ask(erasure: AuthorErasure, mostOpen?: number): Promise<AuthorErasure | null>
  /** Those that are under way. */
  all(): Promise<readonly AuthorErasure[]>
  read(id: string): Promise<AuthorErasure | null>
  /** By the process that leads them alone. */
  save(erasure: AuthorErasure): Promise<void>
  /** By the same: it is done, and remembered for so long, ms. */
  finish(erasure: AuthorErasure, keepMs: number): Promise<void>
  /** A record is kept, and holds for so long, ms, what it has. */
  noteRecord(keepMs: number): Promise<void>
  /** Whether one is kept, or was within that time. */
  hasRecord(): Promise<boolean>
  recordOf(id: string): Promise<RecordErasure | null>
  saveRecord(id: string, state: RecordErasure): Promise<void>
}
