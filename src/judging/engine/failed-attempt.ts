import { type FailureCode, PermanentError, RetryLaterError } from '../../contracts/facts/errors.ts'
import { noUsage } from '../../contracts/facts/verdict.ts'
import type { Attempt, AttemptEnd } from '../../contracts/ports/stage-queues.ts'
import type { AskResult } from '../../models/context.ts'

/** What follows from an attempt that threw: the ask fails, it is retried, or the error is unexpected. */
type FailedAttempt =
  | { readonly next: 'fail'; readonly settled: AskResult }
  | { readonly next: 'retry'; readonly end: Exclude<AttemptEnd, { end: 'done' }> }
  | { readonly next: 'throw' }

/**
 * Decides which of these. `deadline` is the case's, and `now` is the time of the failure, both in ms since 1970; `spared`: its answer
 * can be done without.
 */
export function failedAttempt(
  error: unknown,
  { signal, last, heldMs }: Pick<Attempt, 'signal' | 'last' | 'heldMs'>,
  { deadline, now, spared = false }: { readonly deadline: number; readonly now: number; readonly spared?: boolean },
): FailedAttempt {
  if (error instanceof PermanentError) return { next: 'fail', settled: failed(error.code, error.message) }
  if (!signal.aborted && !(error instanceof RetryLaterError)) return { next: 'throw' }
  const retry =
    error instanceof RetryLaterError ? error : new RetryLaterError('aborted', 'stopped', { costsAttempt: false })
  const delayMs = waitOf(retry, { heldMs, leftMs: deadline - now })
  if (now + delayMs >= deadline) {
    const detail = `the case's deadline passes before the next try; last: ${retry.code}`
    return { next: 'fail', settled: failed('deadline', detail) }
  }
  if (spared && !signal.aborted && isLong(retry, heldMs + delayMs))
    return { next: 'fail', settled: failed(retry.code, retry.message) }
  const why = `${retry.code}: ${retry.message}`
  if (!retry.costsAttempt) return { next: 'retry', end: { end: 'deferred', delayMs, why } }
  if (last) return { next: 'fail', settled: failed(retry.code, retry.message) }
  return { next: 'retry', end: { end: 'again', why } }
}

/** So long does an ask that can be done without wait for its turn, in ms. */
const SPARED_WAIT_MS = 10_000

/** Whether it is too long for an ask that can be done without: for a model that is away, for money, or for its turn. */
function isLong({ awaits, code, costsAttempt }: RetryLaterError, waitedMs: number): boolean {
  if (awaits === 'publication') return false
  return (
    (awaits !== undefined && awaits !== 'load') || code === 'budget' || (!costsAttempt && waitedMs > SPARED_WAIT_MS)
  )
}

function failed(code: FailureCode, detail: string): AskResult {
  return { answer: null, failed: { code, detail }, raw: null, model: '', usage: noUsage(), ms: 0, memo: false }
}

/** Shortest wait that an endpoint can impose, and that of a busy one that names none, in ms. */
const [LEAST_WAIT_MS, BUSY_WAIT_MS] = [100, 1_000] as const
const IMPOSED: ReadonlySet<string> = new Set<FailureCode>(['rate-limited', 'unavailable'])

/**
 * How long to wait before the next try, in ms. A wait imposed by an endpoint costs no attempt, so it lasts at least
 * half as long as the ask has waited so far (`heldMs`): however short the imposed waits are, an ask is tried some
 * twenty times, not millions of times. It does not grow where the endpoint answers others meanwhile. A busy endpoint that names no wait
 * is asked after one to two seconds at first, by lot. An ask that waits for its model waits as long as the error asks for. Neither
 * growth nor waiting for a model takes more than half of the time that is left (`leftMs`): the deadline ends no ask that was not tried
 * until then, and what is held is noted anew before it.
 */
export function waitOf(
  { code, delayMs, costsAttempt, awaits, grows }: RetryLaterError,
  { heldMs, leftMs }: { readonly heldMs: number; readonly leftMs: number },
  random: () => number = Math.random,
): number {
  if (costsAttempt) return delayMs ?? 0
  const within = (ms: number) => Math.min(ms, Math.max(leftMs / 2, BUSY_WAIT_MS))
  if (awaits !== undefined && awaits !== 'load') return within(delayMs ?? 0)
  if (!IMPOSED.has(code)) return delayMs ?? 0
  const least = delayMs ?? (code === 'rate-limited' ? BUSY_WAIT_MS * (1 + random()) : 0)
  return Math.max(awaits === undefined ? least : within(least), LEAST_WAIT_MS, grows ? within(heldMs / 2) : 0)
}
