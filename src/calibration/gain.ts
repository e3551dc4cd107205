import { pairedDifference } from '../evaluation/statistics/compare.ts'
import { spearman } from '../evaluation/statistics/correlation.ts'
import type { Estimate } from '../evaluation/statistics/intervals.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import { type Agreement, agreementOf, isReadable, type Scores } from './agreement.ts'
import type { RatedItem } from './rated-item.ts'

/** What calibrated steps gain over those of before, on items that nothing was chosen by. */
export interface Gain {
  readonly before: Agreement
  readonly now: Agreement
  /** Spearman's ρ now less before, with its interval over the statements that were sampled. */
  readonly change: Estimate
  /** The gain is claimed: the interval lies above 0, the scores now follow the ratings, and nearly all of them could be read. */
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
  const [agreedBefore, agreedNow] = [agreementOf(test, before), agreementOf(test, now)]
  const isBeyondChance = change.interval !== null && change.interval.low > 0
  const claimed = isBeyondChance && isReadable(agreedNow) && (agreedNow.spearman ?? 0) > 0
  return { before: agreedBefore, now: agreedNow, change, claimed }
}
