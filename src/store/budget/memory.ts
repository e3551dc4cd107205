import {
  type Account,
  accountsOf,
  amountOf,
  type BudgetRefusal,
  type BudgetSettings,
  type Budgets,
  booked,
  openPart,
  ROOM_SOON_MS,
  sharedAccount,
} from '../../contracts/ports/budgets.ts'
import type { Clock } from '../../contracts/ports/clock.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/budgets.ts holds both to the same promises.

type Units = ReturnType<typeof booked>

interface Balance {
  used: Units
  out: Units
  /** ms since 1970, as are all times here. */
  closesAt: number
}

interface Ticket {
  state: 'open' | 'overdue' | 'settled'
  readonly bound: Units
  readonly accounts: readonly Balance[]
  readonly leaseEnds: number
  forgetAt: number
}

const UNITS = ['tokens', 'nanoUsd'] as const
const NONE: Units = { tokens: 0, nanoUsd: 0 }
const KEEP_SETTLED_MS = 60_000
const SWEEP_EVERY_MS = 10_000

/** Budgets in memory, for one process. */
export function memoryBudgets(settings: BudgetSettings, clock: Clock): Budgets {
  const accounts = new Map<string, Balance>()
  const tickets = new Map<string, Ticket>()
  const open = new Set<Ticket>()
  /** By tenant: when it asked last. */
  const asking = new Map<string, number>()
  let sweepAt = 0

  function endLeases(now: number): void {
    for (const ticket of open) {
      if (ticket.leaseEnds > now) continue
      closeTicket(ticket, 'overdue', ticket.bound)
      open.delete(ticket)
    }
  }

  function sweep(now: number): void {
    if (now < sweepAt) return
    sweepAt = now + SWEEP_EVERY_MS
    for (const [key, { closesAt }] of accounts) if (closesAt <= now) accounts.delete(key)
    for (const [id, { forgetAt }] of tickets) if (forgetAt <= now) tickets.delete(id)
    for (const [tenant, at] of asking) if (at < now - 2 * settings.total.per) asking.delete(tenant)
  }

  function balanceAt(account: Account, now: number): Balance | undefined {
    const balance = accounts.get(keyOf(account, now))
    return balance !== undefined && balance.closesAt > now ? balance : undefined
  }

  /** The part of its limit that is open to the tenant. */
  function partOf({ share, perMs }: Account, tenant: string, now: number): number {
    if (share === undefined || perMs === null) return 1
    const since = (Math.floor(now / perMs) - 1) * perMs
    const isAlone = [...asking].every(([other, at]) => other === tenant || at < since)
    return isAlone ? 1 : openPart(share, (now % perMs) / perMs)
  }

  function balanceOf(account: Account | undefined) {
    if (account === undefined) return null
    const balance = balanceAt(account, clock())
    return { used: amountOf(balance?.used ?? NONE), inFlight: amountOf(balance?.out ?? NONE) }
  }

  return {
    async reserve({ ticket: id, caseId, tenant, atMost, leaseMs }) {
      const now = clock()
      sweep(now)
      const asked = accountsOf(settings, { caseId, tenant })
      if (asked.length === 0) return { granted: true, unlimited: true }
      const known = tickets.get(id)
      if (known !== undefined && known.forgetAt > now) return { granted: true }
      endLeases(now)
      const bound = booked(atMost)
      asking.set(tenant, now)
      const refused = asked.flatMap((account) =>
        refusals(account, { balance: balanceAt(account, now), bound, now, part: partOf(account, tenant, now) }),
      )
      const [longest] = refused.sort((a, b) => waitOf(b) - waitOf(a))
      if (longest !== undefined) return longest
      const booking = asked.map((account) => {
        const balance = balanceAt(account, now) ?? { used: NONE, out: NONE, closesAt: 0 }
        balance.used = plus(balance.used, bound)
        balance.out = plus(balance.out, bound)
        const keepMs = account.perMs === null ? settings.keepVerdictMs : leftOf(account.perMs, now) + leaseMs
        balance.closesAt = Math.max(balance.closesAt, now + keepMs)
        accounts.set(keyOf(account, now), balance)
        return balance
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
      closeTicket(ticket, 'settled', booked(spent))
      open.delete(ticket)
      ticket.forgetAt = now + KEEP_SETTLED_MS
      return 'settled'
    },

    total: async () => balanceOf(sharedAccount(settings, null)),
    tenant: async (name) => balanceOf(sharedAccount(settings, name)),
  }
}

/** Books a call that is no longer in flight with its real usage. */
function closeTicket(ticket: Ticket, state: Ticket['state'], spent: Units): void {
  for (const balance of ticket.accounts) {
    balance.used = plus(minus(balance.used, ticket.bound), spent)
    if (ticket.state === 'open') balance.out = minus(balance.out, ticket.bound)
  }
  ticket.state = state
}

function refusals(
  { scope, perMs, limit, share }: Account,
  { balance, bound, now, part }: { balance: Balance | undefined; bound: Units; now: number; part: number },
): BudgetRefusal[] {
  const left = perMs === null ? null : leftOf(perMs, now)
  return UNITS.flatMap((key): BudgetRefusal[] => {
    const [whole, used, out, wanted] = [limit[key], balance?.used[key] ?? 0, balance?.out[key] ?? 0, bound[key]]
    if (whole === null || used + wanted <= whole * part) return []
    const refused = { granted: false, scope, unit: key === 'tokens' ? 'tokens' : 'usd' } as const
    if (wanted > whole && share === undefined) return [{ ...refused, why: 'too-large', renewsInMs: null }]
    if (used - out + wanted > whole * part) return [{ ...refused, why: 'spent', renewsInMs: left }]
    return [{ ...refused, why: 'in-flight', renewsInMs: Math.min(ROOM_SOON_MS, left ?? ROOM_SOON_MS) }]
  })
}

function waitOf({ renewsInMs }: BudgetRefusal): number {
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
