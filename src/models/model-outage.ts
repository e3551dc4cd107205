import { type OutageReason, PermanentError, RetryLaterError, UnknownRefusal } from '../contracts/facts/errors.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Breaker } from './breaker.ts'
import { type AskContext, ModelAvoided } from './context.ts'

/** Defers asks that no model of their chain answers. */
export interface OutageDeferral {
  /** Notes that a model of the chain answered an ask of this case, which began then, in ms since 1970. */
  answered(chain: readonly string[], context: Pick<AskContext, 'caseId' | 'askId'>, beganAt: number): void
  /** The error to throw for this one: the same, or one by which the ask waits for its model. */
  errorFor(
    error: unknown,
    chain: readonly string[],
    context: Pick<AskContext, 'caseId' | 'askId' | 'last' | 'deadline'> & { readonly accountKey?: string },
  ): unknown
}

/** An ask that the breaker has not stopped yet is tried again after this, in ms. */
const SOON_MS = 1_000
/** Waiting asks come back within this after the model may be called again, in ms: not all at once… */
const SPREAD_MS = 30_000
/** …and so many of them that each of a process has so long, in ms, up to the longer one: what they cost does not grow with them. */
const SPREAD_EACH_MS = 50
const MOST_SPREAD_MS = 60_000
/** An ask that has not come back for this long has ended elsewhere, in ms. */
const GONE_MS = 240_000
/** Within this of its case's deadline an ask has no other attempt, in ms. */
const LAST_MS = 2_000
/** Refused so often for what might be its own doing, while others are answered, an ask has failed. */
const MOST_REFUSALS = 3
/** Asks whose failures are remembered; the oldest go first. */
const MOST_REMEMBERED = 10_000

/**
 * Tells an ask that fails by its own doing from a model that answers nobody, and defers the latter, at no attempt's cost:
 * where the breakers block every model of the chain; where the account or the key is refused; where a permission or the
 * model is, or the last attempt got no answer, unless the chain has answered another case that asked later; for a status that says
 * nothing of the question, two questions that asked later. The last attempt before a case's deadline counts as its last, if the chain
 * has answered at all. A busy model is waited for at no attempt's cost in any case; until it has answered another case, as in an outage.
 */
export function outageDeferral(deps: {
  breakers: Pick<Breaker, 'preferred' | 'outage'>
  clock: Clock
  random?: () => number
}): OutageDeferral {
  const { breakers, clock, random = Math.random } = deps
  /** By ask: when it first failed, and when it last found its model busy, in ms since 1970; and how often it was refused. */
  const failing = new Map<string, { readonly since: number; busyAt: number; refusals: number }>()
  /** Waiting asks by when they were last deferred, the longest ago first, in ms since 1970. */
  const waiting = new Map<string, number>()
  /** By chain: the last case that was answered and the last other one, and when they asked. */
  const answers = new Map<string, readonly { readonly caseId: string; readonly beganAt: number }[]>()
  /** By chain: when the two answered questions asked that asked last. */
  const asked = new Map<string, readonly number[]>()

  function failureOf(askId: string) {
    const known = failing.get(askId) ?? { since: clock(), busyAt: clock(), refusals: 0 }
    failing.set(askId, known)
    for (const oldest of failing.keys()) {
      if (failing.size <= MOST_REMEMBERED) break
      failing.delete(oldest)
    }
    return known
  }

  function othersAnswered(chain: readonly string[], caseId: string, since: number): boolean {
    return (answers.get(chain.join()) ?? []).some((one) => one.caseId !== caseId && one.beganAt > since)
  }

  /** Whether it has answered two questions meanwhile: not this one, which fails no more once it is answered. */
  function twoAnswered(chain: readonly string[], since: number): boolean {
    return (asked.get(chain.join()) ?? []).filter((beganAt) => beganAt > since).length === 2
  }

  function hasAnswered(chain: readonly string[]): boolean {
    return answers.has(chain.join())
  }

  /** How many asks wait, this one with them. */
  function countWith(askId: string): number {
    const now = clock()
    waiting.delete(askId)
    waiting.set(askId, now)
    for (const [oldest, at] of waiting) {
      if (waiting.size <= MOST_REMEMBERED && Math.abs(now - at) < GONE_MS) break
      waiting.delete(oldest)
    }
    return waiting.size
  }

  function deferral(
    {
      reason,
      why,
      askId,
      accountKey,
    }: { reason: OutageReason; why: string; askId: string; accountKey?: string | undefined },
    chain: readonly string[],
    cause: unknown,
  ): RetryLaterError {
    const { retryInMs } = breakers.preferred(chain, 1, accountKey)
    const forAll = Math.min(MOST_SPREAD_MS, countWith(askId) * SPREAD_EACH_MS)
    const spreadMs = Math.max(forAll, Math.min(SPREAD_MS, retryInMs))
    const delayMs = retryInMs === 0 ? SOON_MS * (1 + random()) : retryInMs + random() * spreadMs
    return new RetryLaterError(reason === 'unreachable' ? 'unavailable' : 'operator', why, {
      delayMs,
      costsAttempt: false,
      awaits: reason,
      cause,
    })
  }

  /**
   * A busy model is waited for; the wait does not grow once another case has been answered since this ask was last turned away, and
   * counts towards the deadline once one has been since it was first.
   */
  function busyError(
    error: RetryLaterError,
    chain: readonly string[],
    { caseId, askId }: { caseId: string; askId: string },
  ) {
    const failure = failureOf(askId)
    const grows = !othersAnswered(chain, caseId, failure.busyAt)
    failure.busyAt = clock()
    const { code, message, delayMs, costsAttempt } = error
    return new RetryLaterError(code, message, {
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(othersAnswered(chain, caseId, failure.since) ? {} : { awaits: 'load' }),
      costsAttempt,
      grows,
      cause: error,
    })
  }

  return {
    answered(chain, { caseId, askId }, beganAt) {
      failing.delete(askId)
      waiting.delete(askId)
      const key = chain.join()
      const before = (answers.get(key) ?? []).filter((one) => one.caseId !== caseId)
      answers.set(key, [{ caseId, beganAt }, ...before].slice(0, 2))
      asked.set(key, [beganAt, ...(asked.get(key) ?? [])].toSorted((a, b) => b - a).slice(0, 2))
    },

    errorFor(error, chain, { caseId, askId, last, deadline, accountKey }) {
      if (error instanceof ModelAvoided) {
        const outage = breakers.outage(breakers.preferred(chain, 1).model)
        const why = outage === null || outage.why === '' ? error.message : `${error.message}: ${outage.why}`
        return deferral({ reason: outage?.reason ?? 'unreachable', why, askId, accountKey }, chain, error)
      }
      if (error instanceof PermanentError && error.operatorAction !== undefined) {
        const failure = failureOf(askId)
        failure.refusals++
        const mayBeItsOwn = error.operatorAction === 'permission' || error.operatorAction === 'model'
        const isItsOwn =
          mayBeItsOwn && failure.refusals >= MOST_REFUSALS && othersAnswered(chain, caseId, failure.since)
        return isItsOwn
          ? error
          : deferral({ reason: error.operatorAction, why: error.message, askId, accountKey }, chain, error)
      }
      if (error instanceof RetryLaterError && error.code === 'rate-limited')
        return busyError(error, chain, { caseId, askId })
      const isSilence = error instanceof RetryLaterError && (error.code === 'unavailable' || error.code === 'timeout')
      if (!isSilence || !error.costsAttempt) return error
      const { since } = failureOf(askId)
      const isBlocked = breakers.preferred(chain, 1, accountKey).retryInMs > 0
      // A model that has never answered in time may only be slower than cases are given.
      const isLast = last || (deadline - clock() <= LAST_MS && hasAnswered(chain))
      const isUnknown = error instanceof UnknownRefusal
      const worksForOthers = isUnknown ? twoAnswered(chain, since) : othersAnswered(chain, caseId, since)
      if (!isBlocked && !isLast) return error
      if (!isBlocked && worksForOthers) return isUnknown ? error.ofQuestion() : error
      return deferral({ reason: 'unreachable', why: error.message, askId, accountKey }, chain, error)
    },
  }
}
