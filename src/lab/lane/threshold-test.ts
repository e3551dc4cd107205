import jstat from 'jstat'
import { binomialTail } from '../evaluation/statistics/binomial.ts'

const { beta } = jstat.jStat

/** How much of a set a threshold settles, and how often that is wrong. */
export interface SettledCount {
  readonly items: number
  readonly errors: number
}

/** Calibrated confidences that may become a threshold, the strictest first. They are set before anything is seen. */
export const CANDIDATES: readonly number[] = [
  0.999, 0.998, 0.995, 0.99, 0.985, 0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92, 0.91, 0.9, 0.88, 0.86, 0.84, 0.82, 0.8,
  0.775, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0,
]

/** The exact p-value of "more than `risk` of these are wrong": the chance of so few errors where just `risk` are. */
export function tail({ items, errors }: SettledCount, risk: number): number {
  return items === 0 ? 1 : binomialTail(errors, items, risk)
}

/** The exact upper bound of a share of errors, which is exceeded with a chance of `delta` (Clopper and Pearson 1934). */
export function upperBound({ items, errors }: SettledCount, delta: number): number {
  return errors >= items ? 1 : beta.inv(1 - delta, errors + 1, items - errors)
}

/** So many items are needed at least, all of them right. */
export function fewestItems(risk: number, delta: number): number {
  return Math.ceil(Math.log(delta) / Math.log1p(-risk))
}

/**
 * The places in `CANDIDATES` of the `first` threshold that is tested, and of the loosest that is certified (`last`; null where none
 * is). Learn-then-Test by a fixed sequence (Angelopoulos et al. 2021, section 2.2): from one candidate on to looser ones, each tested
 * at `delta`, until one fails. So the chance that a certified one is wrong more often than `risk` is at most `delta`, without a price
 * for the number of candidates. The first is where the *other* part of the data promises most, of those that settle as many tested items
 * as a promise takes: no label of what is tested chooses it.
 */
export function certified(
  tested: readonly SettledCount[],
  planned: readonly SettledCount[],
  { risk, delta }: { risk: number; delta: number },
): { readonly first: number; readonly last: number | null } {
  const fewest = fewestItems(risk, delta)
  const enough = tested.findIndex(({ items }) => items >= fewest)
  let [first, least] = [Math.max(0, enough), Number.POSITIVE_INFINITY]
  for (const [at, settled] of planned.entries()) {
    if (at < first) continue
    const p = tail(settled, risk)
    if (p < least) [first, least] = [at, p]
  }
  let last: number | null = null
  for (let at = first; at < tested.length; at++) {
    const settled = tested[at]
    if (settled === undefined || tail(settled, risk) > delta) break
    last = at
  }
  return { first, last }
}
