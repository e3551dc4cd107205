import type { ScopeLimits } from '../../src/contracts/ports/call-limits.ts'

/** One call that was granted, and took place. */
export interface Grant {
  /** By the store's clock, ms. */
  readonly at: number
  /** What it really took, or what was reserved where nobody settled. */
  readonly tokens: number
  /** When its place was free again; absent where nobody knows. */
  readonly ended?: number
}

/** Every way in which these grants exceed the limits, recounted without regard to how they were made. */
export function faultsOf(grants: readonly Grant[], windowMs: number, limits: ScopeLimits): string[] {
  const { callsPerMinute = Infinity, tokensPerMinute = Infinity, inFlight = Infinity } = limits
  const faults: string[] = []
  eachWindow(grants, windowMs, ({ at, calls, tokens }) => {
    if (calls > callsPerMinute) faults.push(`${calls} calls in the window that ends at ${at}`)
    if (tokens > tokensPerMinute) faults.push(`${tokens} tokens in the window that ends at ${at}`)
  })
  const most = mostAtOnce(grants)
  if (most > inFlight) faults.push(`${most} calls at once`)
  return faults
}

/** The largest sums in any window, whenever it ends. */
export function fullestOf(grants: readonly Grant[], windowMs: number): { calls: number; tokens: number } {
  const most = { calls: 0, tokens: 0 }
  eachWindow(grants, windowMs, ({ calls, tokens }) => {
    most.calls = Math.max(most.calls, calls)
    most.tokens = Math.max(most.tokens, tokens)
  })
  return most
}

/** A window is fullest when it ends with a grant; both of its ends belong to it. */
function eachWindow(
  grants: readonly Grant[],
  windowMs: number,
  see: (window: { at: number; calls: number; tokens: number }) => void,
): void {
  const inOrder = [...grants].sort((a, b) => a.at - b.at)
  let [first, tokens] = [0, 0]
  for (const [last, grant] of inOrder.entries()) {
    tokens += grant.tokens
    for (
      let oldest = inOrder[first];
      oldest !== undefined && oldest.at < grant.at - windowMs;
      oldest = inOrder[first]
    ) {
      tokens -= oldest.tokens
      first++
    }
    see({ at: grant.at, calls: last - first + 1, tokens })
  }
}

export function mostAtOnce(grants: readonly Grant[]): number {
  const steps = grants.flatMap(({ at, ended }) =>
    ended === undefined || ended <= at
      ? []
      : [
          { time: at, change: 1 },
          { time: ended, change: -1 },
        ],
  )
  steps.sort((a, b) => a.time - b.time || a.change - b.change)
  let [now, most] = [0, 0]
  for (const { change } of steps) {
    now += change
    most = Math.max(most, now)
  }
  return most
}

/** How much of a limit was used, from 0 to 1: the mean over the windows that end from `from` to `until`. */
export function meanUse(
  grants: readonly Grant[],
  windowMs: number,
  span: { from: number; until: number },
  limits: ScopeLimits,
): number {
  const samples = 1_000
  let sum = 0
  for (let n = 0; n < samples; n++) {
    const end = span.from + ((span.until - span.from) * (n + 0.5)) / samples
    const held = grants.filter(({ at }) => at > end - windowMs && at <= end)
    const tokens = held.reduce((total, one) => total + one.tokens, 0)
    sum += Math.max(held.length / (limits.callsPerMinute ?? Infinity), tokens / (limits.tokensPerMinute ?? Infinity))
  }
  return sum / samples
}
