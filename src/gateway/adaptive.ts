import type { Clock } from '../ports/clock.ts'
import { lastOnes, quantile } from './quantile.ts'

export interface AdaptiveSettings {
  /** The limit never rises above this, and starts here: the operator's word holds until the model objects. */
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
  /** Notes that a call has begun; what it returns notes its end, once. Calls of one `kind` (a stage) take alike long. */
  begin(kind: string): (end: CallEnd) => void
}

/**
 * From this share of overloads among the ends of a window, the model has too many of our calls: beyond its capacity it turns
 * calls away at once, and the next ones take their places, so that nearly all ends are overloads.
 */
const TOO_MANY = 0.6
/** From this share on it may be that, or a model that says 429 to one call in three, whoever asks: a small fall tells. */
const SOME = 0.2
const SMALL_FALL = 0.9
/** A fall has helped if what it was for is less than this share of what it was before. */
const HELPED = { refused: 0.5, slow: 0.75 }
/** For so long after a fall that did not help, the same is no reason to fall, in ms. */
const IGNORED_MS = 10_000
/** Calls without which nothing is concluded: of a window, of a small share of overloads, of the times of a kind. */
const ENOUGH = 20
const ENOUGH_FOR_SOME = 100
const ENOUGH_TIMES = 10
/** Latest times of a kind: their median is what is usual. Latest ratios to it: their median is what is now. */
const USUAL_OF = 2_048
const RECENT_OF = 20
/** A window is as long as a call usually takes, within these bounds, in ms. */
const SHORTEST_WINDOW_MS = 100
const LONGEST_WINDOW_MS = 1_000
/** After a fall the limit stays for so long, in ms; twice as long after each fall that followed a mere try to rise. */
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
  const usual = new Map<string, Times>()
  const inFlight = new Set<Begun>()
  const refusals = lastOnes(RECENT_OF)
  let recent = lastOnes(RECENT_OF)
  let allowed = most
  let era = 0
  let window = emptyWindow(clock())
  /** Over as many windows as it takes, since the last fall. */
  let sum = { overloads: 0, taken: 0 }
  let step = 1
  let heldUntil = Number.NEGATIVE_INFINITY
  let holdMs = HOLD_MS
  let trial: Trial | null = null
  const ignoredUntil = { refused: Number.NEGATIVE_INFINITY, slow: Number.NEGATIVE_INFINITY }

  function fall(now: number, to: number, why: Trial | null): void {
    // A fall right after a rise was a try that failed.
    holdMs = step <= 2 && era > 0 && now < heldUntil + 2 * holdMs ? Math.min(LONGEST_HOLD_MS, holdMs * 2) : HOLD_MS
    heldUntil = now + holdMs
    step = 1
    trial = why
    allowed = Math.max(1, Math.min(allowed, to))
    era++
    recent = lastOnes(RECENT_OF)
    sum = { overloads: 0, taken: 0 }
  }

  /** Whether what the last fall was for has become less; null while nobody can tell. */
  function helped(odds: number | null, slowness: number | null): boolean | null {
    if (trial === null) return null
    const now = trial.why === 'slow' ? slowness : odds
    return now === null ? null : now < trial.before * HELPED[trial.why]
  }

  /** At the end of a window: falls, rises, or stays. */
  function conclude(now: number): void {
    const { since, begun, overloads, work, used } = window
    const known = [...inFlight].filter(({ at }) => now - at > refusalMs()).length
    const taken = Math.max(0, begun - (inFlight.size - known) - overloads)
    window = emptyWindow(now)
    sum = { overloads: sum.overloads + overloads, taken: sum.taken + taken }
    const odds = sum.overloads + sum.taken < ENOUGH_FOR_SOME ? null : sum.overloads / Math.max(1, sum.taken)
    if (odds !== null) sum = { overloads: 0, taken: 0 }
    const turnedAway = overloads + taken < ENOUGH ? 0 : overloads / (overloads + taken)
    const slowness = recent.count < ENOUGH_TIMES ? null : quantile(recent.sorted(), 0.5)
    const flow = work / Math.max(1, now - since)

    const effect = helped(odds, slowness)
    if (trial !== null && effect === false) {
      ignoredUntil[trial.why] = now + IGNORED_MS
      if (trial.why === 'slow') usual.clear()
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
      now >= heldUntil &&
      begun >= Math.min(ENOUGH, allowed) &&
      used * 2 >= allowed
    ) {
      allowed = Math.min(most, allowed + step)
      step = Math.min(2 * step, allowed)
    }
  }

  /** A call that is in flight for longer has been taken by the model. */
  function refusalMs(): number {
    return 2 * quantile(refusals.sorted(), 0.9)
  }

  /** What a call of this kind usually takes, in ms; undefined while nobody knows. */
  function usualOf(kind: string): number | undefined {
    const times = usual.get(kind)
    return times === undefined || times.count < ENOUGH_TIMES ? undefined : quantile(times.sorted(), 0.5)
  }

  function noteAnswer(kind: string, ms: number, current: boolean): void {
    const before = usualOf(kind)
    const times = usual.get(kind) ?? lastOnes(USUAL_OF)
    usual.set(kind, times)
    times.add(ms)
    window.work += Math.min(ms, before ?? ms)
    window.usualMs = Math.max(window.usualMs, before ?? ms)
    if (current && before !== undefined && before > 0) recent.add(ms / before)
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
        if (end === 'answered') noteAnswer(kind, ms, begun.era === era)
        else {
          refusals.add(ms)
          if (begun.era === era) window.overloads++
        }
        const spanMs = Math.min(LONGEST_WINDOW_MS, Math.max(SHORTEST_WINDOW_MS, window.usualMs))
        const elapsed = now - window.since
        const calm = window.overloads === 0 && window.begun >= allowed
        if (elapsed >= spanMs && (calm || window.ends >= ENOUGH || elapsed >= 2 * LONGEST_WINDOW_MS)) conclude(now)
      }
    },
  }
}

type Times = ReturnType<typeof lastOnes>

interface Begun {
  readonly at: number
  readonly era: number
}

/** A fall that is taken back unless it helps: what it was for, where it began, and how bad it was before. */
interface Trial {
  readonly why: 'refused' | 'slow'
  readonly from: number
  readonly before: number
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
