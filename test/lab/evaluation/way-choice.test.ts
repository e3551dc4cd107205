import { describe, expect, test } from 'vitest'
import type { EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import { choiceTable } from '../../../src/lab/evaluation/report/choice-table.ts'
import { choiceSays, wayChoice } from '../../../src/lab/evaluation/way-choice.ts'

/** What a row says of an item: right, wrong, or nothing that decides. */
type Said = 'right' | 'wrong' | 'unverified'

function cell(row: string, count: number, said: (at: number) => Said, golds = ['a', 'b']): EvaluationCell {
  const outcomes = Array.from({ length: count }, (_, at) => {
    const gold = golds[at % golds.length] as string
    const how = said(at)
    const label = how === 'unverified' ? how : how === 'right' ? gold : gold === 'a' ? 'b' : 'a'
    return { id: `${at}`, unit: `${at}`, gold, label }
  })
  const labels = { confusion: { labels: ['a', 'b', 'unverified'] } }
  // What the choice reads of a cell of the tables, which holds each answer.
  return { row, data: 'd', labels, perItem: { costUsd: 0.001 }, outcomes } as unknown as EvaluationCell // a choice reads these fields alone
}

const WAYS = ['cheap', 'dear']
const chosen = (...cells: EvaluationCell[]) => wayChoice(cells, WAYS, '1')

describe('the choice among ways', () => {
  const right = () => 'right' as const

  test('is open on 30 items that no way tells apart, and the cheapest on 60', () => {
    const few = chosen(cell('cheap', 30, right), cell('dear', 30, right))
    expect(few).toMatchObject({ chosen: null, open: 'cheap', items: { decided: 30, compared: 30, unverified: 0 } })
    // Agresti and Min's interval of 15 and 15 items: 0.8416 × √2 / 17 / 2.
    expect(few?.ways[0]?.against[0]?.low).toBeCloseTo(-0.035, 3)
    const more = chosen(cell('cheap', 60, right), cell('dear', 60, right))
    expect(more).toMatchObject({ chosen: 'cheap', open: null })
    expect(more?.ways[0]?.against[0]?.low).toBeCloseTo(-0.0186, 3)
  })

  test('goes past a way that is shown to be worse, whatever another lacks', () => {
    const bad = cell('cheap', 60, (at) => (at % 3 === 0 ? 'wrong' : 'right'))
    const choice = chosen(bad, cell('dear', 60, right))
    expect(choice).toMatchObject({ chosen: 'dear', open: null, ways: [{ is: 'worse' }, { is: 'as-good' }] })
    expect(choice && choiceSays(choice, false)).toMatch(/the default is dear, on 60 items/)
  })

  test('stays open where a cheap way is a little behind', () => {
    const behind = cell('cheap', 60, (at) => (at < 2 ? 'wrong' : 'right'))
    expect(chosen(behind, cell('dear', 60, right))).toMatchObject({ chosen: null, open: 'cheap' })
  })

  test('compares each judging of an item that is judged several times', () => {
    const twice = (one: EvaluationCell, second: EvaluationCell): EvaluationCell => {
      const again = second.outcomes.map((outcome) => ({ ...outcome, repeat: 2 }))
      return { ...one, outcomes: [...one.outcomes, ...again] }
    }
    const withholds = () => 'unverified' as const
    const cheap = twice(cell('cheap', 60, right), cell('cheap', 60, withholds))
    const choice = chosen(cheap, twice(cell('dear', 60, right), cell('dear', 60, right)))
    expect(choice?.items).toEqual({ decided: 120, compared: 60, unverified: 0 })
    expect(choice?.ways.map(({ decided, macroF1 }) => [decided, macroF1])).toEqual([
      [60, 1],
      [120, 1],
    ])
  })

  test('is made where every way decides, and counts the rest apart', () => {
    const golds = ['a', 'b', 'unverified']
    const withholds = cell('cheap', 90, (at) => (at % 3 === 2 || at < 30 ? 'unverified' : 'right'), golds)
    const errs = cell('dear', 90, (at) => (at < 30 ? 'wrong' : 'right'), golds)
    const choice = chosen(withholds, errs)
    expect(choice?.items).toEqual({ decided: 60, compared: 40, unverified: 30 })
    expect(choice?.ways.map(({ decided, calledUnverified, macroF1 }) => [decided, calledUnverified, macroF1])).toEqual([
      [40, 30, 1],
      [60, 20, 1],
    ])
    expect(choiceTable({ choices: choice === null ? [] : [choice] })?.rows[0]?.slice(0, 4)).toEqual([
      'cheap',
      '40 of 60',
      '30 of 30',
      '100.0',
    ])
  })

  test('is none where a way was not judged', () => {
    expect(chosen(cell('dear', 60, right))).toBeNull()
  })
})
