import { pairedDifference } from '../evaluation/statistics/compare.ts'
import { spearman } from '../evaluation/statistics/correlation.ts'
import type { Estimate } from '../evaluation/statistics/intervals.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import { type Agreement, agreementOf, type Scores } from './agreement.ts'
import type { RatedItem } from './rated-item.ts'

/** What calibrated steps gain over those of before, on items that nothing was chosen by. */
export interface Gain {
  readonly before: Agreement
  readonly now: Agreement
  /** Spearman's ρ now less before, with its interval over the statements that were sampled. */
  readonly change: Estimate
  /** The interval lies above 0: the gain is claimed. */
  readonly claimed: boolean
}

/** The gain on the test part. An item without a score by one of the two counts for neither. */
export function gainOn(test: readonly RatedItem[], before: Scores, now: Scores, seed: string): Gain {
  const both = test.filter(({ id }) => before.get(id) != null && now.get(id) != null)
  const units = [...Map.groupBy(both, ({ unit }) => unit).values()]
  const rho = (scores: Scores) => (sample: readonly RatedItem[][]) => {
    const all = sample.flat()
    return spearman(
      all.map(({ rating }) => rating),
      all.map(({ id }) => scores.get(id) ?? Number.NaN),
    ).value
  }
  const change = pairedDifference(
    units,
    { first: rho(before), second: rho(now) },
    { random: seededRandom(`gain ${seed}`), absent: 'the scores before or now, or the ratings, are all alike' },
  )
  return {
    before: agreementOf(test, before),
    now: agreementOf(test, now),
    change,
    claimed: change.interval !== null && change.interval.low > 0,
  }
}
