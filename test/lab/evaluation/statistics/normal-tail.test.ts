import { expect, it } from 'vitest'
import { kendallTauB } from '../../../../src/lab/evaluation/statistics/correlation.ts'
import { normalTail } from '../../../../src/lab/evaluation/statistics/normal-tail.ts'

/** Values of scipy.stats.norm.sf, twice; far out 1 − Φ would be 0. */
it.each([
  [2, 0.04550026389635839],
  [2.5, 0.012419330651552265],
  [5, 5.733031437583866e-7],
  [8.3, 1.0411139489780493e-16],
  [9, 2.2571768119076647e-19],
  [20, 5.507248237212311e-89],
  [37, 1.1451142445047853e-299],
])('the tail of the normal distribution beyond %d, both ways, is %d', (z, both) => {
  const near = () => {
    throw new Error('this is far out')
  }
  expect((2 * normalTail(z, near)) / both).toBeCloseTo(1, 11)
})

it('a strong Kendall’s τ over many pairs has a small p-value, and not 0', () => {
  const one = Array.from({ length: 1_000 }, (_, at) => at)
  const { pValue } = kendallTauB(
    one,
    one.map((at) => at + 400 * Math.sin(at * 12.9898)),
  )
  expect(pValue).toBeGreaterThan(0)
  expect(pValue).toBeLessThan(1e-60)
})
