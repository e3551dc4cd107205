import type { Clock } from '../contracts/ports/clock.ts'
import { lastOnes, quantile } from './quantile.ts'

export interface AdaptiveSettings {
  /** The limit starts here and never rises above it: the operator's number applies until the model proves it too high. */
  readonly most: number
  /** The model counts as overloaded when the median call takes this many times as long as usual. */
  readonly tolerance: number
}

/** How a call ended. `overloaded`: 429, or busy. `other` means nothing for load: a refusal, an abort, our own fault. */
export type CallEnd = 'answered' | 'overloaded' | 'other'

/** Limits how many calls to one model this process may have in flight. */
export interface AdaptiveLimit {
  /** An integer from 1 to `most`. */
  readonly limit: number
  readonly inFlight: number
  /**
   * Notes that a call has begun; call the returned function once, when it ends. Calls of one `kind` (a stage) take
   * similar times.
   */
  begin(kind: string): (end: CallEnd) => void
}

/**
 * If at least this share of a window's ended calls are overloads, we send too many: beyond its capacity the model
 * rejects calls at once, the next ones take their slots, and nearly all calls end as overloads.
 */
const TOO_MANY = 0.6
/**
 * From this share on, we may send too many, or the model rejects one call in three at any load: a small decrease tells
 * which.
 */
const SOME = 0.2
const SMALL_FALL = 0.9
/** A decrease has helped if its cause has shrunk below this share of its earlier value. */
const HELPED = { refused: 0.5, slow: 0.75 }
/** After a decrease that did not help, its cause is ignored for this long, in ms. */
const IGNORED_MS = 10_000
/** Fewest calls for a conclusion: in a window, for a small share of overloads, for the times of a kind. */
const ENOUGH = 20
const ENOUGH_FOR_SOME = 100
const ENOUGH_TIMES = 10
/**
 * How many of a kind's latest times define its usual time (their median), and how many ratios to it define the current
 * one (their median).
 */
const USUAL_OF = 2_048
const RECENT_OF = 20
/** A window lasts about as long as a call usually takes, within these bounds, in ms. */
const SHORTEST_WINDOW_MS = 100
const LONGEST_WINDOW_MS = 1_000
/**
 * After a decrease the limit does not rise for this long, in ms; twice as long after each decrease that followed a first
 * small rise.
 */
const HOLD_MS = 500
const LONGEST_HOLD_MS = 4_000

/**
 * The limit falls to what the model has been seen to sustain, or to half its value, whichever is larger. What it
 * sustains is the calls that it has accepted, and by Little's law the calls answered per second times their usual
 * duration. Overload is detected by the share of rejected calls in a window, or by the median of the latest calls'
 * times, each divided by its kind's usual time (as in the gradient limits of Netflix's concurrency-limits): scattered
 * 429s or single hanging calls are not taken for overload. One congestion counts once: calls from before the last
 * decrease count neither as overloads nor as slow. A decrease that has not helped is undone, since our calls were not
 * the cause.
 *
 * The limit rises at the end of each window in which at least half of it was used (an idle limit proves nothing), first
 * by one, then by twice as much each time (slow start), so that a recovering model is soon used fully.
 */
export function adaptiveLimit({ most, tolerance }: AdaptiveSettings, clock: Clock): AdaptiveLimit {
  const times = callTimes()
  const inFlight = new Set<Begun>()
  const refusals = lastOnes(RECENT_OF)
  let allowed = most
  let era = 0
  let window = emptyWindow(clock())
  /** Added up over windows since the last decrease, until there are enough. */
  let sum = { overloads: 0, taken: 0 }
  let step = 1
  let pausedUntil = Number.NEGATIVE_INFINITY
  let holdMs = HOLD_MS
  let trial: Trial | null = null
  const ignoredUntil = { refused: Number.NEGATIVE_INFINITY, slow: Number.NEGATIVE_INFINITY }

  function fall(now: number, to: number, why: Trial | null): void {
    // A decrease right after a small rise: the rise was too early.
    holdMs = step <= 2 && era > 0 && now < pausedUntil + 2 * holdMs ? Math.min(LONGEST_HOLD_MS, holdMs * 2) : HOLD_MS
    pausedUntil = now + holdMs
    step = 1
    trial = why
    allowed = Math.max(1, Math.min(allowed, to))
    era++
    times.forgetRecent()
    sum = { overloads: 0, taken: 0 }
  }

  /** At the end of a window: lowers, raises or keeps the limit. */
  function conclude(now: number): void {
    const { since, begun, overloads, work, used } = window
    const acceptedAfter = acceptedAfterMs(refusals.sorted())
    const known = [...inFlight].filter(({ at }) => now - at > acceptedAfter).length
    const taken = Math.max(0, begun - (inFlight.size - known) - overloads)
    window = emptyWindow(now)
    sum = { overloads: sum.overloads + overloads, taken: sum.taken + taken }
    const odds = sum.overloads + sum.taken < ENOUGH_FOR_SOME ? null : sum.overloads / Math.max(1, sum.taken)
    if (odds !== null) sum = { overloads: 0, taken: 0 }
    const turnedAway = overloads + taken < ENOUGH ? 0 : overloads / (overloads + taken)
    const slowness = times.slowness()
    const flow = work / Math.max(1, now - since)

    const effect = trial === null ? null : helped(trial, odds, slowness)
    if (trial !== null && effect === false) {
      ignoredUntil[trial.why] = now + IGNORED_MS
      if (trial.why === 'slow') times.forgetUsual()
      allowed = Math.max(allowed, trial.from)
    }
    if (effect !== null) trial = null

    const eased = slowness === null || slowness <= (1 + tolerance) / 2
    if (turnedAway >= TOO_MANY) {
      fall(now, Math.max(allowed / 2, flow, known), null)
    } else if (slowness !== null && slowness > tolerance && now >= ignoredUntil.slow) {
      fall(now, Math.max(allowed / 2, flow), { why: 'slow', from: allowed, before: slowness })
    } else if (odds !== null && odds >= SOME / (1 - SOME) && now >= ignoredUntil.refused) {
      fall(now, Math.min(allowed - 1, allowed * SMALL_FALL), { why: 'refused', from: allowed, before: odds })
    } else if (
      eased &&
      (turnedAway < SOME || now < ignoredUntil.refused) &&
      now >= pausedUntil &&
      begun >= Math.min(ENOUGH, allowed) &&
      used * 2 >= allowed
    ) {
      allowed = Math.min(most, allowed + step)
      step = Math.min(2 * step, allowed)
    }
  }

  return {
    get limit() {
      return Math.max(1, Math.floor(allowed))
    },
    get inFlight() {
      return inFlight.size
    },
    begin(kind) {
      const begun: Begun = { at: clock(), era }
      inFlight.add(begun)
      window.begun++
      window.used = Math.max(window.used, inFlight.size)
      return (end) => {
        if (!inFlight.delete(begun) || end === 'other') return
        const now = clock()
        const ms = Math.max(0, now - begun.at)
        window.ends++
        if (end === 'answered') {
          const usualMs = times.note(kind, ms, begun.era === era) ?? ms
          window.work += Math.min(ms, usualMs)
          window.usualMs = Math.max(window.usualMs, usualMs)
        } else {
          refusals.add(ms)
          if (begun.era === era) window.overloads++
        }
        if (isOver(window, now, allowed)) conclude(now)
      }
    },
  }
}

/** How long answered calls take: the usual time of each kind, and how the latest compare with it. */
function callTimes() {
  const usual = new Map<string, ReturnType<typeof lastOnes>>()
  let recent = lastOnes(RECENT_OF)
  return {
    /**
     * Records an answer's time. Returns the kind's usual time before it, in ms; undefined while too few are known. Only
     * `comparable` times count among the latest.
     */
    note(kind: string, ms: number, comparable: boolean): number | undefined {
      const known = usual.get(kind) ?? lastOnes(USUAL_OF)
      const before = known.count < ENOUGH_TIMES ? undefined : quantile(known.sorted(), 0.5)
      usual.set(kind, known)
      known.add(ms)
      if (comparable && before !== undefined && before > 0) recent.add(ms / before)
      return before
    },
    /** The median of the latest times, each divided by its kind's usual time; null while there are too few. */
    slowness: (): number | null => (recent.count < ENOUGH_TIMES ? null : quantile(recent.sorted(), 0.5)),
    forgetRecent(): void {
      recent = lastOnes(RECENT_OF)
    },
    forgetUsual: (): void => usual.clear(),
  }
}

interface Begun {
  readonly at: number
  readonly era: number
}

/** A decrease that is undone unless it helps: its cause, the limit before it, and how bad the cause was. */
interface Trial {
  readonly why: 'refused' | 'slow'
  readonly from: number
  readonly before: number
}

/** Whether the decrease's cause has shrunk; null while it is too early to tell. */
function helped({ why, before }: Trial, odds: number | null, slowness: number | null): boolean | null {
  const now = why === 'slow' ? slowness : odds
  return now === null ? null : now < before * HELPED[why]
}

/** After this long in flight, in ms, a call counts as accepted by the model: rejections come sooner. */
function acceptedAfterMs(refusals: readonly number[]): number {
  return 2 * quantile(refusals, 0.9)
}

/** Whether a window is long enough, and has enough calls, for a conclusion. */
function isOver(window: ReturnType<typeof emptyWindow>, now: number, allowed: number): boolean {
  const spanMs = Math.min(LONGEST_WINDOW_MS, Math.max(SHORTEST_WINDOW_MS, window.usualMs))
  const elapsed = now - window.since
  const calm = window.overloads === 0 && window.begun >= allowed
  return elapsed >= spanMs && (calm || window.ends >= ENOUGH || elapsed >= 2 * LONGEST_WINDOW_MS)
}

function emptyWindow(since: number) {
  return {
    since,
    begun: 0,
    /** Calls answered or rejected. */
    ends: 0,
    /** Rejected calls that were begun after the last decrease. */
    overloads: 0,
    /** The sum of the answered calls' usual times, in ms. */
    work: 0,
    /** The longest of the answered calls' usual times, in ms. */
    usualMs: 0,
    /** Most calls in flight. */
    used: 0,
  }
}
