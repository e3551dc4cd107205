import type { Clock } from '../contracts/ports/clock.ts'
import { rates } from '../platform/rates.ts'
import { RequestRefused } from './problem.ts'
import type { KeyRate } from './route.ts'

/** Of a key's rate. Decisions of all tenants are carried out one after the other in each partition, and people make few of them. */
const PART = 1 / 100

/** Counts a decision of this tenant, whichever of its keys makes it: null, or the problem of too many. */
export type DecisionRate = (tenant: string) => RequestRefused | null

export function decisionRate(ofKey: KeyRate, clock: Clock): DecisionRate {
  const rate = { perSecond: ofKey.perSecond * PART, burst: Math.max(1, ofKey.burst * PART) }
  const made = rates()
  return (tenant) => {
    const retryAfter = made.take(tenant, rate, { units: 1, own: 0 }, clock())
    if (retryAfter === null) return null
    const says = `the tenant may make ${rate.perSecond} decisions a second, ${rate.burst} at once`
    return new RequestRefused('rate', says, { retryAfter })
  }
}
