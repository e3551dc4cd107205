import type { Clock } from '../ports/clock.ts'

export interface AdaptiveSettings {
  /** The limit never rises above this, and starts here: the operator's word holds until the model objects. */
  readonly most: number
  /** Halve when calls take this many times as long as they used to. */
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

/** Answers that must have been seen before their times are believed. */
const ENOUGH = 10
/** Weight of one more answer in the recent mean, and in the long-term one that it is compared with. */
const RECENT = 1 / 10
const LONG_TERM = 1 / 200

/**
 * Additive increase, multiplicative decrease (Chiu and Jain 1989, as in TCP): each answered call raises the limit by
 * 1/limit, so by one for each full round of calls, but only while at least half of it is used (an idle limit proves
 * nothing); an overload halves it. Rising latency counts as overload, as in the gradient limits of Netflix's
 * concurrency-limits: a call's time is divided by the long-term mean of its kind, and when the recent mean of these ratios
 * passes `tolerance`, the limit halves. One congestion halves once: calls that were begun before the last halving
 * neither halve nor raise, nor does what they took count as recent.
 */
export function adaptiveLimit({ most, tolerance }: AdaptiveSettings, clock: Clock): AdaptiveLimit {
  const usual = new Map<string, { count: number; mean: number }>()
  let allowed = most
  let inFlight = 0
  let era = 0
  let recent = { count: 0, mean: 1 }

  function halve(): void {
    allowed = Math.max(1, allowed / 2)
    era++
    recent = { count: 0, mean: 1 }
  }

  /** How many times as long as usual this was; undefined while nobody knows what is usual. */
  function ratioOf(kind: string, ms: number): number | undefined {
    const known = usual.get(kind) ?? { count: 0, mean: 0 }
    const ratio = known.count < ENOUGH || known.mean === 0 ? undefined : ms / known.mean
    usual.set(kind, blended(known, ms, LONG_TERM))
    return ratio
  }

  return {
    get limit() {
      return Math.max(1, Math.floor(allowed))
    },
    get inFlight() {
      return inFlight
    },
    begin(kind) {
      const begun = { at: clock(), era, busy: ++inFlight }
      let ended = false
      return (end) => {
        if (ended) return
        ended = true
        const used = Math.max(begun.busy, inFlight--)
        const current = begun.era === era
        if (end === 'overloaded' && current) halve()
        if (end !== 'answered') return
        const ratio = ratioOf(kind, Math.max(0, clock() - begun.at))
        if (!current) return
        if (ratio !== undefined) recent = blended(recent, ratio, RECENT)
        if (recent.count >= ENOUGH && recent.mean > tolerance) halve()
        else if (used * 2 >= allowed) allowed = Math.min(most, allowed + 1 / allowed)
      }
    },
  }
}

/** The plain mean at first, an exponentially weighted one once there are enough. */
function blended({ count, mean }: { count: number; mean: number }, value: number, weight: number) {
  return { count: count + 1, mean: mean + (value - mean) * Math.max(weight, 1 / (count + 1)) }
}
