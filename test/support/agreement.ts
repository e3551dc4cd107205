import { dice } from '../chaos/dice.ts'

/** Two scores of one comment, or a score and its gold stance as 1 or −1. */
export interface Pair {
  readonly thread: string
  readonly first: number
  readonly second: number
}

/** What a measure says of a sample, and the 95 % interval that the bootstrap gives it; null where it says nothing. */
export interface Estimate {
  readonly n: number
  readonly value: number | null
  readonly low: number | null
  readonly high: number | null
}

type Measure = (pairs: readonly Pair[]) => number | null

/** The share of pairs whose scores are both above 0, both below, or both 0. */
export const sameSign: Measure = (pairs) =>
  mean(pairs.map(({ first, second }) => (Math.sign(first) === Math.sign(second) ? 1 : 0)))

export const meanDifference: Measure = (pairs) => mean(pairs.map(({ first, second }) => Math.abs(first - second)))

/** Spearman's: Pearson's correlation of the ranks. Equal scores share the mean of their ranks; null where all are equal. */
export const rankCorrelation: Measure = (pairs) => {
  const [first, second] = [ranks(pairs.map((pair) => pair.first)), ranks(pairs.map((pair) => pair.second))]
  const middle = (pairs.length + 1) / 2
  const product = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, rank, at) => sum + (rank - middle) * ((b[at] ?? middle) - middle), 0)
  const spread = Math.sqrt(product(first, first) * product(second, second))
  return spread === 0 ? null : product(first, second) / spread
}

/**
 * The measure over all pairs. Comments of one thread are not independent of one another, so whole threads are drawn, with
 * replacement, the same at each run; a draw of which the measure says nothing is left out.
 */
export function estimate(pairs: readonly Pair[], measure: Measure, draws = 2_000): Estimate {
  const threads = [...Map.groupBy(pairs, ({ thread }) => thread).values()]
  const { pick } = dice(1, 'bootstrap')
  const drawn = Array.from({ length: threads.length === 0 ? 0 : draws }, () =>
    measure(threads.flatMap(() => pick(threads))),
  )
  const values = drawn.filter((value) => value !== null).sort((a, b) => a - b)
  const at = (share: number) => values[Math.round(share * (values.length - 1))] ?? null
  return { n: pairs.length, value: measure(pairs), low: at(0.025), high: at(0.975) }
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

function ranks(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b)
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2 + 1)
}
