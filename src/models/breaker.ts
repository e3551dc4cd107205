import type { CallOutcome, OperatorAction, OutageReason } from '../contracts/facts/errors.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { BreakerState } from '../contracts/ports/report.ts'
import { tenantIn } from './account-key.ts'
import { latestOfTenants } from './latest-of-tenants.ts'
import { type ProbeOrder, probeOrder } from './probe-order.ts'

export interface BreakerSettings {
  /** How many of the latest calls count. */
  readonly window: number
  /** The breaker never opens on fewer calls than this. */
  readonly minCalls: number
  /** Opens when at least this share of them failed, 0 to 1. */
  readonly failureShare: number
  /** How long it stays open the first time, in ms; doubles after each failed probe… */
  readonly coolDown: number
  /** …up to this. */
  readonly maxCoolDown: number
  /** Parallel calls while it is half-open. */
  readonly probes: number
  /** Successful probes after which it closes. */
  readonly successes: number
}

export interface BreakerChange {
  readonly model: string
  readonly from: BreakerState
  readonly to: BreakerState
  /** Set if `to` is `open`: the time until the first probe, in ms. */
  readonly coolDownMs?: number
  /** Why the model is, or was, left alone, and since when, in ms since 1970. */
  readonly outage: ModelOutage
}

/** Why a model is left alone; `why`: what its last failed call said. */
export interface ModelOutage {
  readonly reason: OutageReason
  readonly why: string
  readonly since: number
}

/** Permission to make one call to a model. */
export interface Pass {
  readonly model: string
}

/** How the call for which a pass was given ended; `not-made`: there was no call. */
export type PassEnd = CallOutcome | 'not-made'

/** What is known of a call that failed. */
export interface PassFailure {
  /** Whose question it was. */
  readonly accountKey?: string | undefined
  /** What the operator has to mend before the model answers; set only if the model may be left alone for it. */
  readonly action?: OperatorAction | undefined
  /** What the call said, for the log; never what was sent or received. */
  readonly why?: string | undefined
  /** It was cut off before its set time, as others like it are answered sooner. */
  readonly cutOff?: boolean
}

export type PassDecision =
  | { readonly ok: true; readonly pass: Pass }
  | { readonly ok: false; readonly retryInMs: number }

/** The model to ask, and in how many ms it may be called: above 0 only if no model of its chain may be called now. */
export interface PreferredModel {
  readonly model: string
  readonly retryInMs: number
}

/**
 * Circuit breakers, one per model: closed, open for a while after many failures, then half-open for a few probes. Each
 * process counts only its own calls, and starts with closed breakers.
 */
export interface Breaker {
  /**
   * Returns a pass to call this model. It must be given back in every case: {@link withPass} does that for a lookup, `acquirePass` (fallback.ts) for an ask. While the model is tried
   * again, who has had a call fail waits until those have had their turn who wait and have not: what one account's questions
   * bring about reveals nothing about the model, and must not keep it from being tried with another's.
   */
  allow(model: string, accountKey?: string): PassDecision
  /** In how many ms this model may be called for this account; 0 if now. */
  waitMs(model: string, accountKey?: string): number
  /** The nth model of a chain at the nth attempt, or another if the breaker blocks that one; gives no pass. */
  preferred(chain: readonly string[], attempt: number, accountKey?: string): PreferredModel
  /**
   * Notes how the call ended. Counts once, and not if the model's state has changed since the pass was given. An error
   * that the endpoint answers with counts for one account once only, as long as others are answered: it is the question's
   * doing, and one account's questions must not keep all others from the model. Where the latest call of any other tenant
   * was answered, all failures of a tenant count as one, for it makes accounts at will; within a minute of that, those of its
   * calls that were cut off count as none. A refused permission or model counts for one account once as well, and a failed probe
   * once another was answered. A model whose errors, a few times in a row, need the operator is left alone, but for a probe now and
   * then.
   */
  note(pass: Pass, end: PassEnd, failure?: PassFailure): void
  /** Every model's state as of now. */
  states(): ReadonlyMap<string, BreakerState>
  /** Why this model is left alone; null if it is not. */
  outage(model: string): ModelOutage | null
}

/**
 * Runs `work` with a pass to call this model, and gives the pass back when it ends. A pass without a noted call reveals
 * nothing about the model. If the model may not be called, runs `refused` instead, with the time until it may be, in ms.
 */
export async function withPass<Result>(
  breakers: Pick<Breaker, 'allow' | 'note'>,
  model: string,
  work: (pass: Pass) => Promise<Result>,
  refused: (retryInMs: number) => Result,
  accountKey?: string,
): Promise<Result> {
  const allowed = breakers.allow(model, accountKey)
  if (!allowed.ok) return refused(allowed.retryInMs)
  try {
    return await work(allowed.pass)
  } finally {
    // Only the first note of a pass counts: this one, if no call was made.
    breakers.note(allowed.pass, 'not-made')
  }
}

/** The endpoint answered, even if the answer is unusable. */
const WORKED: ReadonlySet<PassEnd> = new Set<PassEnd>(['answered', 'unreadable', 'refused', 'content-filter'])
/**
 * The endpoint did not answer. Ends in neither set say nothing about that: a busy endpoint (`rate-limited`) works and is
 * handled by the limits; a wrong key or request (`rejected`) must fail at once, with its name, instead of being waited
 * for.
 */
const FAILED: ReadonlySet<PassEnd> = new Set<PassEnd>(['unavailable', 'timeout'])

/** Compared by identity: a pass from an earlier state no longer counts. */
type State =
  | {
      readonly is: 'closed'
      readonly out: Set<Pass>
      readonly failures: boolean[]
      /** Whose error has been counted. */
      readonly blamed: Set<string>
      /** Calls that have failed since one worked, infinite before one has, and whose they were. */
      inARow: number
      readonly failedAskers: Set<string>
      /** Calls since one was answered that were refused for something that the operator has to mend: those that count, and all. */
      refusals: number
      refused: number
    }
  | { readonly is: 'open'; readonly until: number; readonly coolDownMs: number; readonly outage: ModelOutage }
  | {
      readonly is: 'half-open'
      readonly out: Set<Pass>
      worked: number
      readonly coolDownMs: number
      readonly outage: ModelOutage
    }

export function breaker(deps: {
  settings: BreakerSettings
  clock: Clock
  changed?: (change: BreakerChange) => void
  /** From 0 to 1, so that processes do not probe together. */
  random?: () => number
}): Breaker {
  const { settings, clock, changed, random = Math.random } = deps
  const states = new Map<string, State>()
  const orders = new Map<string, ProbeOrder>()
  const latestEnds = new Map<string, ReturnType<typeof latestOfTenants>>()

  function orderOf(model: string): ProbeOrder {
    const order = orders.get(model) ?? probeOrder(clock)
    orders.set(model, order)
    return order
  }

  function latestOf(model: string) {
    const latest = latestEnds.get(model) ?? latestOfTenants(clock)
    latestEnds.set(model, latest)
    return latest
  }

  function enter(model: string, from: State, to: State, outage: ModelOutage): State {
    states.set(model, to)
    const coolDown = to.is === 'open' ? { coolDownMs: to.until - clock() } : {}
    changed?.({ model, from: from.is, to: to.is, ...coolDown, outage })
    return to
  }

  /** `coolDownMs` is for a model that does not answer; one that refuses is probed at an even pace. */
  function open(model: string, from: State, coolDownMs: number, { action, why = '' }: PassFailure): void {
    const now = clock()
    const outage = {
      reason: action ?? 'unreachable',
      why,
      since: from.is === 'closed' ? now : from.outage.since,
    } as const
    const wait = action === undefined ? coolDownMs : PROBE_MS.least + random() * (PROBE_MS.most - PROBE_MS.least)
    enter(model, from, { is: 'open', until: now + wait, coolDownMs, outage }, outage)
  }

  /** The current state: an open one whose time has passed is half-open. */
  function stateOf(model: string, now: number): State {
    const state = states.get(model)
    if (state === undefined) {
      const fresh = closed()
      states.set(model, fresh)
      return fresh
    }
    if (state.is !== 'open') return state
    // One that lies further ahead than any cool-down does was set before the clock was set back.
    const isAhead = now < state.until && state.until - now <= Math.max(settings.maxCoolDown, PROBE_MS.most)
    if (isAhead) return state
    const { coolDownMs, outage } = state
    return enter(model, state, { is: 'half-open', out: new Set(), worked: 0, coolDownMs, outage }, outage)
  }

  /** How long it must not be called for this account, in ms; 0 if it may be. */
  function waitFor(model: string, now: number, accountKey?: string): number {
    const state = stateOf(model, now)
    switch (state.is) {
      case 'closed':
        return 0
      case 'open':
        return state.until - now
      case 'half-open':
        return state.out.size < placesFor(model, state, accountKey) ? 0 : settings.coolDown
    }
  }

  /** At once. Of a model that refuses, one until it has answered. */
  function probesOf({ outage, worked }: HalfOpen): number {
    return outage.reason !== 'unreachable' && worked === 0 ? 1 : settings.probes
  }

  /** How many probes there may be for this account; of several, the last is for who has had no call fail. */
  function placesFor(model: string, state: HalfOpen, accountKey?: string): number {
    const order = orderOf(model)
    if (order.isBehind(accountKey)) return 0
    return order.hasFailed(accountKey) ? Math.max(1, probesOf(state) - 1) : probesOf(state)
  }

  /** The same for an ask that comes back after it. */
  function waitOf(model: string, accountKey?: string): number {
    const retryInMs = waitFor(model, clock(), accountKey)
    if (retryInMs > 0) orderOf(model).waits(accountKey, retryInMs)
    return retryInMs
  }

  function allow(model: string, accountKey?: string): PassDecision {
    const retryInMs = waitOf(model, accountKey)
    const state = stateOf(model, clock())
    if (retryInMs > 0 || state.is === 'open') return { ok: false, retryInMs }
    const pass: Pass = { model }
    state.out.add(pass)
    return { ok: true, pass }
  }

  /** The model whose turn it is, or another that may be called; if none may, the first, with its remaining wait. */
  function preferred(chain: readonly string[], attempt: number, accountKey?: string): PreferredModel {
    const now = clock()
    const at = Math.min(attempt, chain.length) - 1
    const inTurn = [...chain.slice(at), ...chain.slice(0, at)].map((model) => {
      return { model, is: stateOf(model, now).is, retryInMs: waitFor(model, now, accountKey) }
    })
    const [first] = inTurn
    if (first === undefined) throw new Error('a chain without models')
    // The first may be half-open: its probes are left to asks that prefer it.
    const free = inTurn.filter(({ retryInMs }) => retryInMs === 0)
    const chosen = free.find((each) => each === first || each.is === 'closed') ?? free[0]
    if (chosen !== undefined) return { model: chosen.model, retryInMs: 0 }
    return { model: first.model, retryInMs: Math.min(...inTurn.map(({ retryInMs }) => retryInMs)) }
  }

  return {
    allow,
    waitMs: waitOf,
    preferred,

    note(pass, end, failure = {}) {
      const { model } = pass
      const { accountKey, action, cutOff = false } = failure
      const state = states.get(model)
      if (state === undefined || state.is === 'open' || !state.out.delete(pass)) return
      const failed = action !== undefined || FAILED.has(end)
      if (!failed && !WORKED.has(end)) return
      const order = orderOf(model)
      const tenant = tenantIn(accountKey)
      const isTenants = action === undefined && failed && latestOf(model).onlyFails(tenant)
      latestOf(model).ended(tenant, !failed)
      const hadFailed = order.hasFailed(accountKey) || isTenants
      if (failed) order.failed(accountKey)
      else order.answered(accountKey)
      if (isTenants && cutOff && latestOf(model).onlyFails(tenant, CUT_OFF_MS)) return
      if (state.is === 'half-open') {
        if (!failed) {
          state.worked++
          if (state.worked >= settings.successes) enter(model, state, closed(0), state.outage)
        } else if (!hadFailed || state.worked === 0 || action === 'quota' || action === 'key') {
          const longest = hadFailed ? Math.max(PROBE_MS.most, state.coolDownMs) : Number.POSITIVE_INFINITY
          const doubled = Math.min(2 * state.coolDownMs, settings.maxCoolDown, longest)
          open(model, state, action === undefined ? doubled : settings.coolDown, failure)
        }
      } else if (
        action === undefined
          ? isDown(state, end, { whose: isTenants ? tenant : accountKey, isTenants }, settings)
          : isRefusing(state, action, hadFailed)
      ) {
        open(model, state, settings.coolDown, failure)
      }
    },

    states() {
      const now = clock()
      return new Map([...states.keys()].map((model) => [model, stateOf(model, now).is]))
    },

    outage(model) {
      const state = states.get(model)
      return state === undefined || state.is === 'closed' ? null : state.outage
    },
  }
}

type Closed = Extract<State, { is: 'closed' }>
type HalfOpen = Extract<State, { is: 'half-open' }>

/** Notes one more refusal; returns whether the model is to be left alone for it. */
function isRefusing(state: Closed, action: OperatorAction, hadFailed: boolean): boolean {
  const itsOwn = hadFailed && (action === 'permission' || action === 'model')
  if (!itsOwn) state.refusals++
  state.refused++
  return state.refusals >= MOST_REFUSALS || state.refused >= ALONE_FAILS
}

/** Notes one more call that was answered or not; returns whether too many were not. */
function isDown(
  state: Closed,
  end: PassEnd,
  { whose, isTenants }: { readonly whose: string | undefined; readonly isTenants: boolean },
  settings: BreakerSettings,
): boolean {
  const failed = FAILED.has(end)
  if (!failed) {
    state.refusals = 0
    state.refused = 0
    state.failedAskers.clear()
  } else if (whose !== undefined && state.failedAskers.size < 2) state.failedAskers.add(whose)
  const mostInARow = state.failedAskers.size < 2 ? ALONE_FAILS : OTHERS_WORK
  const mayBeItsOwn = end === 'unavailable' || isTenants
  const itsOwn = mayBeItsOwn && whose !== undefined && state.blamed.has(whose) && state.inARow < mostInARow
  state.inARow = failed ? state.inARow + 1 : 0
  if (itsOwn) return false
  if (failed && whose !== undefined) blame(state.blamed, whose)
  state.failures.push(failed)
  if (state.failures.length > settings.window) state.failures.shift()
  return failed && tooMany(state.failures, settings)
}

function closed(inARow = Number.POSITIVE_INFINITY): State {
  return {
    is: 'closed',
    out: new Set(),
    failures: [],
    blamed: new Set(),
    inARow,
    failedAskers: new Set(),
    refusals: 0,
    refused: 0,
  }
}

/**
 * After so many refusals in a row a model is left alone. Not after a few: of several keys or servers behind an endpoint one may
 * refuse while the others answer, and a permission may be refused to one kind of question, or be a filter's word for something
 * else.
 */
const MOST_REFUSALS = 10
/** A model that refuses is tried again after a time between these, in ms. */
const PROBE_MS = { least: 10_000, most: 30_000 }

/** With fewer failed calls in a row than this, a model is taken to answer others… */
const OTHERS_WORK = 10
/** …and with fewer than this where all of them are of one account: nobody else has asked meanwhile. */
const ALONE_FAILS = 40
/** So long after others were answered, in ms, calls that were cut off are taken for long ones: a model that hangs cuts off all. */
const CUT_OFF_MS = 60_000
/** Most accounts that are remembered for their errors; the first go first. */
const MOST_BLAMED = 1_000

function blame(blamed: Set<string>, accountKey: string): void {
  blamed.add(accountKey)
  for (const oldest of blamed) {
    if (blamed.size <= MOST_BLAMED) return
    blamed.delete(oldest)
  }
}

function tooMany(failures: readonly boolean[], { minCalls, failureShare }: BreakerSettings): boolean {
  if (failures.length < minCalls) return false
  return failures.filter((failed) => failed).length / failures.length >= failureShare
}
