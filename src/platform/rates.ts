import type { Clock } from '../contracts/ports/clock.ts'

/** How much may be done: on average, and at once. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Names whose rates are known at a time. */
const MOST_NAMES = 20_000

/** Wrong keys, tokens and sign-ins from one network: more in a row have to wait. */
const WRONG: Rate = { perSecond: 5, burst: 50 }

/** Counts a wrong guess of this network: null while it may make more, else in how many seconds it may. */
export function wrongGuesses(clock: Clock): (network: string) => number | null {
  const wrong = rates()
  return (network) => wrong.take(network, WRONG, { units: 1, own: 0 }, clock())
}

/** Token buckets by name. */
interface Rates {
  /**
   * Takes so many units, however many there are, if one is left beside the `own` that the same request took before; null then, else
   * in how many seconds there is one.
   */
  take(name: string, rate: Rate, cost: { readonly units: number; readonly own: number }, now: number): number | null
  /** How many units are there now. */
  left(name: string, rate: Rate, now: number): number
}

interface Bucket {
  tokens: number
  at: number
}

/**
 * Beyond so many names the one that was used longest ago is forgotten. What costs more than is left is let
 * in, and owed: the next waits until a unit is there. So a request may cost more than a burst, and small ones keep no large one out.
 */
export function rates(): Rates {
  const buckets = new Map<string, Bucket>()
  const tokensOf = (name: string, { perSecond, burst }: Rate, now: number) => {
    const before = buckets.get(name) ?? { tokens: burst, at: now }
    return Math.min(burst, before.tokens + (Math.max(0, now - before.at) / 1000) * perSecond)
  }
  return {
    left: (name, rate, now) => Math.max(0, Math.floor(tokensOf(name, rate, now))),
    take(name, rate, { units, own }, now) {
      const tokens = tokensOf(name, rate, now)
      const isLetIn = tokens + own >= 1
      buckets.delete(name)
      buckets.set(name, { tokens: isLetIn ? tokens - units : tokens, at: now })
      for (const oldest of buckets.keys()) {
        if (buckets.size <= MOST_NAMES) break
        buckets.delete(oldest)
      }
      return isLetIn ? null : (1 - tokens) / rate.perSecond
    },
  }
}
