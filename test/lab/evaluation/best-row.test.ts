import { expect, it } from 'vitest'
import { bestRows, bestSays, partRows } from '../../../src/lab/evaluation/best-row.ts'
import { unjudged } from '../../../src/lab/evaluation/outcomes.ts'

/** A row that judges the first so many of forty items as people do, and the others not. */
const rowOf = (row: string, right: number, data = 'set') => ({
  row,
  data,
  labels: { accuracy: { value: right / 40, interval: null, why: null } },
  outcomes: Array.from({ length: 40 }, (_, at) => ({
    ...unjudged({ line: at, id: `p${at}`, unit: `p${at}`, slices: {}, label: 'hate' }),
    label: at < right ? 'hate' : 'non-hate',
  })),
})

it('the best row stands beside each other one, adjusted over all pairs: it was chosen on the same items', () => {
  const [best, ...others] = bestRows([rowOf('a', 30), rowOf('b', 40), rowOf('c', 39)], '1')
  expect(others).toEqual([])
  // Of ten and of nine differing items, and of one: Holm over these three, of which the best row has two.
  const [ten, nine, one] = [2 * 0.5 ** 10, 2 * 0.5 ** 9, 1]
  expect(best).toMatchObject({
    row: 'b',
    pairs: 3,
    against: [
      { row: 'a', items: 40, change: { value: 0.25 }, pValue: ten, adjusted: 3 * ten },
      { row: 'c', items: 40, change: { value: 1 - 39 / 40 }, pValue: one, adjusted: 1 },
    ],
  })
  expect(2 * nine).toBeGreaterThan(3 * ten)
  if (best === undefined) throw new Error('no row is best')
  expect(bestSays(best, false)).toBe(
    'b has the highest accuracy. It beats a, and is not shown to beat c (Holm, over all 3 pairs of rows).',
  )
})

it('equal rows are said to be equal, each data set has its own, and a row alone is compared with none', () => {
  const all = bestRows(
    [rowOf('a', 40), rowOf('b', 40), rowOf('a', 10, 'other'), rowOf('b', 40, 'other'), rowOf('a', 1, 'third')],
    '1',
  )
  expect(all.map((one) => bestSays(one, true))).toEqual([
    'set: a has the highest accuracy, and so has b.',
    'other: b has the highest accuracy. It beats a.',
  ])
})

it('five answers beside one count by their shares: neither row wins by how often it was asked', () => {
  const item = (at: number) => unjudged({ line: at, id: `p${at}`, unit: `p${at}`, slices: {}, label: 'hate' })
  const answers = (at: number, right: readonly boolean[]) =>
    right.map((is, nth) => ({
      ...item(at),
      label: is ? 'hate' : 'non-hate',
      ...(nth === 0 ? {} : { repeat: nth + 1 }),
    }))
  const rows = (once: number, ofFive: readonly number[]) => [
    { ...rowOf('once', once), outcomes: ofFive.flatMap((_, at) => answers(at, [at < once])) },
    {
      ...rowOf('five', 0),
      labels: { accuracy: { value: 0, interval: null, why: null } },
      outcomes: ofFive.flatMap((times, at) =>
        answers(
          at,
          [0, 1, 2, 3, 4].map((nth) => nth < times),
        ),
      ),
    },
  ]
  // One row is right on nine of ten items; the other on all ten, four times of five: it wins one item of ten, and four fifths of it.
  const [close] = bestRows(rows(9, Array<number>(10).fill(4)), '1')
  // Sums of nine differences of ±1 and one of ±4, in fifths, that are five or more from 0, of all 1,024.
  let extreme = 0
  for (let signs = 0; signs < 1024; signs++) {
    const sum = Array.from({ length: 10 }, (_, at) => (at < 9 ? 1 : 4) * (signs & (1 << at) ? 1 : -1)).reduce(
      (a, b) => a + b,
    )
    if (Math.abs(sum) >= 5) extreme++
  }
  expect(close?.against[0]).toMatchObject({ change: { value: expect.closeTo(0.1, 12) }, pValue: extreme / 1024 })
})

it('the protocol stands beside its rows without a part, adjusted over these alone', () => {
  const rows = [rowOf('hate', 40), rowOf('without a', 30), rowOf('without b', 39)]
  const [of, ...others] = partRows(rows, ({ row }) => row === 'hate', '1')
  expect(others).toEqual([])
  const ten = 2 * 0.5 ** 10
  expect(of).toMatchObject({ row: 'hate', pairs: 2 })
  expect(of?.against.map(({ row, pValue, adjusted }) => [row, pValue, adjusted])).toEqual([
    ['without a', ten, 2 * ten],
    ['without b', 1, 1],
  ])
  expect(partRows(rows.slice(1), ({ row }) => row === 'hate', '1')).toEqual([])
})
