import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { ItemOutcome } from './outcomes.ts'
import { type RatingPair, type StatementScores, statementScores, type Trials, trialsOf } from './statement-scores.ts'
import { krippendorffAlpha } from './statistics/agreement.ts'
import { kendallTauB, spearman } from './statistics/correlation.ts'
import { bootstrap, type Estimate } from './statistics/intervals.ts'
import { ndcg, randomNdcg } from './statistics/ndcg.ts'
import { seededRandom } from './statistics/random.ts'

/** How well scores of one aspect follow people's ratings. */
export interface AspectScores {
  readonly aspect: string
  /** Items with people's ratings and a score, on which the rest rests. */
  readonly items: number
  /** Items that people rated, and that got no score. */
  readonly unscored: number
  readonly spearman: Estimate
  readonly spearmanP: number | null
  readonly kendall: Estimate
  readonly kendallP: number | null
  /** Of the order by scores; and what a random order has on average. */
  readonly ndcg: number | null
  readonly randomNdcg: number | null
  /** Within the replies to each statement; null where no statement has two. */
  readonly byStatement: StatementScores | null
  /** Over random samples; null with fewer than 100 items. */
  readonly trials: Trials | null
  /** Krippendorff's alpha (ordinal) over the raters; null where nobody was rated twice. */
  readonly alpha: number | null
}

/** The scores of each aspect that some item was rated on. `ratings` are each item's ratings one by one, for the agreement. */
export function ratingScores(
  outcomes: readonly ItemOutcome[],
  ratings: ReadonlyMap<string, Readonly<Record<string, readonly number[]>>>,
  seed: string,
): AspectScores[] {
  const aspects = [...new Set(outcomes.flatMap(({ ratings: means = {} }) => Object.keys(means)))].sort()
  return aspects.map((aspect) => {
    const rated = outcomes.filter(({ ratings: means = {} }) => entryOf(means, aspect) !== undefined)
    const pairs = rated.flatMap(({ unit, ratings: means = {}, scores }): RatingPair[] => {
      const [people, score] = [entryOf(means, aspect), entryOf(scores, aspect)]
      return people === undefined || score === undefined ? [] : [{ unit, people, score }]
    })
    return aspectScores(aspect, pairs, rated, ratings, seed)
  })
}

function aspectScores(
  aspect: string,
  pairs: readonly RatingPair[],
  rated: readonly ItemOutcome[],
  ratings: ReadonlyMap<string, Readonly<Record<string, readonly number[]>>>,
  seed: string,
): AspectScores {
  const people = pairs.map((pair) => pair.people)
  const scores = pairs.map((pair) => pair.score)
  const units = [...Map.groupBy(pairs, ({ unit }) => unit).values()]
  const estimate = (name: string, of: (people: number[], scores: number[]) => number | null) =>
    bootstrap(
      units,
      (sample) => {
        const all = sample.flat()
        return of(
          all.map((pair) => pair.people),
          all.map((pair) => pair.score),
        )
      },
      { random: seededRandom(`${seed} ${name} ${aspect}`), absent: absentFor(people, scores), kind: 'other' },
    )
  const each = rated.map(({ id }) => entryOf(ratings.get(id) ?? {}, aspect) ?? [])
  return {
    aspect,
    items: pairs.length,
    unscored: rated.length - pairs.length,
    spearman: estimate('spearman', (one, other) => spearman(one, other).value),
    spearmanP: spearman(people, scores).pValue,
    kendall: estimate('kendall', (one, other) => kendallTauB(one, other).value),
    kendallP: kendallTauB(people, scores).pValue,
    ndcg: ndcg(people, scores),
    randomNdcg: randomNdcg(people),
    byStatement: statementScores(pairs, `${seed} ${aspect}`),
    trials: trialsOf(pairs),
    alpha: each.some(({ length }) => length > 1) ? krippendorffAlpha(each, 'ordinal') : null,
  }
}

function absentFor(people: readonly number[], scores: readonly number[]): string {
  if (people.length < 2) return 'fewer than two items have both a rating and a score'
  if (people.every((rating) => rating === people[0])) return 'people rated all items alike'
  if (scores.every((score) => score === scores[0])) return 'all items got the same score'
  return 'no correlation can be computed'
}
