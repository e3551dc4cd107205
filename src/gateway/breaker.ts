import type { AwayReason, CallOutcome, ToMend } from '../domain/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { BreakerState } from '../ports/report.ts'

export interface BreakerSettings {
  /** How many of the latest calls count. */
  readonly window: number
  /** The breaker never opens on fewer calls than this. */
  readonly minCalls: number
  /** Opens when at least this share of them failed, 0 to 1. */
  readonly failureShare: number
  /** How long it stays open the first time, in ms; doubles after each failed probe… */
  readonly coolDownMs: number
  /** …up to this. */
  readonly maxCoolDownMs: number
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
  readonly away: Away
}

/** Why a model is left alone; `why`: what its last failed call said. */
export interface Away {
  readonly reason: AwayReason
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
  readonly caseId?: string | undefined
  /** What the operator has to mend before the model answers; set only if the model may be left alone for it. */
  readonly mend?: ToMend | undefined
  /** What the call said, for the log; never what was sent or received. */
  readonly why?: string | undefined
}

export type Allowed = { readonly ok: true; readonly pass: Pass } | { readonly ok: false; readonly retryInMs: number }

/** The model to ask, and in how many ms it may be called: above 0 only if no model of its chain may be called now. */
export interface Preferred {
  readonly model: string
  readonly retryInMs: number
}

/**
 * Circuit breakers, one per model: closed, open for a while after many failures, then half-open for a few probes. Each
 * process counts only its own calls, and starts with closed breakers.
 */
export interface Breaker {
  /** Returns a pass to call this model. It must be given back in every case: {@link withPass} does that. */
  allow(model: string): Allowed
  /** In how many ms this model may be called; 0 if now. */
  waitMs(model: string): number
  /** The nth model of a chain at the nth attempt, or another if the breaker blocks that one; gives no pass. */
  preferred(chain: readonly string[], attempt: number): Preferred
  /**
   * Notes how the call ended. Counts once, and not if the model's state has changed since the pass was given. An error
   * that the endpoint answers with counts for one case once only, as long as others are answered: it is the question's
   * doing, and one subject's questions must not keep all others from the model. A model that says a few times in a row
   * that the operator has to mend something is left alone, but for a probe now and then.
   */
  note(pass: Pass, end: PassEnd, failure?: PassFailure): void
  /** Every model's state as of now. */
  states(): ReadonlyMap<string, BreakerState>
  /** Why this model is left alone; null if it is not. */
  away(model: string): Away | null
}

/**
 * Runs `work` with a pass to call this model, and gives the pass back when it ends. A pass without a noted call says
 * nothing about the model. If the model may not be called, runs `refused` instead, with the time until it may be, in ms.
 */
export async function withPass<Result>(
  breakers: Pick<Breaker, 'allow' | 'note'>,
  model: string,
  work: (pass: Pass) => Promise<Result>,
  refused: (retryInMs: number) => Result,
): Promise<Result> {
  const allowed = breakers.allow(model)
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
      /** Cases whose error has been counted. */
      readonly blamed: Set<string>
      /** Calls that have failed since one worked, infinite before one has, and of which cases they were. */
      inARow: number
      readonly failedCases: Set<string>
      /** Calls since one was answered that were refused for something that the operator has to mend. */
      refusals: number
    }
  | { readonly is: 'open'; readonly until: number; readonly coolDownMs: number; readonly away: Away }
  | {
      readonly is: 'half-open'
      readonly out: Set<Pass>
      worked: number
      readonly coolDownMs: number
      readonly away: Away
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

  function enter(model: string, from: State, to: State, away: Away): State {
    states.set(model, to)
    const coolDown = to.is === 'open' ? { coolDownMs: to.until - clock() } : {}
    changed?.({ model, from: from.is, to: to.is, ...coolDown, away })
    return to
  }

  /** `coolDownMs` is for a model that does not answer; one that refuses is probed at an even pace. */
  function open(model: string, from: State, coolDownMs: number, { mend, why = '' }: PassFailure): void {
    const now = clock()
    const away = { reason: mend ?? 'unreachable', why, since: from.is === 'closed' ? now : from.away.since } as const
    const wait = mend === undefined ? coolDownMs : PROBE_MS.least + random() * (PROBE_MS.most - PROBE_MS.least)
    enter(model, from, { is: 'open', until: now + wait, coolDownMs, away }, away)
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
    const isAhead = now < state.until && state.until - now <= Math.max(settings.maxCoolDownMs, PROBE_MS.most)
    if (isAhead) return state
    const { coolDownMs, away } = state
    return enter(model, state, { is: 'half-open', out: new Set(), worked: 0, coolDownMs, away }, away)
  }

  /** How long it must not be called, in ms; 0 if it may be. */
  function waitFor(state: State, now: number): number {
    switch (state.is) {
      case 'closed':
        return 0
      case 'open':
        return state.until - now
      case 'half-open':
        return state.out.size < probesOf(state) ? 0 : settings.coolDownMs
    }
  }

  /** At once. Of a model that refuses, one until it has answered. */
  function probesOf({ away, worked }: Extract<State, { is: 'half-open' }>): number {
    return away.reason !== 'unreachable' && worked === 0 ? 1 : settings.probes
  }

  function allow(model: string, now = clock()): Allowed {
    const state = stateOf(model, now)
    const retryInMs = waitFor(state, now)
    if (retryInMs > 0 || state.is === 'open') return { ok: false, retryInMs }
    const pass: Pass = { model }
    state.out.add(pass)
    return { ok: true, pass }
  }

  /** The model whose turn it is, or another that may be called; if none may, the first, with its remaining wait. */
  function preferred(chain: readonly string[], attempt: number, now = clock()): Preferred {
    const at = Math.min(attempt, chain.length) - 1
    const inTurn = [...chain.slice(at), ...chain.slice(0, at)].map((model) => {
      const state = stateOf(model, now)
      return { model, is: state.is, retryInMs: waitFor(state, now) }
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
    allow: (model) => allow(model),

    waitMs(model) {
      const now = clock()
      return waitFor(stateOf(model, now), now)
    },

    preferred: (chain, attempt) => preferred(chain, attempt),

    note(pass, end, failure = {}) {
      const { model } = pass
      const { caseId, mend } = failure
      const state = states.get(model)
      if (state === undefined || state.is === 'open' || !state.out.delete(pass)) return
      if (mend !== undefined) {
        if (state.is === 'half-open') open(model, state, settings.coolDownMs, failure)
        else if (++state.refusals >= MOST_REFUSALS) open(model, state, settings.coolDownMs, failure)
        return
      }
      const failed = FAILED.has(end)
      if (!failed && !WORKED.has(end)) return
      if (state.is === 'closed') {
        if (!failed) state.refusals = 0
        if (!failed) state.failedCases.clear()
        else if (caseId !== undefined && state.failedCases.size < 2) state.failedCases.add(caseId)
        const mostInARow = state.failedCases.size < 2 ? ALONE_FAILS : OTHERS_WORK
        const itsOwn =
          end === 'unavailable' && caseId !== undefined && state.blamed.has(caseId) && state.inARow < mostInARow
        state.inARow = failed ? state.inARow + 1 : 0
        if (itsOwn) return
        if (failed && caseId !== undefined) blame(state.blamed, caseId)
        state.failures.push(failed)
        if (state.failures.length > settings.window) state.failures.shift()
        if (failed && tooMany(state.failures, settings)) open(model, state, settings.coolDownMs, failure)
      } else if (failed) {
        open(model, state, Math.min(2 * state.coolDownMs, settings.maxCoolDownMs), failure)
      } else {
        state.worked++
        if (state.worked >= settings.successes) enter(model, state, closed(), state.away)
      }
    },

    states() {
      const now = clock()
      return new Map([...states.keys()].map((model) => [model, stateOf(model, now).is]))
    },

    away(model) {
      const state = states.get(model)
      return state === undefined || state.is === 'closed' ? null : state.away
    },
  }
}

function closed(): State {
  return {
    is: 'closed',
    out: new Set(),
    failures: [],
    blamed: new Set(),
    inARow: Number.POSITIVE_INFINITY,
    failedCases: new Set(),
    refusals: 0,
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
/** …and with fewer than this where all of them are of one case: nobody else has asked meanwhile. */
const ALONE_FAILS = 40
/** Most cases that are remembered for their errors; the first go first. */
const MOST_BLAMED = 1_000

function blame(blamed: Set<string>, caseId: string): void {
  blamed.add(caseId)
  for (const oldest of blamed) {
    if (blamed.size <= MOST_BLAMED) return
    blamed.delete(oldest)
  }
}

function tooMany(failures: readonly boolean[], { minCalls, failureShare }: BreakerSettings): boolean {
  if (failures.length < minCalls) return false
  return failures.filter((failed) => failed).length / failures.length >= failureShare
}
