import { spearman } from './statistics/correlation.ts'
import { bootstrap, type Estimate } from './statistics/intervals.ts'
import { ndcg, randomNdcg } from './statistics/ndcg.ts'
import { seededRandom } from './statistics/random.ts'

/** A pair of the mean of people's ratings and the score of the same item. */
export interface RatingPair {
  readonly unit: string
  readonly people: number
  readonly score: number
}

/** How well scores put the replies to one statement in order, in the mean over statements with several replies. */
export interface StatementScores {
  /** Statements with two replies and more, and those of them where all scores or all ratings are alike: they have no ρ. */
  readonly statements: number
  readonly alike: number
  /** Auto-CSEval, equation 3. */
  readonly spearman: Estimate
  readonly ndcg: Estimate
  /** What a random order of the same replies has on average. */
  readonly randomNdcg: number | null
}

/** Scores by statement; null where no statement has two replies. */
export function statementScores(pairs: readonly RatingPair[], seed: string): StatementScores | null {
  const statements = [...Map.groupBy(pairs, ({ unit }) => unit).values()].filter(({ length }) => length > 1)
  if (statements.length === 0) return null
  const sides = (of: readonly RatingPair[]) => [of.map(({ people }) => people), of.map(({ score }) => score)] as const
  const rhos = statements.flatMap((of) => spearman(...sides(of)).value ?? [])
  const gains = statements.flatMap((of) => ndcg(...sides(of)) ?? [])
  const estimate = (name: string, values: readonly number[], absent: string) =>
    bootstrap(values, meanOf, { random: seededRandom(`${seed} ${name}`), absent, kind: 'other' })
  return {
    statements: statements.length,
    alike: statements.length - rhos.length,
    spearman: estimate('statement spearman', rhos, 'no statement has both different ratings and different scores'),
    ndcg: estimate('statement ndcg', gains, 'no statement has a reply that is worth anything'),
    randomNdcg: meanOf(statements.flatMap((of) => randomNdcg(of.map(({ people }) => people)) ?? [])),
  }
}

/** Spearman's ρ over random samples of the items: its mean and standard deviation. */
export interface Trials {
  readonly trials: number
  readonly mean: number
  /** Of the sample; null for one trial. */
  readonly sd: number | null
}

/** Auto-CSEval, appendix D: samples of 100 items, and of 500 more each time, up to all of them. */
const SIZES = { first: 100, step: 500 }
const TRIAL_SEEDS = [1, 2, 3]

/** The trials of appendix D, each a sample without repeats; null with fewer than 100 items, or where none has a ρ. */
export function trialsOf(pairs: readonly RatingPair[]): Trials | null {
  const rhos: number[] = []
  for (let size = SIZES.first; size <= pairs.length; size += SIZES.step)
    for (const seed of TRIAL_SEEDS) {
      const sample = seededRandom(`trial ${seed} of ${size}`).shuffled(pairs).slice(0, size)
      const { value } = spearman(
        sample.map(({ people }) => people),
        sample.map(({ score }) => score),
      )
      if (value !== null) rhos.push(value)
    }
  const mean = meanOf(rhos)
  if (mean === null) return null
  const squares = rhos.reduce((sum, rho) => sum + (rho - mean) ** 2, 0)
  return { trials: rhos.length, mean, sd: rhos.length < 2 ? null : Math.sqrt(squares / (rhos.length - 1)) }
}

export function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}
