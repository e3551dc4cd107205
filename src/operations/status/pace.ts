import { entryOf } from '../../contracts/facts/entry-of.ts'
import { FAULTS } from '../../contracts/facts/verdict.ts'
import { samplesOf, sumOf } from '../metrics/samples.ts'

/** What processes have published since they started: verdicts, their latencies, and how many were degraded by whose fault. */
export interface PublishedCounts {
  readonly verdicts: number
  /** Verdicts that took at most so many seconds, by that bound; the last bound is null: any time. */
  readonly within: readonly (readonly [seconds: number | null, verdicts: number])[]
  readonly degraded: Readonly<Record<string, number>>
}

/** Whose fault it is that a verdict is degraded, and `none`: nobody's. */
const BLAMED = [...FAULTS, 'none']

export function publishedOn(page: string): PublishedCounts {
  const within = new Map<number | null, number>()
  for (const { labels, value } of samplesOf(page, 'gavel_verdict_latency_seconds_bucket')) {
    const bound = labels.le === '+Inf' ? null : Number(labels.le)
    within.set(bound, (within.get(bound) ?? 0) + value)
  }
  const degraded = (fault: string) => sumOf(page, 'gavel_verdicts_total', { degraded: 'true', fault }) ?? 0
  return {
    verdicts: sumOf(page, 'gavel_verdict_latency_seconds_count') ?? 0,
    within: [...within].sort(
      ([one], [other]) => (one ?? Number.POSITIVE_INFINITY) - (other ?? Number.POSITIVE_INFINITY),
    ),
    degraded: Object.fromEntries(BLAMED.map((fault) => [fault, degraded(fault)])),
  }
}

const NOTHING: PublishedCounts = { verdicts: 0, within: [], degraded: {} }

/** What was published since an earlier look. Who has published less than before has started anew: all of it counts. */
export function since(now: PublishedCounts, before: PublishedCounts = NOTHING): PublishedCounts {
  if (now.verdicts < before.verdicts) return now
  const earlier = new Map(before.within)
  return {
    verdicts: now.verdicts - before.verdicts,
    within: now.within.map(([bound, verdicts]) => [bound, Math.max(0, verdicts - (earlier.get(bound) ?? 0))] as const),
    degraded: Object.fromEntries(
      Object.entries(now.degraded).map(([fault, verdicts]) => [
        fault,
        verdicts - (entryOf(before.degraded, fault) ?? 0),
      ]),
    ),
  }
}

export function addUp(all: readonly PublishedCounts[]): PublishedCounts {
  return all.reduce(added, NOTHING)
}

function added(one: PublishedCounts, other: PublishedCounts): PublishedCounts {
  const within = new Map(one.within)
  for (const [bound, verdicts] of other.within) within.set(bound, (within.get(bound) ?? 0) + verdicts)
  const faults = [...new Set([...Object.keys(one.degraded), ...Object.keys(other.degraded)])]
  return {
    verdicts: one.verdicts + other.verdicts,
    within: [...within],
    degraded: Object.fromEntries(
      faults.map((fault) => [fault, (entryOf(one.degraded, fault) ?? 0) + (entryOf(other.degraded, fault) ?? 0)]),
    ),
  }
}

/** The latency that this share of the verdicts had at most, in s, as Prometheus would estimate it; null without verdicts. */
export function quantile(share: number, { within }: PublishedCounts): number | null {
  const all = within.at(-1)?.[1] ?? 0
  if (all === 0) return null
  const wanted = share * all
  let [low, below] = [0, 0]
  for (const [bound, verdicts] of within) {
    // Beyond the last bound nothing more is known.
    if (bound === null) return low
    if (verdicts >= wanted) return low + ((bound - low) * (wanted - below)) / Math.max(1, verdicts - below)
    low = bound
    below = verdicts
  }
  return low
}
