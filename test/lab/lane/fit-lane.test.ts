import { expect, it } from 'vitest'
import { fitLane } from '../../../src/lab/lane/fit-lane.ts'
import { certified, fewestItems, tail, upperBound } from '../../../src/lab/lane/threshold-test.ts'
import { calibrated, calibrationMap } from '../../../src/protocols/calibration-map.ts'
import { isBroken, plantedItems } from './planted-decider.ts'

// Values of scipy.stats.binom.cdf and beta.ppf.
it('takes the exact binomial tail, and its bound', () => {
  expect(tail({ items: 200, errors: 3 }, 0.05)).toBeCloseTo(0.0090483764, 9)
  expect(tail({ items: 3_000, errors: 10 }, 0.01)).toBeCloseTo(0.0000208658, 9)
  expect(tail({ items: 0, errors: 0 }, 0.05)).toBe(1)
  // Neither end is lost: far above the risk it is 1, far below it is small, and not 0.
  expect(tail({ items: 20_000, errors: 10_000 }, 0.01)).toBeCloseTo(1, 9)
  expect(tail({ items: 20_000, errors: 200 }, 0.01)).toBeCloseTo(0.5187945470318356, 9)
  expect(tail({ items: 20_000, errors: 0 }, 0.01) / 0.99 ** 20_000).toBeCloseTo(1, 6)
  expect(upperBound({ items: 85, errors: 0 }, 0.0125)).toBeCloseTo(1 - 0.0125 ** (1 / 85), 9)
  expect(upperBound({ items: 3, errors: 3 }, 0.05)).toBe(1)
  expect(tail({ items: fewestItems(0.05, 0.05), errors: 0 }, 0.05)).toBeLessThanOrEqual(0.05)
  expect(tail({ items: fewestItems(0.05, 0.05) - 1, errors: 0 }, 0.05)).toBeGreaterThan(0.05)
})

it('goes from the candidate that promises most to looser ones until one fails, and never over it', () => {
  const settled = (...errors: readonly number[]) => errors.map((one, at) => ({ items: 100 * (at + 1), errors: one }))
  const promise = { risk: 0.05, delta: 0.05 }
  expect(certified(settled(0, 3, 30, 5), settled(0, 2, 40, 80), promise).last).toBe(1)
  // What was planned says where to begin, whatever is tested.
  expect(certified(settled(9, 3, 4, 80), settled(9, 9, 2, 80), promise).last).toBe(2)
  expect(certified(settled(0, 0, 30, 80), settled(9, 9, 2, 80), promise)).toEqual({ first: 2, last: null })
  // Where so few are settled that no promise could be shown, nothing is begun, whatever is wrong of them.
  const few = [
    { items: 47, errors: 3 },
    { items: 94, errors: 0 },
  ]
  const planned = [
    { items: 23, errors: 0 },
    { items: 47, errors: 1 },
  ]
  expect(certified(few, planned, promise)).toEqual({ first: 1, last: 1 })
})

it('calibrates by steps where there are many answers, by a curve where there are few, and never falls', () => {
  const answers = Array.from({ length: 400 }, (_, at) => ({
    confidence: (at % 10) / 10,
    right: at % 10 === 7 ? at % 20 === 7 : (at * 7) % 10 <= at % 10,
  }))
  const many = calibrationMap(answers)
  const few = calibrationMap(answers.slice(0, 60))
  expect([many.method, few.method]).toEqual(['isotonic', 'platt'])
  for (const map of [many, few]) {
    const worth = Array.from({ length: 101 }, (_, at) => calibrated(map, at / 100))
    expect(worth).toEqual(worth.toSorted((one, other) => one - other))
    expect(worth.every((one) => one >= 0 && one <= 1)).toBe(true)
  }
  // Right the more often, the less sure: no order to decide by.
  const turned = calibrationMap(answers.slice(0, 100).map((one) => ({ ...one, right: one.confidence < 0.5 })))
  expect(calibrated(turned, 0.9)).toBe(calibrated(turned, 0.1))
  expect(calibrated(calibrationMap([]), 0.9)).toBeCloseTo(0.5)
})

it('pools adjacent violators as isotonic regression does', () => {
  const shares = [1, 3, 2, 4, 4, 3, 8, 9]
  const answers = shares.flatMap((of, step) =>
    Array.from({ length: 30 }, (_, at) => ({ confidence: step / 10, right: at < 3 * of })),
  )
  // sklearn.isotonic.IsotonicRegression
  expect(shares.map((_, step) => calibrated(calibrationMap(answers), step / 10))).toEqual(
    [0.1, 0.25, 0.25, 11 / 30, 11 / 30, 11 / 30, 0.8, 0.9].map((one) => expect.closeTo(one, 10)),
  )
})

/** A short form of `npm run proof -- proofs/lane.proof`, which has a thousand. */
it.each(['ordinary', 'never good enough'] as const)(
  'breaks its promise in few fits of a decider that is %s',
  (kind) => {
    const promise = { risk: 0.05, delta: 0.05, coverage: 0.1 }
    const fits = Array.from({ length: 100 }, (_, seed) =>
      fitLane(plantedItems(kind, 0.05, { seed, count: 1_500 }), promise, seed),
    )
    expect(fits.filter((fit) => isBroken(kind, fit)).length).toBeLessThanOrEqual(8)
    expect(fits[0]).toMatchObject({ independent: 1_500, calibrating: 500, tested: 1_000, among: 4 })
  },
)

it('says of each group how many of its tested answers are wrong', () => {
  const items = Array.from({ length: 90 }, (_, at) => ({
    id: `i${at}`,
    keys: [`id i${at}`],
    lang: 'en',
    gold: 'hate',
    said: { label: at % 2 === 0 ? 'hate' : 'non-hate', confidence: 0.5 + (at % 5) / 10 },
  }))
  const { tested, groups } = fitLane(items, { risk: 0.05, delta: 0.05, coverage: 0.1 }, 1)
  const [hate, other] = groups
  expect(hate).toMatchObject({ label: 'hate', wrong: 0 })
  expect(other).toMatchObject({ label: 'non-hate', wrong: other?.tested })
  expect((hate?.tested ?? 0) + (other?.tested ?? 0)).toBe(tested)
})

it('says of a group that is refused what its test found, which breaks the promise', () => {
  const promise = { risk: 0.05, delta: 0.05, coverage: 0.1 }
  const fits = Array.from({ length: 40 }, (_, seed) =>
    fitLane(plantedItems('ordinary', 0.05, { seed, count: 600 }), promise, seed),
  )
  const bounds = fits.flatMap(({ groups }) => groups.flatMap(({ why }) => why?.match(/up to ([\d.]+) %/)?.[1] ?? []))
  expect(bounds.length).toBeGreaterThan(10)
  expect(bounds.filter((bound) => Number(bound) < 5)).toEqual([])
})

it('promises nothing of answers that are wrong about what is repeated, though each distinct text counts once', () => {
  const distinct = Array.from({ length: 600 }, (_, at) => ({
    id: `i${at}`,
    keys: [`id i${at}`, `words ${at}`],
    lang: 'en',
    gold: 'hate',
    said: { label: 'hate', confidence: 0.99 },
  }))
  // One wrong text, which is a tenth of all that is said.
  const copies = Array.from({ length: 66 }, (_, at) => ({
    id: `copy ${at}`,
    keys: [`id copy ${at}`, 'words of a campaign'],
    lang: 'en',
    gold: 'non-hate',
    said: { label: 'hate', confidence: 0.99 },
  }))
  const promise = { risk: 0.05, delta: 0.05, coverage: 0.1 }
  expect(fitLane(distinct, promise, 1).accepted).toBe(true)
  const fits = Array.from({ length: 60 }, (_, seed) => fitLane([...distinct, ...copies], promise, seed))
  for (const { accepted, independent, groups } of fits) {
    expect([accepted, independent]).toEqual([false, 601])
    expect(groups.map(({ why }) => why)).toEqual([
      'its answers can be promised of distinct texts alone: with copies counted 66 of 666 are wrong, and 5 % was to be promised',
    ])
  }
  // It is tested as often as any other text: in two thirds of fits.
  const tested = fits.filter(({ groups }) => groups[0]?.wrong === 1).length
  expect([tested > 30, tested < 50]).toEqual([true, true])
})
