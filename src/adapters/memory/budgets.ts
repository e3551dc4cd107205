import {
  type Account,
  accountsOf,
  amountOf,
  type BudgetSettings,
  type Budgets,
  booked,
  type Refused,
  ROOM_SOON_MS,
} from '../../ports/budgets.ts'
import type { Clock } from '../../ports/clock.ts'

type Units = ReturnType<typeof booked>

interface Held {
  used: Units
  out: Units
  /** ms since 1970, as are all times here. */
  closesAt: number
}

interface Ticket {
  state: 'open' | 'overdue' | 'settled'
  readonly bound: Units
  readonly accounts: readonly Held[]
  readonly leaseEnds: number
  forgetAt: number
}

const UNITS = ['tokens', 'nanoUsd'] as const
const NONE: Units = { tokens: 0, nanoUsd: 0 }
const KEEP_SETTLED_MS = 60_000
const SWEEP_EVERY_MS = 10_000

/** Budgets of one process, which end with it. */
export function memoryBudgets(settings: BudgetSettings, clock: Clock): Budgets {
  const accounts = new Map<string, Held>()
  const tickets = new Map<string, Ticket>()
  const open = new Set<Ticket>()
  let sweepAt = 0

  function endLeases(now: number): void {
    for (const ticket of open) {
      if (ticket.leaseEnds > now) continue
      land(ticket, 'overdue', ticket.bound)
      open.delete(ticket)
    }
  }

  function sweep(now: number): void {
    if (now < sweepAt) return
    sweepAt = now + SWEEP_EVERY_MS
    for (const [key, { closesAt }] of accounts) if (closesAt <= now) accounts.delete(key)
    for (const [id, { forgetAt }] of tickets) if (forgetAt <= now) tickets.delete(id)
  }

  function heldAt(account: Account, now: number): Held | undefined {
    const held = accounts.get(keyOf(account, now))
    return held !== undefined && held.closesAt > now ? held : undefined
  }

  return {
    async reserve({ ticket: id, caseId, tenant, atMost, leaseMs }) {
      const now = clock()
      sweep(now)
      const asked = accountsOf(settings, { caseId, tenant })
      const known = tickets.get(id)
      if (asked.length === 0 || (known !== undefined && known.forgetAt > now)) return { granted: true }
      endLeases(now)
      const bound = booked(atMost)
      const refused = asked.flatMap((account) => refusals(account, heldAt(account, now), bound, now))
      const [longest] = refused.sort((a, b) => waitOf(b) - waitOf(a))
      if (longest !== undefined) return longest
      const booking = asked.map((account) => {
        const held = heldAt(account, now) ?? { used: NONE, out: NONE, closesAt: 0 }
        held.used = plus(held.used, bound)
        held.out = plus(held.out, bound)
        const keepMs = account.perMs === null ? settings.keepVerdictMs : leftOf(account.perMs, now) + leaseMs
        held.closesAt = Math.max(held.closesAt, now + keepMs)
        accounts.set(keyOf(account, now), held)
        return held
      })
      const forgetAt = Math.max(...booking.map(({ closesAt }) => closesAt))
      const ticket: Ticket = { state: 'open', bound, accounts: booking, leaseEnds: now + leaseMs, forgetAt }
      tickets.set(id, ticket)
      open.add(ticket)
      return { granted: true }
    },

    async settle(id, spent) {
      const now = clock()
      const ticket = tickets.get(id)
      if (ticket === undefined || ticket.forgetAt <= now) return 'unknown'
      if (ticket.state === 'settled') return 'settled'
      land(ticket, 'settled', booked(spent))
      open.delete(ticket)
      ticket.forgetAt = now + KEEP_SETTLED_MS
      return 'settled'
    },

    async total() {
      const [everything] = accountsOf(settings, { caseId: '', tenant: '' }).filter(({ scope }) => scope === 'total')
      if (everything === undefined) return null
      const held = heldAt(everything, clock())
      return { used: amountOf(held?.used ?? NONE), inFlight: amountOf(held?.out ?? NONE) }
    },
  }
}

/** The call is no longer in flight, and took this much. */
function land(ticket: Ticket, state: Ticket['state'], spent: Units): void {
  for (const held of ticket.accounts) {
    held.used = plus(minus(held.used, ticket.bound), spent)
    if (ticket.state === 'open') held.out = minus(held.out, ticket.bound)
  }
  ticket.state = state
}

function refusals({ scope, perMs, limit }: Account, held: Held | undefined, bound: Units, now: number): Refused[] {
  const left = perMs === null ? null : leftOf(perMs, now)
  return UNITS.flatMap((key): Refused[] => {
    const [most, used, out, wanted] = [limit[key], held?.used[key] ?? 0, held?.out[key] ?? 0, bound[key]]
    if (most === null || used + wanted <= most) return []
    const refused = { granted: false, scope, unit: key === 'tokens' ? 'tokens' : 'usd' } as const
    if (wanted > most) return [{ ...refused, why: 'too-large', renewsInMs: null }]
    if (used - out + wanted > most) return [{ ...refused, why: 'spent', renewsInMs: left }]
    return [{ ...refused, why: 'in-flight', renewsInMs: Math.min(ROOM_SOON_MS, left ?? ROOM_SOON_MS) }]
  })
}

function waitOf({ renewsInMs }: Refused): number {
  return renewsInMs ?? Number.MAX_SAFE_INTEGER
}

function keyOf({ name, perMs }: Account, now: number): string {
  return perMs === null ? name : `${name}:${Math.floor(now / perMs)}`
}

function leftOf(perMs: number, now: number): number {
  return perMs - (now % perMs)
}

function plus(a: Units, b: Units): Units {
  return { tokens: a.tokens + b.tokens, nanoUsd: a.nanoUsd + b.nanoUsd }
}

function minus(a: Units, b: Units): Units {
  return { tokens: a.tokens - b.tokens, nanoUsd: a.nanoUsd - b.nanoUsd }
}
