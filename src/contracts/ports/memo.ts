import type { ThreadRef } from '../facts/thread.ts'

/** An answer that was paid for, and its usage. */
export interface MemoEntry {
  /** JSON; it fitted the question's schema when it was stored. */
  readonly answer: unknown
  /** The model's text; null if it was too long to store, or answered more than this question. */
  readonly raw: string | null
  readonly model: string
  readonly promptTokens: number
  readonly completionTokens: number
}

export type MemoLookup =
  | { readonly state: 'known'; readonly entry: MemoEntry }
  /** The asker may ask the question, as long as its lease is alive. */
  | { readonly state: 'mine' }
  /** Another asker is asking; its lease ends in `waitMs` unless it is extended. */
  | { readonly state: 'asked'; readonly waitMs: number }

/**
 * Answers by question. Keys are keyed hashes, which reveal nothing of a text, and each belongs to one tenant. The items
 * of a batch have a prompt in common, their frame, and their keys begin with it ({@link frameOf}). A question's subject
 * is the thread whose content it quotes. Every step takes several questions at once, is atomic for those of one frame,
 * may be repeated by the same asker, and stores nothing without an expiry. Times in ms.
 */
export interface Memo {
  /**
   * For each question: its answer, or the right to ask, or that another asker is asking. An answer that is found is also
   * linked to this subject.
   */
  look(keys: readonly string[], asker: string, leaseMs: number, subject: ThreadRef): Promise<readonly MemoLookup[]>
  /**
   * Stores answers and ends their leases. False, with nothing stored, for a question whose expired lease another asker
   * has taken, or that was forgotten meanwhile.
   */
  keep(answers: readonly KeptAnswer[], asker: string, keepMs: number, subject: ThreadRef): Promise<readonly boolean[]>
  /** Links stored answers to this subject as well; false, with nothing done, while nothing about it is stored. */
  share(keys: readonly string[], subject: ThreadRef): Promise<boolean>
  /** There will be no answer: the next asker may ask. */
  giveUp(keys: readonly string[], asker: string): Promise<void>
  /**
   * Like `giveUp`, of questions that have a frame in common. False, with nothing done, if another asker has looked at one of them since this
   * one has its lease, and so waits for the answer.
   */
  abandon(keys: readonly string[], asker: string): Promise<boolean>
  /**
   * Extends leases, be they of many askers and frames, to `leaseMs` from now, also expired ones that nobody took; false for one that
   * another asker has.
   */
  extend(held: readonly HeldQuestion[], leaseMs: number): Promise<readonly boolean[]>
  /**
   * Erases everything that was asked about a subject, also answers that it shares with others; what others alone ask and
   * know stays. Calls in flight about it can't store their answers afterwards, and for `quietMs` nothing that is asked
   * about it is stored. Returns the number of answers erased.
   */
  forget(subject: ThreadRef, quietMs: number): Promise<number>
}

/** A question that is being asked, and who asks it. */
export interface HeldQuestion {
  readonly key: string
  readonly asker: string
}

/** An answer with its question's key, a {@link MemoEntry} as JSON. */
export interface KeptAnswer {
  readonly key: string
  readonly entry: string
}

/** The two parts of a question's key, `FRAME` or `FRAME.ITEM`. */
export function frameOf(key: string): { readonly frame: string; readonly item: string } {
  const dot = key.indexOf('.')
  return dot < 0 ? { frame: key, item: '' } : { frame: key.slice(0, dot), item: key.slice(dot + 1) }
}
