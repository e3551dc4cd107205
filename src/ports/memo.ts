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
 * Answers by question. Keys are keyed hashes, so that they tell nothing of a text; whose content a question holds is its
 * subject. Every step is atomic, may be repeated by the same asker, and leaves nothing without an expiry. Times in ms.
 */
export interface Memo {
  /** What is known, or the right to ask, or that somebody else is asking. An answer that is found is its subject's too. */
  look(key: string, asker: string, leaseMs: number, subject: ThreadRef): Promise<Looked>
  /**
   * Keeps an answer and ends the lease. False, with nothing kept, if another asker has taken the lapsed lease or the
   * question was forgotten meanwhile.
   */
  keep(key: string, asker: string, entry: MemoEntry, keepMs: number, subject: ThreadRef): Promise<boolean>
  /** Notes that an answer that is kept is about this subject as well. */
  share(key: string, subject: ThreadRef): Promise<void>
  /** There will be no answer: the next may ask. */
  giveUp(key: string, asker: string): Promise<void>
  /** Lengthens the lease to `leaseMs` from now, also a lapsed one that nobody took; false if it is lost. */
  extend(key: string, asker: string, leaseMs: number): Promise<boolean>
  /**
   * Erases all that was asked about a subject, answers that it shares with others too, and lets no call keep its answer
   * that is under way; for `quietMs` nothing that is asked about it is kept. Returns how many answers went.
   */
  forget(subject: ThreadRef, quietMs: number): Promise<number>
}
