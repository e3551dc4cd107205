import jstat from 'jstat'
import { bootstrap, type Estimate } from './intervals.ts'
import { normalTail } from './normal-tail.ts'
import type { Random } from './random.ts'

/** Differences times the reach of their sum: beyond, the normal distribution is as good, and much faster. */
const MOST_STEPS = 2e8

/**
 * The paired permutation test (Fisher 1935): the two-sided p-value that differences between two judges, whole numbers, are as likely with
 * the other sign. Exact, by the distribution of their sum; where all are −1, 0 or 1 it is McNemar's exact test (McNemar 1947). 1 where
 * they never differ.
 */
export function pairedPermutation(differences: readonly number[]): number {
  const sizes = differences.map(Math.abs).filter((size) => size > 0)
  const reach = sizes.reduce((sum, size) => sum + size, 0)
  const found = Math.abs(differences.reduce((sum, one) => sum + one, 0))
  if (sizes.length * reach > MOST_STEPS) {
    const deviation = Math.sqrt(sizes.reduce((sum, size) => sum + size ** 2, 0))
    return Math.min(1, 2 * normalTail(found / deviation, (z) => jstat.jStat.normal.cdf(-z, 0, 1)))
  }
  // How likely each sum is, from the least on.
  let sums = new Float64Array([1])
  for (const size of sizes) {
    const next = new Float64Array(sums.length + 2 * size)
    for (const [at, chance] of sums.entries()) {
      next[at] = (next[at] ?? 0) + chance / 2
      next[at + 2 * size] = (next[at + 2 * size] ?? 0) + chance / 2
    }
    sums = next
  }
  return Math.min(
    1,
    sums.reduce((sum, chance, at) => (Math.abs(at - reach) >= found ? sum + chance : sum), 0),
  )
}

/**
 * The second run's statistic less the first's, with its bootstrap interval: the same units are drawn for both, so that what is
 * hard for both does not count as a difference.
 */
export function pairedDifference<Unit>(
  units: readonly Unit[],
  statistics: { first: (sample: readonly Unit[]) => number | null; second: (sample: readonly Unit[]) => number | null },
  how: { random: Random; absent: string; resamples?: number; telling?: number },
): Estimate {
  return bootstrap(
    units,
    (sample) => {
      const before = statistics.first(sample)
      const after = statistics.second(sample)
      return before === null || after === null ? null : after - before
    },
    { ...how, kind: 'other' },
  )
}

/**
 * P-values adjusted for being looked at together, in the same order (Holm 1979): each at most 1, and none below that of a
 * smaller one.
 */
export function holm(pValues: readonly number[]): number[] {
  const order = [...pValues.entries()].sort(([, one], [, other]) => one - other)
  const adjusted = new Array<number>(pValues.length).fill(1)
  let least = 0
  for (const [rank, [at, p]] of order.entries()) {
    least = Math.max(least, Math.min(1, p * (pValues.length - rank)))
    adjusted[at] = least
  }
  return adjusted
}
