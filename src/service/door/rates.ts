/** How much may be done: on average, and at once. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Token buckets by name. */
export interface Rates {
  /** Takes so much at this rate; null if there was room, else for how many seconds there is none. */
  take(name: string, rate: Rate, cost: number, now: number): number | null
}

interface Bucket {
  tokens: number
  at: number
}

/**
 * Buckets of this many names at most; of others the one that was used longest ago is forgotten. What costs more than a burst
 * is let in when the bucket is full, and is owed.
 */
export function rates(mostNames: number): Rates {
  const buckets = new Map<string, Bucket>()
  return {
    take(name, { perSecond, burst }, cost, now) {
      const before = buckets.get(name) ?? { tokens: burst, at: now }
      const tokens = Math.min(burst, before.tokens + (Math.max(0, now - before.at) / 1000) * perSecond)
      const needed = Math.min(cost, burst)
      buckets.delete(name)
      buckets.set(name, { tokens: tokens >= needed ? tokens - cost : tokens, at: now })
      for (const oldest of buckets.keys()) {
        if (buckets.size <= mostNames) break
        buckets.delete(oldest)
      }
      return tokens >= needed ? null : (needed - tokens) / perSecond
    },
  }
}
