import { describe, expect, test } from 'vitest'
import { wilson } from '../../../src/lab/evaluation/statistics/intervals.ts'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import { drawCases, type PricedCase } from '../../../src/lab/what-if/case-sample.ts'
import { weightedShare } from '../../../src/record/drawn-rates.ts'

const UNLIMITED = Number.POSITIVE_INFINITY
const caseOf = (nth: number, over: Partial<PricedCase> = {}): PricedCase => ({
  id: `c${nth}`,
  usd: 1,
  newQuestions: 1,
  weight: 1,
  ...over,
})
const many = (count: number, over: (nth: number) => Partial<PricedCase> = () => ({})) =>
  Array.from({ length: count }, (_, nth) => caseOf(nth, over(nth)))
const lotsOf = (seed: number | string) => {
  const { unit } = seededRandom(`lots ${seed}`)
  const lots = new Map<string, number>()
  return (id: string) => {
    const lot = lots.get(id) ?? unit()
    lots.set(id, lot)
    return lot
  }
}

describe('the cases that are asked about', () => {
  test('are all, each for certain, where the money lasts', () => {
    const drawn = drawCases(many(50), { usd: 50, cases: UNLIMITED }, lotsOf(1))
    expect(drawn.map(({ of }) => of.id).toSorted()).toEqual(
      many(50)
        .map(({ id }) => id)
        .toSorted(),
    )
    expect(drawn.every(({ chance }) => chance === 1)).toBe(true)
  })

  test('cost no more than there is, and are those of a smaller budget and more', () => {
    const cases = many(200, (nth) => ({ usd: 1 + (nth % 5) }))
    const lots = lotsOf(2)
    const [few, more] = [60, 240].map((usd) => drawCases(cases, { usd, cases: UNLIMITED }, lots)) as [
      ReturnType<typeof drawCases>,
      ReturnType<typeof drawCases>,
    ] // Two budgets are two draws.
    for (const [drawn, most] of [
      [few, 60],
      [more, 240],
    ] as const) {
      const usd = drawn.reduce((sum, { of }) => sum + of.usd, 0)
      expect(usd).toBeLessThanOrEqual(most)
      expect(usd).toBeGreaterThan(most - 6)
    }
    const ids = new Set(more.map(({ of }) => of.id))
    expect(few.filter(({ of }) => !ids.has(of.id))).toEqual([])
  })

  test('are among them for certain where nothing has to be asked', () => {
    const cases = many(100, (nth) => (nth < 30 ? { usd: 0, newQuestions: 0 } : {}))
    const drawn = drawCases(cases, { usd: UNLIMITED, cases: 10 }, lotsOf(3))
    expect(drawn.length).toBe(40)
    expect(drawn.filter(({ of }) => of.newQuestions === 0).every(({ chance }) => chance === 1)).toBe(true)
    expect(drawn.filter(({ of }) => of.newQuestions > 0).every(({ chance }) => chance < 0.5)).toBe(true)
  })

  test('come in proportion to their weights', () => {
    const cases = many(4_000, (nth) => ({ weight: nth % 2 === 0 ? 3 : 1 }))
    const drawn = drawCases(cases, { usd: UNLIMITED, cases: 800 }, lotsOf(4))
    const heavy = drawn.filter(({ of }) => of.weight === 3)
    expect(heavy.length / drawn.length).toBeCloseTo(0.75, 1)
    // Each stands for as many as there are.
    expect(heavy.reduce((sum, { chance }) => sum + 1 / chance, 0) / 2_000).toBeCloseTo(1, 1)
  })
})

describe('the interval of flips', () => {
  const [CASES, DRAWN, SEEDS] = [1_200, 300, 1_000]

  /** A quarter are near things, which flip five times as often; a fifth have no new question, and never flip. */
  const runOf = (rate: number, seed: number) => {
    const { unit } = seededRandom(`flips ${seed}`)
    const cases = many(CASES, (nth) => ({
      weight: nth % 4 === 0 ? 3 : 1,
      ...(nth % 5 === 0 ? { newQuestions: 0, usd: 0 } : {}),
    }))
    const rateOf = ({ weight, newQuestions }: PricedCase) =>
      newQuestions === 0 ? 0 : (weight === 3 ? 5 : 1) * (rate / 1.6)
    const isFlip = new Map(cases.map((one) => [one.id, unit() < rateOf(one)]))
    const drawn = drawCases(cases, { usd: UNLIMITED, cases: DRAWN }, lotsOf(seed))
    return weightedShare(drawn.map(({ of, chance }) => ({ weight: 1 / chance, isHit: isFlip.get(of.id) === true })))
  }

  test.each([0.005, 0.02, 0.1, 0.3])('covers a planted rate of %f, and is hardly wider than Wilson’s', (rate) => {
    let [covered, wider] = [0, 0]
    for (let seed = 0; seed < SEEDS; seed++) {
      const { share, interval, effective } = runOf(rate, seed)
      if (interval.low <= rate && rate <= interval.high) covered++
      const plain = wilson((share ?? 0) * effective, effective)
      if (plain === null || interval.high - interval.low > 1.3 * (plain.high - plain.low)) wider++
    }
    expect(covered / SEEDS).toBeGreaterThanOrEqual(0.935)
    expect(wider).toBe(0)
  })
})
