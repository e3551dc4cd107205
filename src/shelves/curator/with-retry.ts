import { setTimeout as sleep } from 'node:timers/promises'
import { RetryLaterError } from '../../contracts/facts/errors.ts'

export interface Retries {
  /** Attempts in all; one that was put off by a wait that somebody else imposed (Retry-After) does not count. */
  readonly attempts: number
  /** The wait before the second attempt, in ms; it doubles from then on. */
  readonly backoffMs: number
}

/** So long, in ms, waits that cost no attempt are waited for, such as those of a busy model. */
const MOST_HELD_MS = 600_000

/**
 * Retries what fails with a `RetryLaterError`, for a command has no queue that would. `work` gets the number of its attempt,
 * from 1. Throws the last `RetryLaterError` when every attempt has failed or the signal is aborted.
 */
export async function withRetry<Result>(
  work: (attempt: number) => Promise<Result>,
  { attempts, backoffMs }: Retries,
  { signal, waiting }: { signal: AbortSignal; waiting: (why: string, ms: number) => void },
): Promise<Result> {
  let heldMs = 0
  for (let attempt = 1; ; ) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!(error instanceof RetryLaterError) || signal.aborted) throw error
      const isOver = error.costsAttempt ? attempt >= attempts : heldMs >= MOST_HELD_MS
      if (isOver) throw error
      const ms = Math.max(error.delayMs ?? backoffMs * 2 ** (attempt - 1), error.costsAttempt ? 0 : heldMs / 2)
      if (error.costsAttempt) attempt++
      else heldMs += ms
      waiting(error.message, ms)
      await sleep(ms, undefined, { signal }).catch(() => {})
    }
  }
}
