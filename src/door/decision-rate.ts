import type { Clock } from '../contracts/ports/clock.ts'
import { type DecidedSubject, decisionRates } from '../platform/decision-rates.ts'
import { rates } from '../platform/rates.ts'
import { RequestRefused } from './problem.ts'
import type { KeyRate } from './route.ts'

/** Of a key's rate, for decisions. */
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

/**
 * What the record alone takes, and how much of a key's rate a tenant has for it: it is written one step after the other, and other tenants'
 * after what came before. People appeal, so appeals are few.
 */
const RECORDED = {
  'words of feedback': 1 / 10,
  actions: 1 / 10,
  appeals: 1 / 100,
} as const

/** Counts one more of this tenant, whichever of its keys sends it: null, or the problem of too many. */
export type TenantRate = (tenant: string) => RequestRefused | null

export function tenantRate(what: keyof typeof RECORDED, ofKey: KeyRate, clock: Clock): TenantRate {
  const part = RECORDED[what]
  const rate = { perSecond: ofKey.perSecond * part, burst: Math.max(1, ofKey.burst * part) }
  const sent = rates()
  return (tenant) => {
    const retryAfter = sent.take(tenant, rate, { units: 1, own: 0 }, clock())
    if (retryAfter === null) return null
    const says = `the tenant may send ${rate.perSecond} ${what} a second, ${rate.burst} at once`
    return new RequestRefused('rate', says, { retryAfter })
  }
}
