import { type Correlation, spearman } from '../evaluation/statistics/correlation.ts'
import { bootstrap, type Estimate } from '../evaluation/statistics/intervals.ts'
import { pairedDifference } from '../evaluation/statistics/paired-tests.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import { agreementOf, isReadable, type RatingAgreement, type StepsScores } from './agreement.ts'
import type { RatedItem } from './rated-item.ts'

/** What calibrated steps gain over those of before, on items that nothing was chosen by. */
export interface Gain {
  /** Both over the same items, those with a score by either; `unreadable` is of each alone, over all items. */
  readonly before: RatingAgreement
  readonly now: RatingAgreement
  /** Spearman's ρ now less before, with its interval over the statements that were sampled. */
  readonly change: Estimate
  /** Spearman's ρ now, with its interval over the same statements, and its two-sided p-value. */
  readonly follows: Estimate & { readonly pValue: number | null }
  /**
   * The gain is claimed: both intervals lie above 0, ρ now is no chance (p < .05), and nearly all scores could be read. Without
   * the second, steps that follow nobody would beat steps that run against the raters.
   */
  readonly claimed: boolean
}

/** A ρ with a higher p-value than this may be chance. */
const HIGHEST_P = 0.05

/** The gain on the test part. An item without a score by one of the two counts for neither. */
export function gainOn(test: readonly RatedItem[], before: StepsScores, now: StepsScores, seed: string): Gain {
  const both = test.filter(({ id }) => before.get(id) != null && now.get(id) != null)
  const units = [...Map.groupBy(both, ({ unit }) => unit).values()]
  const rho = (scores: StepsScores) => (sample: readonly RatedItem[][]) => rhoOf(sample.flat(), scores).value
  const absent = 'the old scores, the new scores or the ratings are all equal'
  const change = pairedDifference(
    units,
    { first: rho(before), second: rho(now) },
    { random: seededRandom(`gain ${seed}`), absent },
  )
  const follows = {
    ...bootstrap(units, rho(now), { random: seededRandom(`follows ${seed}`), absent, kind: 'other' }),
    pValue: rhoOf(both, now).pValue,
  }
  const over = (scores: StepsScores) => ({
    ...agreementOf(both, scores),
    unreadable: agreementOf(test, scores).unreadable,
  })
  return {
    before: over(before),
    now: over(now),
    change,
    follows,
    claimed: isAboveNone(change) && isAboveNone(follows) && isNoChance(follows) && isReadable(agreementOf(test, now)),
  }
}

/** Spearman's ρ of ratings and scores, over the items that have a score. */
export function rhoOf(items: readonly RatedItem[], scores: StepsScores): Correlation {
  const pairs = items.flatMap(({ id, rating }) => {
    const score = scores.get(id) ?? null
    return score === null ? [] : [{ rating, score }]
  })
  return spearman(
    pairs.map(({ rating }) => rating),
    pairs.map(({ score }) => score),
  )
}

function isAboveNone({ interval }: Estimate): boolean {
  return interval !== null && interval.low > 0
}

/** Whether a ρ above 0 is no chance, where it is the best of so many that were tried on the same items (Bonferroni). */
export function isNoChance({ value, pValue }: Pick<Correlation, 'value' | 'pValue'>, tried = 1): boolean {
  return (value ?? 0) > 0 && pValue !== null && pValue * tried < HIGHEST_P
}
