import { randomUUID } from 'node:crypto'
import type { ServiceClass } from '../../contracts/facts/service-class.ts'
import {
  bothClasses,
  type CallLimits,
  LIMIT_DEFAULTS,
  type LimitedCall,
  type LimitScope,
  type LimitSettings,
  mustFit,
  partOfLimits,
  partyOf,
  recheckAfter,
  type ScopeLimits,
  type Ticket,
} from '../../contracts/ports/call-limits.ts'
import type { Clock } from '../../contracts/ports/clock.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/limits.ts holds both to the same promises.

interface Entry {
  readonly at: number
  calls: number
  tokens: number
}
interface WaitingCall extends LimitedCall {
  readonly party: string
  /** Its account's turn within the party. */
  readonly turn: number
  /** Of the limits, that it takes. */
  readonly part: number
  lostAt: number
}
interface Scope {
  /** In order of time. */
  entries: Entry[]
  /** Calls in flight: ends of their leases by ticket. */
  readonly places: Map<string, number>
  /** In order of arrival. */
  line: WaitingCall[]
  /** The turns of those in it, and of their classes. */
  readonly parties: Map<string, number>
  readonly classes: Record<ServiceClass, number>
}

/** Limits in memory: the same promises within one process. */
export function memoryLimits(clock: Clock, given: Partial<LimitSettings> = {}): CallLimits {
  const settings = { ...LIMIT_DEFAULTS, ...given }
  const { windowMs, leaseMs, lateMs } = settings
  const scopes = new Map<string, Scope>()
  const granted = new Map<string, { readonly of: readonly [Scope, Entry][]; readonly ends: number }>()

  function scopeNow(name: string): Scope {
    const now = clock()
    const scope = scopes.get(name) ?? {
      entries: [],
      places: new Map<string, number>(),
      line: [],
      parties: new Map(),
      classes: { waiting: 0, rest: 0 },
    }
    scopes.set(name, scope)
    const kept = scope.entries.findIndex(({ at }) => at >= now - windowMs)
    scope.entries.splice(0, kept === -1 ? scope.entries.length : kept)
    for (const [id, ends] of scope.places) if (ends <= now) scope.places.delete(id)
    const lapsed = scope.line.filter(({ lostAt }) => lostAt <= now)
    for (const one of lapsed.toSorted((a, b) => a.lostAt - b.lostAt)) giveUp(scope, one)
    return scope
  }

  /** How long this scope makes a call wait, 0 if it has room; updates the waiting line. */
  function waitIn({ name, limits }: LimitScope, call: LimitedCall): number {
    const { inFlight = Infinity } = limits
    const now = clock()
    const scope = scopeNow(name)
    const found = scope.line.find((one) => isSame(one, call))
    const awaited = awaitedBy(scope, call, (one) => one === found || one.lostAt - now >= 0.8 * lateMs)
    // Nobody takes what these could have now.
    let [before, tokens] = [NONE_AHEAD, call.tokens]
    for (const one of awaited.filter((other) => other !== found))
      [before, tokens] = [{ calls: before.calls + 1, tokens: before.tokens + tokens }, one.tokens]
    const lacks = roomAfter(scope.entries, limits, before, tokens) > 0
    // The next place is for whoever of the first one's party comes first: one that stays empty until it comes itself is lost to all.
    const kept = awaited.filter(({ party }) => party !== partyOf(call)).length
    if (!lacks && scope.places.size + kept < inFlight) {
      stay(scope, (one) => one !== found)
      return 0
    }
    const others = scope.line.filter((one) => one !== found).length
    const own = found ?? join(scope, call, partOfLimits(limits, call.tokens))
    const ahead = aheadOf(scope, own, (nth) => Math.min(others, rankOf(scope, own, nth)))
    const room = lacks ? roomAfter(scope.entries, limits, ahead, call.tokens) : Infinity
    const early = !lacks || scope.places.size > 0 ? recheckAfter(ahead.calls, settings) : Infinity
    const wait = Math.ceil(Math.max(1, Math.min(room, early)))
    own.lostAt = now + wait + lateMs
    return wait
  }

  /** What a granted call takes counts for its class, by its share, and for its party. */
  function charge({ line, parties, classes }: Scope, call: LimitedCall, part: number): void {
    if (line.length > 0) classes[call.serviceClass] += part / settings.classes[call.serviceClass]
    const turn = parties.get(partyOf(call))
    if (turn !== undefined) parties.set(partyOf(call), turn + part)
  }

  /** A call leaves without having been made. If others waited for it, that was its party's turn: else who comes and goes stays first. */
  function giveUp(scope: Scope, one: WaitingCall): void {
    const wasFirst = firstOf(scope) === one
    stay(scope, (other) => other !== one)
    if (wasFirst) charge(scope, one, one.part)
  }

  /**
   * About how many calls are ahead of one: its party has a turn in as many calls as its class has parties in line, and the other
   * class has its share of all.
   */
  function rankOf(scope: Scope, { party, serviceClass }: WaitingCall, own: number): number {
    const inClass = byTurn(scope, serviceClass)
    const isAlone = inClass.length === scope.parties.size
    const before = own * inClass.length + inClass.indexOf(party)
    return isAlone ? before : before * bothClasses(settings.classes, serviceClass)
  }

  /**
   * In how many ms, 0 for now, a call of so many tokens has room after those ahead: when it fits, and what is left lasts at half
   * of the limit's rate until more leaves the window, so that whoever comes next has soon room, too.
   */
  function roomAfter(entries: readonly Entry[], limits: ScopeLimits, ahead: CallsAhead, wanted: number): number {
    const { callsPerMinute = Number.MAX_SAFE_INTEGER, tokensPerMinute = Number.MAX_SAFE_INTEGER } = limits
    let callsLeft = callsPerMinute - sum(entries, 'calls') - ahead.calls
    let tokensLeft = tokensPerMinute - sum(entries, 'tokens') - ahead.tokens
    const fits = () => callsLeft >= 1 && tokensLeft >= wanted
    const part = () => Math.min(callsLeft / callsPerMinute, tokensLeft / tokensPerMinute)
    let wait = 0
    for (const { at, calls, tokens } of entries) {
      const lasts = fits() ? 2 * windowMs * part() : 0
      if (lasts >= windowMs) return wait
      wait = Math.max(wait, at + windowMs + 1 - clock() - lasts)
      callsLeft += calls
      tokensLeft += tokens
    }
    return fits() ? wait : Math.max(wait, windowMs + 1)
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
    async reserve(asked, call) {
      const { tokens } = call
      mustFit(asked, tokens)
      const waits = asked.map((scope) => ({ scope: scope.name, waitMs: waitIn(scope, call) }))
      const longest = waits.reduce((most, one) => (one.waitMs >= most.waitMs ? one : most), { scope: '', waitMs: 0 })
      if (longest.waitMs > 0) {
        // No room is kept for one that waits as long elsewhere.
        for (const { name } of asked) if (name !== longest.scope) stay(scopeNow(name), (one) => !isSame(one, call))
        return { granted: false, ...longest }
      }
      const at = clock()
      const ticket: Ticket = { id: randomUUID(), scopes: asked.map(({ name }) => name), tokens, at }
      const of = asked.map(({ name, limits }): [Scope, Entry] => {
        const scope = scopeNow(name)
        charge(scope, call, partOfLimits(limits, tokens))
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
    async leave({ name }, call) {
      const scope = scopeNow(name)
      for (const one of scope.line.filter((one) => isSame(one, call))) giveUp(scope, one)
    },
    usage: async (names) =>
      names.map((name) => {
        const { entries, places } = scopeNow(name)
        return { calls: sum(entries, 'calls'), tokens: sum(entries, 'tokens'), inFlight: places.size }
      }),
  }
}

/**
 * For whom a call waits: the first in line, and the first of its own class if that is another party's: else whoever asks most often has
 * what the first in line leaves. Nobody waits for one that has not come when it should (`isThere`).
 */
function awaitedBy(scope: Scope, call: LimitedCall, isThere: (one: WaitingCall) => boolean): WaitingCall[] {
  const there = (one: WaitingCall | undefined) => (one !== undefined && isThere(one) ? [one] : [])
  const head = there(firstOf(scope))
  const [next] = byTurn(scope, call.serviceClass)
  const isElse = next !== undefined && next !== partyOf(call) && next !== head[0]?.party
  return isElse ? [...head, ...there(lineOf(scope, next)[0])] : head
}

/** Who comes has its turn after the one whose turn it is: a class, a party in it, and an account in that, after its own calls. */
function join(scope: Scope, call: LimitedCall, part: number): WaitingCall {
  const { line, parties, classes } = scope
  const { serviceClass, accountKey } = call
  const party = partyOf(call)
  const [front] = lineOf(scope, party)
  if (front === undefined) {
    const [next] = byTurn(scope, serviceClass)
    if (line.length === 0) Object.assign(classes, { waiting: 0, rest: 0 })
    else if (next === undefined) classes[serviceClass] = Math.max(classes.waiting, classes.rest)
    parties.set(party, next === undefined ? 0 : (parties.get(next) ?? 0) + part)
  }
  const before = line.filter((one) => one.party === party && one.accountKey === accountKey).length
  const own = { ...call, party, turn: (front?.turn ?? 0) + before, part, lostAt: 0 }
  line.push(own)
  return own
}

function isSame(one: LimitedCall, other: LimitedCall): boolean {
  return one.asker === other.asker && one.tokens === other.tokens
}

/** Keeps these in line. */
function stay(scope: Scope, stays: (one: WaitingCall) => boolean): void {
  scope.line = scope.line.filter(stays)
  const left = new Set(scope.line.map(({ party }) => party))
  for (const party of scope.parties.keys()) if (!left.has(party)) scope.parties.delete(party)
}

interface CallsAhead {
  readonly calls: number
  readonly tokens: number
}
const NONE_AHEAD: CallsAhead = { calls: 0, tokens: 0 }

/** The tokens of so many calls: those of its party that are ahead say how large they are, or else the first in line does. */
function aheadOf(scope: Scope, own: WaitingCall, rankOf: (nth: number) => number): CallsAhead {
  const line = lineOf(scope, own.party)
  const before = line.slice(0, line.indexOf(own))
  const mean = before.length > 0 ? sum(before, 'tokens') / before.length : (firstOf(scope)?.tokens ?? 0)
  const calls = rankOf(before.length)
  return { calls, tokens: calls * mean }
}

/** The parties of a class in line, the one whose turn it is first. */
function byTurn({ parties }: Scope, serviceClass: ServiceClass): string[] {
  const own = [...parties].filter(([party]) => party.startsWith(`${serviceClass}/`))
  return own.toSorted(([, turn], [, its]) => turn - its).map(([party]) => party)
}

function lineOf({ line }: Scope, party: string): WaitingCall[] {
  return line.filter((one) => one.party === party).toSorted((a, b) => a.turn - b.turn)
}

/** The first in line: of the class that has had less for its share, the party whose turn it is. */
function firstOf(scope: Scope): WaitingCall | undefined {
  const [[waiting], [rest]] = [byTurn(scope, 'waiting'), byTurn(scope, 'rest')]
  const isWaitings = rest === undefined || scope.classes.waiting <= scope.classes.rest
  const party = isWaitings ? (waiting ?? rest) : rest
  return party === undefined ? undefined : lineOf(scope, party)[0]
}

function sum<Field extends string>(all: readonly Record<Field, number>[], field: Field): number {
  return all.reduce((total, one) => total + one[field], 0)
}
