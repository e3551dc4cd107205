import { describe, expect, test } from 'vitest'
import { costCurve, curveSays } from '../../../src/lab/evaluation/cost-curve.ts'
import type { EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import { matchedRecallInterval } from '../../../src/lab/evaluation/statistics/matched-recall.ts'
import { agreementOfVoices } from '../../../src/lab/evaluation/voices.ts'
import { plantedCells, RIGHT_ROW, sidesOf } from '../../support/planted-curve.ts'

describe('before a planted model', () => {
  const { cells, items } = plantedCells('1', 400)
  const rowOf = (name: string) => cells.find(({ row }) => row === name) as EvaluationCell
  const labels = (name: string) => rowOf(name).outcomes.map(({ label }) => label)

  test('the curve of 400 items names the right row, and that of 40 says that they are too few', () => {
    const curve = costCurve(cells, '1')
    expect(curve?.cheapest).toBe(RIGHT_ROW)
    expect(curve && curveSays(curve, false)).toMatch(
      /^The cheapest row as good as the best \(hate\) is no debate where all perspectives agree: 0\.0 points of macro-F1 \[-\d\.\d, \d\.\d\], a lower bound above −2\.0, for \d\d % of its cost\.$/,
    )
    const few = costCurve(plantedCells('1', 40).cells, '1')
    expect(few).toMatchObject({ cheapest: null, more: { items: expect.any(Number) } })
    expect(few && curveSays(few, true)).toMatch(/^planted: Too few items to name .*: about \d+ more would show that /)
  })

  test('each switch changes labels only where its text says', () => {
    const [whole, agreed, together] = ['hate', RIGHT_ROW, 'perspectives in one call'].map(labels)
    for (const [at, item] of items.entries()) {
      const sides = sidesOf(item, false)
      const unanimous = new Set(sides).size === 1
      // No debate where all agree: elsewhere the debate's own label, and there that of all.
      expect(agreed?.[at]).toBe(unanimous ? sides[0] : whole?.[at])
      // In one call: another label only where one of them was moved by the others.
      if (together?.[at] !== whole?.[at]) expect(sidesOf(item, true)).not.toEqual(sides)
    }
    expect(together).not.toEqual(whole)
    expect(rowOf(RIGHT_ROW).perItem.calls).toBeLessThan(rowOf('hate').perItem.calls)
    expect(rowOf('thrifty').perItem).toMatchObject({ calls: 1, sequence: 1 })
    expect(rowOf('hate').perItem).toMatchObject({ calls: 8, sequence: 6 })
  })
})

describe('a cost curve', () => {
  const cell = (row: string, costUsd: number, right: (at: number) => boolean, count = 200): EvaluationCell => {
    const outcomes = Array.from({ length: count }, (_, at) => {
      const gold = at % 2 === 0 ? 'a' : 'b'
      return { id: `${at}`, unit: `${at}`, gold, label: right(at) ? gold : gold === 'a' ? 'b' : 'a' }
    })
    const value = outcomes.filter(({ gold, label }) => gold === label).length / count
    const labels = { macroF1: { value }, confusion: { labels: ['a', 'b'] } }
    const perItem = { calls: 1, tokens: 1, sequence: 1, costUsd }
    // What the curve reads of a cell of the tables, which holds each answer.
    return { row, data: 'd', labels, perItem, outcomes, counts: { items: count } } as unknown as EvaluationCell
  }

  test('names the best where every cheaper row is shown to be worse', () => {
    const curve = costCurve([cell('best', 2, () => true), cell('bad', 1, (at) => at % 3 > 0)], '1')
    expect(curve?.rows.map(({ row, is }) => [row, is])).toEqual([
      ['bad', 'worse'],
      ['best', 'best'],
    ])
    expect(curve && curveSays(curve, false)).toBe('No cheaper row is as good as the best, best.')
  })

  test('does not name a row that cannot be told from the best, nor one that is as good and dearer', () => {
    const curve = costCurve(
      [cell('best', 2, () => true), cell('near', 1, (at) => at > 4), cell('dear', 3, () => true)],
      '1',
    )
    expect(curve).toMatchObject({ cheapest: null, more: { row: null } })
    expect(curve?.rows.map(({ is }) => is)).toEqual(['open', 'best', 'as-good'])
    const alike = costCurve([cell('best', 2, () => true, 60), cell('alike', 1, (at) => at > 0, 60)], '1')
    expect(alike).toMatchObject({ cheapest: null, more: { row: 'alike' } })
  })

  test('goes by tokens where nothing has a price, and is none without two rows', () => {
    const free = [
      cell('one', 0, () => true),
      { ...cell('two', 0, () => true), perItem: { calls: 1, tokens: 9, sequence: 1, costUsd: 0 } },
    ]
    expect(costCurve(free, '1')?.rows.map(({ row }) => row)).toEqual(['one', 'two'])
    expect(costCurve(free.slice(1), '1')).toBeNull()
  })

  test('says nothing where fewer than twenty units were sampled', () => {
    const few = [cell('best', 2, () => true, 18), cell('alike', 1, () => true, 18)]
    expect(costCurve(few, '1')?.rows[0]).toMatchObject({ low: -1, high: 1, is: 'open' })
    expect(costCurve(few, '1')?.cheapest).toBeNull()
  })
})

test('where no item tells two judges apart, the interval is as wide as so few items leave it', () => {
  const of = (items: number) =>
    matchedRecallInterval(
      [1, 2].map(() => ({ items, onlyFirst: 0, onlySecond: 0 })),
      0.025,
    )
  expect(of(20).low).toBeCloseTo((-1.96 * Math.SQRT2) / 22 / 2, 3)
  expect(of(200).low).toBeGreaterThan(-0.02)
  expect(of(20).low).toBeLessThan(-0.02)
  // One class, 10 and 4 of 98: (4.5 − 10.5) / 100, deviation √(15 − 0.36) / 100.
  const { low, high } = matchedRecallInterval([{ items: 98, onlyFirst: 10, onlySecond: 4 }], 0.025)
  expect([low, high]).toEqual([expect.closeTo(-0.06 - 1.96 * 0.03826, 4), expect.closeTo(-0.06 + 1.96 * 0.03826, 4)])
})

test('the agreement of voices is over the items on which both spoke', () => {
  // Agreement is counted over the outcomes alone.
  const cell = (...said: (Record<string, string> | undefined)[]) =>
    ({ outcomes: said.map((voices, at) => ({ id: `${at}`, voices })) }) as unknown as EvaluationCell
  const alone = cell({ un: 'yes', eu: 'no' }, { un: 'yes' }, undefined, { un: 'no' })
  const together = cell({ un: 'yes', eu: 'yes' }, { un: 'no', eu: 'no' }, { un: 'yes' }, undefined)
  expect(agreementOfVoices(together, alone)).toEqual([
    { name: 'un', same: 1, of: 2 },
    { name: 'eu', same: 0, of: 1 },
  ])
})
