import { kendallTauB, spearman } from '../evaluation/statistics/correlation.ts'
import type { RatedItem } from './rated-item.ts'

/** Scores of items by one text of steps: null where the scorer gave none that can be read. */
export type StepsScores = ReadonlyMap<string, number | null>

/** How well scores follow the ratings. Scores that can't be read are counted, and never correlated. */
export interface RatingAgreement {
  /** Spearman's ρ; null where all scores or all ratings are alike. */
  readonly spearman: number | null
  readonly kendall: number | null
  readonly items: number
  readonly unreadable: number
}

/** The agreement over these items. */
export function agreementOf(items: readonly RatedItem[], scores: StepsScores): RatingAgreement {
  const pairs = items.flatMap(({ id, rating }) => {
    const score = scores.get(id) ?? null
    return score === null ? [] : [{ rating, score }]
  })
  const [ratings, given] = [pairs.map(({ rating }) => rating), pairs.map(({ score }) => score)]
  return {
    spearman: spearman(ratings, given).value,
    kendall: kendallTauB(ratings, given).value,
    items: pairs.length,
    unreadable: items.length - pairs.length,
  }
}

/** Of the items at least this share must have a score that can be read: what is left may be the easy ones. */
const FEWEST_READABLE = 0.95

/** By what candidates are ranked: Spearman's ρ, as the paper has it, or the mean of ρ and Kendall's τ-b, as its authors' code has it. */
export const RANKINGS = ['spearman', 'mean'] as const
export type Ranking = (typeof RANKINGS)[number]

/**
 * The better agreement first: by Spearman (or `by`), of equal ones by Kendall. Behind them come those with too few readable scores,
 * and last what has none: a scorer that gives everything the same score follows nobody.
 */
export function byAgreement(one: RatingAgreement, other: RatingAgreement, by: Ranking = 'spearman'): number {
  const rank = (of: RatingAgreement) => (of.spearman === null ? 2 : isReadable(of) ? 0 : 1)
  const of = (value: number | null) => value ?? Number.NEGATIVE_INFINITY
  const ranked = ({ spearman, kendall }: RatingAgreement) =>
    by === 'mean' ? (of(spearman) + of(kendall)) / 2 : of(spearman)
  return (
    rank(one) - rank(other) || descending(ranked(one), ranked(other)) || descending(of(one.kendall), of(other.kendall))
  )
}

export function isReadable({ items, unreadable }: RatingAgreement): boolean {
  return items >= (items + unreadable) * FEWEST_READABLE
}

function descending(one: number, other: number): number {
  return one === other ? 0 : other - one
}

/** The items on which score and mean rating differ most, at most `count` of them; of equal ones by id. */
export function worstOf(items: readonly RatedItem[], scores: StepsScores, count: number) {
  return items
    .flatMap((item) => {
      const score = scores.get(item.id) ?? null
      return score === null ? [] : [{ ...item, score }]
    })
    .sort((one, other) => apart(other) - apart(one) || (one.id < other.id ? -1 : 1))
    .slice(0, count)
}

function apart({ score, rating }: { score: number; rating: number }): number {
  return Math.abs(score - rating)
}
