import jstat from 'jstat'
import { bootstrap, type Estimate } from './intervals.ts'
import type { Random } from './random.ts'

/** Two judges' answers to the same items. */
export interface Discordance {
  /** Items that the first got right and the second wrong. */
  readonly onlyFirst: number
  /** Items that the second got right and the first wrong. */
  readonly onlySecond: number
}

/** McNemar's exact test (McNemar 1947): the two-sided p-value that two judges are right equally often. 1 where they never differ. */
export function mcNemar({ onlyFirst, onlySecond }: Discordance): number {
  const differing = onlyFirst + onlySecond
  if (differing === 0) return 1
  const fewer = Math.min(onlyFirst, onlySecond)
  // jstat's own distribution ends at ten digits behind the point, and calls what is smaller 0.
  let [term, sum] = [Math.exp(jstat.jStat.combinationln(differing, fewer) - differing * Math.LN2), 0]
  for (let few = fewer; few >= 0; few--) {
    sum += term
    term *= few / (differing - few + 1)
  }
  return Math.min(1, 2 * sum)
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
