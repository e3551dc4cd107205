import { expect, it } from 'vitest'
import { wilson } from '../../src/lab/evaluation/statistics/intervals.ts'
import { type DrawRow, drawnRates, rateOf, weightedShare } from '../../src/record/drawn-rates.ts'

/** Mulberry32: 4,000 populations of 20,000 are too many for a better one. */
function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Drawn {
  readonly chance: number
  readonly isWrong: boolean
  readonly isDoubtful: boolean
  readonly label: 'a' | 'b'
  /** Below 1: the lower, the easier. */
  readonly hardness: number
}

const [DOUBTFUL, QUIET] = [10_000, 10_000]
/** The operator has the share raised in the middle. */
const CHANCES = [0.01, 0.025]
const RATE_OF_A = 0.9
const SEEDS = 1_000

/**
 * What is drawn of 10,000 doubtful verdicts and as many others, in the order in which they came. What is doubtful is wrong three times
 * as often as what is not, and of one label 0.9 times as often as of both.
 */
function drawnOf(rate: number, random: () => number): Drawn[] {
  const drawn: Drawn[] = []
  const all = DOUBTFUL + QUIET
  for (let nth = -1; ; ) {
    // The next that is drawn by this chance; past the middle it is another, and what comes is drawn anew.
    const chance = CHANCES[nth + 1 < all / 2 ? 0 : 1] ?? 0
    const next = nth + 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - chance))
    if (nth + 1 < all / 2 && next >= all / 2) {
      nth = all / 2 - 1
      continue
    }
    if (next >= all) return drawn
    nth = next
    const [isDoubtful, label] = [nth % 2 === 0, random() < 0.7 ? 'a' : 'b'] as const
    const isWrong =
      random() < rate * (isDoubtful ? 1.5 : 0.5) * (label === 'a' ? RATE_OF_A : (1 - 0.7 * RATE_OF_A) / 0.3)
    drawn.push({ chance, isWrong, isDoubtful, label, hardness: (random() + Number(isWrong)) / 2 })
  }
}

interface Person {
  /** Of all that waits they take first what has the lowest number here; never what has none. */
  readonly order: (one: Drawn, random: () => number) => number | null
  /** What they hand back for good when its turn comes. */
  readonly skips?: (one: Drawn, random: () => number) => boolean
}

const PEOPLE: Readonly<Record<string, Person>> = {
  'in any order': { order: (_, random) => random() },
  'easy ones first': { order: ({ hardness }) => hardness },
  'errors first': { order: ({ isWrong }, random) => random() - Number(isWrong) },
  'one label only': { order: ({ label }, random) => (label === 'a' ? random() : null) },
  'who skip some that are right': {
    order: (_, random) => random(),
    skips: ({ isWrong }, random) => !isWrong && random() < 0.02,
  },
  'who skip some that are wrong': {
    order: (_, random) => random(),
    skips: ({ isWrong }, random) => isWrong && random() < 0.1,
  },
}

/** What people know after a while: of what is doubtful the half that they like, and of what is drawn the oldest, by their turns. */
function reviewed(drawn: readonly Drawn[], { order, skips }: Person, random: () => number): (boolean | null)[] {
  const wanted = drawn.flatMap((one, at) => {
    const place = skips?.(one, random) === true ? null : order(one, random)
    return place === null ? [] : [{ at, one, place }]
  })
  const doubtful = wanted.filter(({ one }) => one.isDoubtful).toSorted((a, b) => a.place - b.place)
  const looked = [...doubtful.slice(0, doubtful.length / 2), ...wanted.slice(0, wanted.length * 0.6)]
  const known = new Set(looked.map(({ at }) => at))
  return drawn.map(({ isWrong }, at) => (known.has(at) ? isWrong : null))
}

const rowsOf = (drawn: readonly Drawn[], known: readonly (boolean | null)[]) =>
  drawn.map(({ chance, label }, at) => {
    const result = known[at] ?? null
    return { tenant: 't', chance, label, verdict: String(at), differs: result === null ? null : Number(result) }
  })

it.each([0.005, 0.02, 0.1, 0.3])(
  'the interval holds a planted rate of %f, whichever items people look at first, and is hardly wider than Wilson’s',
  (rate) => {
    const found = new Map<string, { held: number; width: number; wilsons: number; counted: number }>()
    for (let seed = 0; seed < SEEDS; seed++) {
      const random = randomOf(seed * 4 + 1)
      const drawn = drawnOf(rate, random)
      for (const [who, person] of Object.entries(PEOPLE)) {
        const rows = rowsOf(drawn, reviewed(drawn, person, random))
        const ofLabel = ['of it', rows.filter(({ label }) => label === 'a'), rate * RATE_OF_A] as const
        const cases = [[who, rows, rate] as const, ...(who === 'one label only' ? [ofLabel] : [])]
        for (const [name, own, wanted] of cases) {
          const { interval, effective, share, counted } = rateOf(own)
          const sum = found.get(name) ?? { held: 0, width: 0, wilsons: 0, counted: 0 }
          found.set(name, sum)
          sum.held += Number(interval.low <= wanted && wanted <= interval.high) / SEEDS
          sum.counted += counted / SEEDS
          const beside = wilson((share ?? 0) * effective, effective)
          if (beside === null) continue
          sum.width += interval.high - interval.low
          sum.wilsons += beside.high - beside.low
        }
      }
    }
    expect(found.size).toBe(7)
    for (const [name, { held, width, wilsons }] of found) {
      expect(held, name).toBeGreaterThanOrEqual(0.935)
      expect(width / wilsons, name).toBeLessThanOrEqual(1.3)
    }
    // It tells something: who looks at what they are given has most of the draws counted.
    expect(found.get('in any order')?.counted).toBeGreaterThan(150)
    expect(found.get('in any order')?.width).toBeLessThan(0.15 * SEEDS)
  },
  60_000,
)

it('the interval holds the rate of two tenants together, where people look at little of the worse one', () => {
  const [seeds, rates] = [400, [0.02, 0.1]]
  let [held, width] = [0, 0]
  for (let seed = 0; seed < seeds; seed++) {
    const random = randomOf(seed * 4 + 3)
    const rows = rates.flatMap((rate, tenant) => {
      const drawn = drawnOf(rate, random)
      const known = drawn.map(({ isWrong }, at) => (at < drawn.length * (tenant === 0 ? 1 : 0.3) ? isWrong : null))
      return rowsOf(drawn, known).map((row) => ({ ...row, tenant: String(tenant) }))
    })
    const { interval } = rateOf(rows)
    held += Number(interval.low <= 0.06 && 0.06 <= interval.high) / seeds
    width += (interval.high - interval.low) / seeds
  }
  expect(held).toBeGreaterThanOrEqual(0.935)
  expect(width).toBeLessThan(0.12)
})

it('a draw of one tenant that nobody has looked at holds up no other tenant', () => {
  const rows = ['a', 'b', 'b', 'a'].map((tenant, at) => ({
    tenant,
    verdict: String(at),
    chance: 0.5,
    differs: at === 0 ? null : at % 2,
  }))
  expect(rateOf(rows)).toMatchObject({ counted: 2, differing: 1, waiting: 1, ahead: 1, next: '0' })
})

it('draws count by the inverse of their chances, up to the first that nobody has looked at', () => {
  const row = (n: number, change: Partial<DrawRow> = {}): DrawRow => ({
    item: `rumor~p${n}~r`,
    tenant: 't',
    verdict: `rumor~p${n}~r1`,
    purpose: 'audit',
    protocol: 'rumor',
    lang: null,
    chance: 0.5,
    drawn_at: n,
    label: 'rumor',
    differs: 0,
    ...change,
  })
  const rows = [
    row(4, { differs: 1 }),
    row(3, { differs: null }),
    row(2, { label: null, differs: null }),
    row(1, { chance: 0.1, differs: 1 }),
    row(0),
    row(5, { differs: null, label: 'non-rumor' }),
    row(6, { purpose: 'control', lang: 'ko', differs: 1 }),
  ]
  const told = drawnRates(rows)
  expect(
    told.map(({ purpose, part, value, counted, differing, waiting, ahead, next }) => [
      `${purpose} ${part} ${value}`,
      counted,
      differing,
      waiting,
      ahead,
      next,
    ]),
  ).toEqual([
    ['audit all ', 2, 1, 2, 1, 'rumor~p3~r1'],
    ['audit label non-rumor', 0, 0, 1, 0, 'rumor~p5~r1'],
    ['audit label rumor', 2, 1, 1, 1, 'rumor~p3~r1'],
    ['audit language (none named)', 2, 1, 2, 1, 'rumor~p3~r1'],
    ['control all ', 1, 1, 0, 0, null],
    ['control label rumor', 1, 1, 0, 0, null],
    ['control language ko', 1, 1, 0, 0, null],
  ])
  // One in ten stands for ten, one in two for two.
  expect(told[0]?.share).toBeCloseTo(10 / 12, 12)
  expect(told[0]?.effective).toBeLessThan(2)
  expect(told[1]).toMatchObject({ share: null, interval: { low: 0, high: 1 }, effective: 0 })
})

it('equal chances give the exact interval of Clopper and Pearson', () => {
  // Their table for 3 of 20, and the rule of three's exact form for 0 of 60.
  const equal = (hits: number, n: number) =>
    weightedShare(Array.from({ length: n }, (_, at) => ({ weight: 100, isHit: at < hits })))
  expect(equal(0, 60).interval).toEqual({ low: 0, high: expect.closeTo(1 - 0.025 ** (1 / 60), 9) })
  expect(equal(60, 60).interval).toEqual({ low: expect.closeTo(0.025 ** (1 / 60), 9), high: 1 })
  const few = equal(3, 20)
  // The variance of a sample has one observation less.
  expect(few.effective).toBeCloseTo(19, 9)
  expect(few.interval.low).toBeGreaterThan(0.03)
  expect(few.interval.low).toBeLessThan(0.0321)
  expect(few.interval.high).toBeGreaterThan(0.3789)
  expect(few.interval.high).toBeLessThan(0.39)
})
