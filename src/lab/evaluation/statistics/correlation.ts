import jstat from 'jstat'
import { normalTail } from './normal-tail.ts'

const { normal, studentt } = jstat.jStat

export interface Correlation {
  /** In [−1, 1]; null where one side has no variance, or with fewer than two pairs. */
  readonly value: number | null
  /** Two-sided, against no association; null where `value` is, or with fewer than four pairs. */
  readonly pValue: number | null
}

/** Least number of pairs for a p-value: below it the approximations say nothing. */
const FEWEST_FOR_P = 4

/**
 * Spearman's ρ of pairs, ties with their mean rank; its p-value by Student's t with n − 2 degrees of freedom, exact to 3 parts in
 * 10⁷: at that jstat's continued fraction of the beta function ends. SciPy's goes further, so of many p-values some differ in the
 * ninth digit behind the point. Throws a
 * `RangeError` unless both sides have the same length.
 */
export function spearman(one: readonly number[], other: readonly number[]): Correlation {
  check(one, other)
  if (!varies(one) || !varies(other)) return { value: null, pValue: null }
  const value = Math.max(-1, Math.min(1, jstat.jStat.spearmancoeff(one, other)))
  if (one.length < FEWEST_FOR_P) return { value, pValue: null }
  const freedom = one.length - 2
  const t = Math.abs(value) * Math.sqrt(freedom / ((1 + value) * (1 - value)))
  return { value, pValue: Number.isFinite(t) ? 2 * studentt.cdf(-t, freedom) : 0 }
}

/**
 * Kendall's τ-b of pairs in O(n log n) (Knight 1966), its p-value by the normal approximation with the variance for ties
 * (Kendall 1970). Throws a `RangeError` unless both sides have the same length.
 */
export function kendallTauB(one: readonly number[], other: readonly number[]): Correlation {
  check(one, other)
  if (!varies(one) || !varies(other)) return { value: null, pValue: null }
  const order = one
    .map((x, at) => ({ x, y: other[at] ?? 0 }))
    .sort((left, right) => left.x - right.x || left.y - right.y)
  const n = order.length
  const pairs = (n * (n - 1)) / 2
  const x = tiesOf(one)
  const y = tiesOf(other)
  const both = [...Map.groupBy(order, (pair) => `${pair.x} ${pair.y}`).values()]
    .map(({ length }) => (length * (length - 1)) / 2)
    .reduce((sum, count) => sum + count, 0)
  const discordant = inversionsOf(order.map((pair) => pair.y))
  const difference = pairs - x.pairs - y.pairs + both - 2 * discordant
  const value = Math.max(-1, Math.min(1, difference / Math.sqrt(pairs - x.pairs) / Math.sqrt(pairs - y.pairs)))
  if (n < FEWEST_FOR_P) return { value, pValue: null }
  const m = n * (n - 1)
  const variance =
    (m * (2 * n + 5) - x.second - y.second) / 18 + (2 * x.pairs * y.pairs) / m + (x.third * y.third) / (9 * m * (n - 2))
  return { value, pValue: 2 * normalTail(Math.abs(difference) / Math.sqrt(variance), (z) => normal.cdf(-z, 0, 1)) }
}

/** Over groups of `c` equal values: the pairs in them, Σ c(c−1)(2c+5) and Σ c(c−1)(c−2). */
function tiesOf(values: readonly number[]): { pairs: number; second: number; third: number } {
  const counts = [...Map.groupBy(values, (value) => value).values()].map(({ length }) => length)
  const total = (of: (count: number) => number) => counts.reduce((sum, count) => sum + of(count), 0)
  return {
    pairs: total((c) => (c * (c - 1)) / 2),
    second: total((c) => c * (c - 1) * (2 * c + 5)),
    third: total((c) => c * (c - 1) * (c - 2)),
  }
}

/** Pairs of which the later is smaller, counted while merging. */
function inversionsOf(values: readonly number[]): number {
  let from = [...values]
  let to = [...values]
  let inversions = 0
  for (let width = 1; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length)
      const end = Math.min(start + 2 * width, from.length)
      let left = start
      let right = middle
      for (let at = start; at < end; at++) {
        if (left < middle && (right >= end || (from[left] ?? 0) <= (from[right] ?? 0))) to[at] = from[left++] ?? 0
        else {
          to[at] = from[right++] ?? 0
          inversions += middle - left
        }
      }
    }
    ;[from, to] = [to, from]
  }
  return inversions
}

function varies(values: readonly number[]): boolean {
  return values.some((value) => value !== values[0])
}

function check(one: readonly number[], other: readonly number[]): void {
  if (one.length !== other.length)
    throw new RangeError(`a correlation needs pairs, and has ${one.length} values against ${other.length}`)
}
