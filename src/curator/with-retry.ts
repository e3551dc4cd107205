import { setTimeout as sleep } from 'node:timers/promises'
import { RetryLaterError } from '../domain/errors.ts'

export interface RetrySettings {
  /** Attempts in all; waits that somebody else imposed (Retry-After) cost none. */
  readonly attempts: number
  /** The wait before the second attempt, in ms; it doubles from then on. */
  readonly backoffMs: number
}

/**
 * Retries `work` when it throws a `RetryLaterError`, since a command has no queue that would. `work` is given the number of its
 * attempt, from 1. Throws the last `RetryLaterError` after the last attempt, or when the signal is aborted.
 */
export async function withRetry<Result>(
  work: (attempt: number) => Promise<Result>,
  { attempts, backoffMs }: RetrySettings,
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
