import { expect, test } from 'vitest'
import { estimate, meanDifference, type Pair, rankCorrelation, sameSign } from './agreement.ts'

const pairs = (...scores: [number, number][]): Pair[] =>
  scores.map(([first, second], at) => ({ thread: `t${at % 3}`, first, second }))

test('the rank correlation of the textbook example of IQ and hours of television is −29/165', () => {
  const iq = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
  const hours = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]
  expect(rankCorrelation(pairs(...iq.map((each, at): [number, number] => [each, hours[at] ?? 0])))).toBeCloseTo(
    -29 / 165,
  )
})

test('equal scores share the mean of their ranks', () => {
  // Ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4: Pearson's is 4.5 / √(4.5 · 5).
  expect(rankCorrelation(pairs([0, 1], [1, 3], [1, 2], [2, 4]))).toBeCloseTo(Math.sqrt(0.9))
})

test('of scores that are all the same no rank correlation is said', () => {
  expect(rankCorrelation(pairs([1, 0.5], [1, -0.5], [1, 0]))).toBeNull()
  expect(rankCorrelation([])).toBeNull()
})

test('0 is a sign of its own', () => {
  expect(sameSign(pairs([0.1, 1], [-0.2, -1], [0, 0], [0, 0.1]))).toBe(0.75)
})

test('the difference of scores counts without its direction', () => {
  expect(meanDifference(pairs([1, 0.5], [-1, -0.5]))).toBe(0.5)
})

test('whole threads are drawn: two threads that say the opposite leave everything open', () => {
  const one = { first: 1, second: 1 }
  const other = { first: 1, second: -1 }
  const sample = [
    ...Array.from({ length: 50 }, () => ({ thread: 'a', ...one })),
    ...Array.from({ length: 50 }, () => ({ thread: 'b', ...other })),
  ]
  expect(estimate(sample, sameSign)).toEqual({ n: 100, value: 0.5, low: 0, high: 1 })
  const apart = sample.map((pair, at) => ({ ...pair, thread: String(at) }))
  const { low, high } = estimate(apart, sameSign)
  expect(low).toBeCloseTo(0.4, 1)
  expect(high).toBeCloseTo(0.6, 1)
})

test('of nothing nothing is said', () => {
  expect(estimate([], sameSign)).toEqual({ n: 0, value: null, low: null, high: null })
})
