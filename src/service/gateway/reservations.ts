import { entryOf } from '../domain/entry-of.ts'
import { PermanentError } from '../domain/errors.ts'
import { type Amount, type Budgets, NOTHING, type Refused } from '../ports/budgets.ts'
import type { Clock } from '../ports/clock.ts'
import type { LimitKind, Limits, LimitsOf, Ticket } from '../ports/limits.ts'
import type { Report } from '../ports/report.ts'
import { CallDeferred } from './deferred.ts'
import { spentBudgets } from './spent-budgets.ts'
import { longestCallMs, type TierSettings } from './tiers.ts'

export interface ReservationSettings extends TierSettings {
  /** What all processes together may ask: by model and by tenant; `default` for others. */
  readonly limits: {
    readonly models: Readonly<Record<string, LimitsOf>>
    readonly tenants: Readonly<Record<string, LimitsOf>>
  }
  /** Wait until a budget renews, or fail the ask. */
  readonly whenSpent: 'hold' | 'degrade'
}

/** A call that needs room. */
export interface Reserving {
  /** Unique to this call. */
  readonly id: string
  readonly model: string
  readonly tenant: string
  readonly caseId: string
  /** Identifies the ask, the same at each try. */
  readonly askId: string
  /** An upper bound of what the call can use. */
  readonly atMost: Amount
}

/** What budgets and limits granted to one call, or why they refused. */
export interface Reservation {
  /** Rethrows the first refusal (budget first): `CallDeferred` or `PermanentError`. */
  check(): void
  /** Replaces the reservation by the real usage; a call that is not counted is given back to the limits in full. */
  settle(spent: Amount, counted: boolean): void
  /** Gives everything back, and resolves when that is done. */
  release(): Promise<void>
}

/**
 * Reserves room for calls under every budget and limit. Errors while giving room back are reported: what is not given
 * back expires.
 */
export function reservations(deps: {
  limits: Limits
  budgets: Budgets
  settings: ReservationSettings
  clock: Clock
  report: Report
}): (call: Reserving) => Promise<Reservation> {
  const { limits, budgets, settings, clock, report } = deps
  const spent = spentBudgets(report, clock, settings.whenSpent)

  /** True if it must be settled. */
  async function reserveMoney({ id: ticket, caseId, tenant, atMost }: Reserving): Promise<boolean> {
    const leaseMs = longestCallMs(settings) + LEASE_SPARE_MS
    const reserved = await budgets.reserve({ ticket, caseId, tenant, atMost, leaseMs })
    if (reserved.granted) {
      spent.granted(tenant)
      return reserved.unlimited !== true
    }
    report('budget:refused', { scope: reserved.scope, unit: reserved.unit, why: reserved.why, caseId })
    spent.refused(reserved, tenant)
    throw refusalOf(reserved, settings.whenSpent)
  }

  async function reserveRoom({ model, tenant, caseId, askId, atMost }: Reserving): Promise<Ticket | null> {
    const { models, tenants } = settings.limits
    const scopes = [
      { kind: 'model' as const, name: `model:${model}`, limits: entryOf(models, model) ?? models.default ?? {} },
      { kind: 'tenant' as const, name: `tenant:${tenant}`, limits: entryOf(tenants, tenant) ?? tenants.default ?? {} },
    ].filter(({ limits: of }) => Object.keys(of).length > 0)
    if (scopes.length === 0) return null
    const reserved = await limits.reserve(
      scopes.map(({ name, limits: of }) => ({ name, limits: of })),
      { asker: askId, tokens: atMost.tokens },
    )
    if (reserved.granted) return reserved.ticket
    const kind: LimitKind = scopes.find(({ name }) => name === reserved.scope)?.kind ?? 'model'
    report('call:limited', { scope: kind, waitMs: reserved.waitMs, caseId })
    const wait = { delayMs: reserved.waitMs, costsAttempt: false }
    throw new CallDeferred('limited', `the limit of ${reserved.scope} is reached`, wait)
  }

  return async (call) => {
    // Both in one round trip: if only one of them granted room, it is given back.
    const [money, room] = await Promise.allSettled([reserveMoney(call), reserveRoom(call)])
    const paid = money.status === 'fulfilled' && money.value
    const ticket = room.status === 'fulfilled' ? room.value : null
    const ids = { caseId: call.caseId, callId: call.id }
    return {
      check() {
        for (const granted of [money, room]) if (granted.status === 'rejected') throw granted.reason
      },
      settle(spent, counted) {
        if (ticket !== null)
          void (counted ? limits.settle(ticket, spent.tokens) : limits.refund(ticket)).catch((error: unknown) =>
            report('error', { where: 'limits', error, ...ids }),
          )
        if (paid)
          void budgets
            .settle(call.id, spent)
            .catch((error: unknown) => report('error', { where: 'budgets', error, ...ids }))
      },
      async release() {
        const released = await Promise.allSettled([
          ticket === null ? null : limits.refund(ticket),
          paid ? budgets.settle(call.id, NOTHING) : null,
        ])
        for (const one of released)
          if (one.status === 'rejected') report('error', { where: 'gateway', error: one.reason, ...ids })
      },
    }
  }
}

/** A reservation lives longer than the longest call by this much. */
const LEASE_SPARE_MS = 30_000
/**
 * A deferred ask is retried at least this often: a limit may have been raised meanwhile, and no deferral may last until
 * the deadline.
 */
const LONGEST_HOLD_MS = 30_000

function refusalOf({ scope, unit, why, renewsInMs }: Refused, whenSpent: ReservationSettings['whenSpent']): Error {
  const what = `the ${scope} budget in ${unit} (${why})`
  if (renewsInMs === null || (whenSpent === 'degrade' && why !== 'in-flight')) return new PermanentError('budget', what)
  return new CallDeferred('budget', what, { delayMs: Math.min(renewsInMs, LONGEST_HOLD_MS), costsAttempt: false })
}
