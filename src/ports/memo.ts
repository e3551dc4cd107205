import type { ThreadRef } from '../domain/thread.ts'

/** An answer that was paid for, and what it took. */
export interface MemoEntry {
  /** As JSON can hold it; it fitted the question's schema when it was kept. */
  readonly answer: unknown
  /** What the model wrote; null where that was too long to keep, or answered more than this question. */
  readonly raw: string | null
  readonly model: string
  readonly promptTokens: number
  readonly completionTokens: number
}

export type Looked =
  | { readonly state: 'known'; readonly entry: MemoEntry }
  /** The question is this asker's to ask, as long as its lease lives. */
  | { readonly state: 'mine' }
  /** Somebody else is asking; its lease ends in `waitMs` unless it is extended. */
  | { readonly state: 'asked'; readonly waitMs: number }

/**
 * Answers by question. Keys are keyed hashes, so that they tell nothing of a text, and each belongs to one tenant. A question's
 * subject is the thread whose content it holds. Every step takes several questions at once, is atomic, may be repeated by the
 * same asker, and leaves nothing without an expiry. Times in ms.
 */
export interface Memo {
  /**
   * For each question its answer, or the right to ask, or that somebody else is asking. An answer that is found is noted as
   * being about this subject too.
   */
  look(keys: readonly string[], asker: string, leaseMs: number, subject: ThreadRef): Promise<readonly Looked[]>
  /**
   * Keeps answers and ends their leases. False, with nothing kept, for a question whose lapsed lease another asker has taken,
   * or that was forgotten meanwhile.
   */
  keep(answers: readonly Kept[], asker: string, keepMs: number, subject: ThreadRef): Promise<readonly boolean[]>
  /** Notes that answers that are kept are about this subject as well. */
  share(keys: readonly string[], subject: ThreadRef): Promise<void>
  /** There will be no answer: the next may ask. */
  giveUp(keys: readonly string[], asker: string): Promise<void>
  /** Extends the leases to `leaseMs` from now, also lapsed ones that nobody took; false for one that another asker has. */
  extend(keys: readonly string[], asker: string, leaseMs: number): Promise<readonly boolean[]>
  /**
   * Erases all that was asked about a subject, also answers that it shares with others. Calls in flight can't keep their
   * answers afterwards, and for `quietMs` nothing that is asked about it is kept. Returns the number of answers erased.
   */
  forget(subject: ThreadRef, quietMs: number): Promise<number>
}

/** An answer under its question's key. */
export interface Kept {
  readonly key: string
  readonly entry: MemoEntry
}
