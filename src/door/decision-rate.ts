import type { Clock } from '../contracts/ports/clock.ts'
import { type DecidedSubject, decisionRates } from '../platform/decision-rates.ts'
import { RequestRefused } from './problem.ts'
import type { KeyRate } from './route.ts'

/** Of a key's rate. */
const PART = 1 / 100

/** Counts a decision of this tenant, whichever of its keys makes it: null, or the problem of too many. */
export type DecisionRate = (tenant: string, about: DecidedSubject) => RequestRefused | null

export function decisionRate(ofKey: KeyRate, clock: Clock): DecisionRate {
  const rate = { perSecond: ofKey.perSecond * PART, burst: Math.max(1, ofKey.burst * PART) }
  const { count } = decisionRates(rate, clock)
  return (tenant, about) => {
    const tooMany = count(tenant, about)
    if (tooMany === null) return null
    const { says, retryAfter } = tooMany
    return new RequestRefused('rate', `the tenant ${says}`, { retryAfter })
  }
}
