import { randomUUID } from 'node:crypto'
import {
  type CallLimits,
  LIMIT_DEFAULTS,
  type LimitScope,
  type LimitSettings,
  mustFit,
  recheckAfter,
  type Ticket,
} from '../../contracts/ports/call-limits.ts'
import type { Clock } from '../../contracts/ports/clock.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/limits.ts holds both to the same promises.

interface Entry {
  readonly at: number
  calls: number
  tokens: number
}
interface WaitingCall {
  readonly asker: string
  readonly tokens: number
  lostAt: number
}
interface Scope {
  /** In order of time. */
  entries: Entry[]
  /** Calls in flight: ends of their leases by ticket. */
  readonly places: Map<string, number>
  line: WaitingCall[]
}

/** Limits in memory: the same promises within one process. */
export function memoryLimits(clock: Clock, given: Partial<LimitSettings> = {}): CallLimits {
  const settings = { ...LIMIT_DEFAULTS, ...given }
  const { windowMs, leaseMs, lateMs } = settings
  const scopes = new Map<string, Scope>()
  const granted = new Map<string, { readonly of: readonly [Scope, Entry][]; readonly ends: number }>()

  function scopeNow(name: string): Scope {
    const now = clock()
    const scope = scopes.get(name) ?? { entries: [], places: new Map<string, number>(), line: [] }
    scopes.set(name, scope)
    const kept = scope.entries.findIndex(({ at }) => at >= now - windowMs)
    scope.entries.splice(0, kept === -1 ? scope.entries.length : kept)
    for (const [id, ends] of scope.places) if (ends <= now) scope.places.delete(id)
    scope.line = scope.line.filter(({ lostAt }) => lostAt > now)
    return scope
  }

  /** How long this scope makes a call wait, 0 if it has room; updates the waiting line. */
  function waitIn({ name, limits }: LimitScope, asker: string, tokens: number): number {
    const now = clock()
    const scope = scopeNow(name)
    const { callsPerMinute = Infinity, tokensPerMinute = Infinity, inFlight = Infinity } = limits
    const found = scope.line.findIndex((one) => one.asker === asker && one.tokens === tokens)
    const rank = found === -1 ? scope.line.length : found
    const used = { calls: sum(scope.entries, 'calls'), tokens: sum(scope.entries, 'tokens') }
    const over = (ahead: readonly WaitingCall[]) => ({
      calls: used.calls + ahead.length + 1 - callsPerMinute,
      tokens: used.tokens + sum(ahead, 'tokens') + tokens - tokensPerMinute,
    })
    const beside = over(rank === 0 ? [] : scope.line.slice(0, 1))
    const lacks = beside.calls > 0 || beside.tokens > 0
    if (!lacks && scope.places.size < inFlight) {
      if (found !== -1) scope.line.splice(found, 1)
      return 0
    }
    const left = lacks ? whenLeft(scope.entries, over(scope.line.slice(0, rank))) : Infinity
    const early = !lacks || scope.places.size > 0 ? recheckAfter(rank, settings) : Infinity
    const wait = Math.ceil(Math.max(1, Math.min(left, early)))
    const lostAt = now + wait + lateMs
    const known = scope.line[rank]
    if (known === undefined) scope.line.push({ asker, tokens, lostAt })
    else known.lostAt = lostAt
    return wait
  }

  function whenLeft(entries: readonly Entry[], over: { calls: number; tokens: number }): number {
    let { calls, tokens } = over
    for (const entry of entries) {
      calls -= entry.calls
      tokens -= entry.tokens
      if (calls <= 0 && tokens <= 0) return entry.at + windowMs + 1 - clock()
    }
    return windowMs + 1
  }

  function end(ticket: Ticket, tokens: number, callsBack: 0 | 1): void {
    const taken = granted.get(ticket.id)
    if (taken === undefined || !granted.delete(ticket.id)) return
    for (const [scope, entry] of taken.of) {
      scope.places.delete(ticket.id)
      entry.calls -= callsBack
      entry.tokens = Math.min(entry.tokens, tokens)
      if (tokens > ticket.tokens) scope.entries.push({ at: clock(), calls: 0, tokens: tokens - ticket.tokens })
    }
  }

  return {
    async reserve(asked, { asker, tokens }) {
      mustFit(asked, tokens)
      const waits = asked.map((scope) => ({ scope: scope.name, waitMs: waitIn(scope, asker, tokens) }))
      const longest = waits.reduce((most, one) => (one.waitMs > most.waitMs ? one : most), { scope: '', waitMs: 0 })
      if (longest.waitMs > 0) return { granted: false, ...longest }
      const at = clock()
      const ticket: Ticket = { id: randomUUID(), scopes: asked.map(({ name }) => name), tokens, at }
      const of = asked.map(({ name }): [Scope, Entry] => {
        const scope = scopeNow(name)
        const entry = { at, calls: 1, tokens }
        scope.entries.push(entry)
        scope.places.set(ticket.id, at + leaseMs)
        return [scope, entry]
      })
      for (const [id, { ends }] of granted) {
        if (ends > at) break
        granted.delete(id)
      }
      granted.set(ticket.id, { of, ends: at + windowMs + leaseMs })
      return { granted: true, ticket }
    },
    async settle(ticket, tokens) {
      end(ticket, tokens, 0)
    },
    async refund(ticket) {
      end(ticket, 0, 1)
    },
    usage: async (names) =>
      names.map((name) => {
        const { entries, places } = scopeNow(name)
        return { calls: sum(entries, 'calls'), tokens: sum(entries, 'tokens'), inFlight: places.size }
      }),
  }
}

function sum<Field extends string>(all: readonly Record<Field, number>[], field: Field): number {
  return all.reduce((total, one) => total + one[field], 0)
}
