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
  /** The caller has the lease now, and may ask the question. */
  | { readonly state: 'leased' }
  /** Another holder is asking; its lease expires in so many ms, unless it is renewed. */
  | { readonly state: 'leased-by-other'; readonly expiresInMs: number }

/**
 * Answers by question. Keys are keyed hashes, which reveal nothing of a text, and each belongs to one tenant. The items
 * of a batch have a prompt in common, their frame, and their keys begin with it ({@link frameOf}). A question's subject
 * is the thread whose content it quotes. Every step takes several questions at once, is atomic for those of one frame,
 * may be repeated by the same holder, and stores nothing without an expiry. Times in ms.
 *
 * A lease is the right to ask one question. `holder` is a name that one ask in one process has made up for itself. It renews its
 * lease while it asks, and releases it if no answer comes. An expired lease stays its holder's until another takes it over.
 */
export interface Memo {
  /**
   * For each question: its answer, or a lease for `holder`, or that another holder has the lease. An answer that is found is also
   * linked to this subject. With `overwrite`, an answer counts as unknown, and the lease takes its place.
   */
  lookUp(
    keys: readonly string[],
    holder: string,
    leaseMs: number,
    subject: ThreadRef,
    how?: { readonly overwrite: boolean },
  ): Promise<readonly MemoLookup[]>
  /**
   * Stores answers and ends their leases. False, with nothing stored, for a question whose expired lease another holder has
   * taken over, or that was forgotten meanwhile.
   */
  keep(answers: readonly KeptAnswer[], holder: string, keepMs: number, subject: ThreadRef): Promise<readonly boolean[]>
  /** Links stored answers to this subject as well; false, with nothing done, while nothing about it is stored. */
  share(keys: readonly string[], subject: ThreadRef): Promise<boolean>
  /** Ends leases without an answer: the next one to look the question up may ask it. */
  release(keys: readonly string[], holder: string): Promise<void>
  /**
   * Like `release`, of questions that have a frame in common. False, with nothing done, if another holder has looked one of them
   * up since then, and so waits for the answer.
   */
  releaseUnlessAwaited(keys: readonly string[], holder: string): Promise<boolean>
  /**
   * Renews leases, of any holders and frames, to `leaseMs` from now, also expired ones that nobody took over; false for one that
   * another holder has.
   */
  renew(leased: readonly LeasedQuestion[], leaseMs: number): Promise<readonly boolean[]>
  /**
   * Erases everything that was asked about a subject, also answers that it shares with others; what others alone ask and
   * know stays. Calls in flight about it can't store their answers afterwards, and for `quietMs` nothing that is asked
   * about it is stored. Returns the number of answers erased.
   */
  forget(subject: ThreadRef, quietMs: number): Promise<number>
}

/** A question that is being asked, and the holder of its lease. */
export interface LeasedQuestion {
  readonly key: string
  readonly holder: string
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
