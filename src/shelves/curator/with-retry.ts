import { setTimeout as sleep } from 'node:timers/promises'
import { RetryLaterError } from '../../contracts/facts/errors.ts'

export interface Retries {
  /** Attempts in all; one that was put off by a wait that somebody else imposed (Retry-After) does not count. */
  readonly attempts: number
  /** The wait before the second attempt, in ms; it doubles from then on. */
  readonly backoffMs: number
}

/**
 * Retries what fails with a `RetryLaterError`, for a command has no queue that would. `work` gets the number of its attempt,
 * from 1. Throws the last `RetryLaterError` when every attempt has failed or the signal is aborted.
 */
export async function withRetry<Result>(
  work: (attempt: number) => Promise<Result>,
  { attempts, backoffMs }: Retries,
  { signal, waiting }: { signal: AbortSignal; waiting: (why: string, ms: number) => void },
): Promise<Result> {
  for (let attempt = 1; ; ) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!(error instanceof RetryLaterError) || signal.aborted) throw error
      if (error.costsAttempt && attempt >= attempts) throw error
      const ms = error.delayMs ?? backoffMs * 2 ** (attempt - 1)
      if (error.costsAttempt) attempt++
      waiting(error.message, ms)
      await sleep(ms, undefined, { signal }).catch(() => {})
    }
  }
}
