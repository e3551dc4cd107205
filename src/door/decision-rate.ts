import type { Clock } from '../contracts/ports/clock.ts'
import { type DecidedSubject, decisionRates } from '../platform/decision-rates.ts'
import { rates } from '../platform/rates.ts'
import { RequestRefused } from './problem.ts'
import type { KeyRate } from './route.ts'

/** Of a key's rate. The record writes feedback one step after the other, and other tenants' after what came before. */
const [PART, FED_PART] = [1 / 100, 1 / 10]

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

/** Counts feedback of this tenant, whichever of its keys sends it: null, or the problem of too much. */
export type FeedbackRate = (tenant: string) => RequestRefused | null

export function feedbackRate(ofKey: KeyRate, clock: Clock): FeedbackRate {
  const rate = { perSecond: ofKey.perSecond * FED_PART, burst: Math.max(1, ofKey.burst * FED_PART) }
  const sent = rates()
  return (tenant) => {
    const retryAfter = sent.take(tenant, rate, { units: 1, own: 0 }, clock())
    if (retryAfter === null) return null
    const says = `the tenant may send ${rate.perSecond} words of feedback a second, ${rate.burst} at once`
    return new RequestRefused('rate', says, { retryAfter })
  }
}
