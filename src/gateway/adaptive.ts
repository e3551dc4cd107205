import type { Clock } from '../ports/clock.ts'
import { lastOnes, quantile } from './quantile.ts'

export interface AdaptiveSettings {
  /** The limit starts here and never rises above it: the operator's number holds until the model shows that it is too high. */
  readonly most: number
  /** The model counts as overloaded when the median call takes this many times as long as usual. */
  readonly tolerance: number
}

/** How a call ended. `overloaded`: 429, or busy. `other` says nothing about load: a refusal, an abort, a fault of ours. */
export type CallEnd = 'answered' | 'overloaded' | 'other'

/** How many calls to one model this process may have in flight. */
export interface AdaptiveLimit {
  /** A whole number from 1 to `most`. */
  readonly limit: number
  readonly inFlight: number
  /** Notes that a call has begun; the function returned notes its end, once. Calls of one `kind` (a stage) take about as long as each other. */
  begin(kind: string): (end: CallEnd) => void
}

/**
 * With at least this share of overloads among the ended calls of a window, the model has too many of ours: beyond its capacity
 * it turns calls away at once, the next ones take their slots, and nearly all calls end as overloads.
 */
const TOO_MANY = 0.6
/** From this share on it may be that, or a model that answers one call in three with 429 at any load: a small fall tells which. */
const SOME = 0.2
const SMALL_FALL = 0.9
/** A fall has helped if its cause has shrunk below this share of what it was. */
const HELPED = { refused: 0.5, slow: 0.75 }
/** After a fall that did not help, its cause is ignored for this long, in ms. */
const IGNORED_MS = 10_000
/** Fewest calls from which something is concluded: in a window, about a small share of overloads, about the times of a kind. */
const ENOUGH = 20
const ENOUGH_FOR_SOME = 100
const ENOUGH_TIMES = 10
/** How many of a kind's latest times make its usual time (their median), and how many ratios to it make today's (their median). */
const USUAL_OF = 2_048
const RECENT_OF = 20
/** A window is as long as a call usually takes, within these bounds, in ms. */
const SHORTEST_WINDOW_MS = 100
const LONGEST_WINDOW_MS = 1_000
/** After a fall the limit does not rise for this long, in ms; for twice as long after each fall that followed a first small rise. */
const HOLD_MS = 500
const LONGEST_HOLD_MS = 4_000

/**
 * The limit falls to what the model has been seen to bear, or to half of what it is, where that is more. What it bears are
 * the calls that it has taken and not turned away, and by Little's law the calls answered a second times what they usually
 * take. Overload is told by the share of calls that were turned away in a window, or by the median of the latest calls'
 * times, each divided by what its kind usually takes (as in the gradient limits of Netflix's concurrency-limits): neither
 * scattered 429s nor single calls that hang say that there are too many. One congestion counts once: calls that were begun
 * before the last fall count neither as overloads nor as slow. Where a fall has not helped, our calls were not the reason, and
 * it is taken back.
 *
 * The limit rises at the end of each window in which at least half of it was used (an idle limit proves nothing), first by
 * one, then by twice as much each time (slow start), so that a model that recovers is soon used.
 */
export function adaptiveLimit({ most, tolerance }: AdaptiveSettings, clock: Clock): AdaptiveLimit {
  const times = callTimes()
  const inFlight = new Set<Begun>()
  const refusals = lastOnes(RECENT_OF)
  let allowed = most
  let era = 0
  let window = emptyWindow(clock())
  /** Summed over windows until there are enough, since the last fall. */
  let sum = { overloads: 0, taken: 0 }
  let step = 1
  let pausedUntil = Number.NEGATIVE_INFINITY
  let holdMs = HOLD_MS
  let trial: Trial | null = null
  const ignoredUntil = { refused: Number.NEGATIVE_INFINITY, slow: Number.NEGATIVE_INFINITY }

  function fall(now: number, to: number, why: Trial | null): void {
    // A fall right after a small rise: the rise was too early.
    holdMs = step <= 2 && era > 0 && now < pausedUntil + 2 * holdMs ? Math.min(LONGEST_HOLD_MS, holdMs * 2) : HOLD_MS
    pausedUntil = now + holdMs
    step = 1
    trial = why
    allowed = Math.max(1, Math.min(allowed, to))
    era++
    times.forgetRecent()
    sum = { overloads: 0, taken: 0 }
  }

  /** At the end of a window: falls, rises, or stays. */
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

/** How long answered calls take: what is usual for each kind, and how the latest compare with it. */
function callTimes() {
  const usual = new Map<string, ReturnType<typeof lastOnes>>()
  let recent = lastOnes(RECENT_OF)
  return {
    /**
     * Notes an answer's time. Returns what its kind usually took before, in ms; undefined while too few are known. Only
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
    /** The median of the latest times, each divided by what is usual for its kind; null while there are too few. */
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

/** A fall that is taken back unless it helps: its cause, the limit before it, and how bad the cause was. */
interface Trial {
  readonly why: 'refused' | 'slow'
  readonly from: number
  readonly before: number
}

/** Whether the fall's cause has shrunk; null while it is too early to tell. */
function helped({ why, before }: Trial, odds: number | null, slowness: number | null): boolean | null {
  const now = why === 'slow' ? slowness : odds
  return now === null ? null : now < before * HELPED[why]
}

/** A call in flight for longer than this, in ms, has been accepted by the model: refusals come sooner. */
function acceptedAfterMs(refusals: readonly number[]): number {
  return 2 * quantile(refusals, 0.9)
}

/** Whether a window is long enough, and holds enough calls, to conclude something from it. */
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
    /** Calls answered or turned away. */
    ends: 0,
    /** Calls turned away that were begun after the last fall. */
    overloads: 0,
    /** What the answered calls usually take, together, in ms. */
    work: 0,
    /** The longest of what they usually take, in ms. */
    usualMs: 0,
    /** Most calls in flight. */
    used: 0,
  }
}
