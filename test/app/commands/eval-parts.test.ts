import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { positiveWhole } from '../../../src/cli/options.ts'
import { withStepsHeader } from '../../../src/contracts/facts/steps.ts'
import { comparedWith, readBaseline } from '../../../src/lab/commands/eval/earlier-evaluation.ts'
import { dataNames } from '../../../src/lab/commands/eval/eval.ts'
import { paperTable } from '../../../src/lab/commands/eval/tables.ts'
import { cellOf, type DataSet, type Evaluation, type EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import { unjudged } from '../../../src/lab/evaluation/outcomes.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-eval-parts-'))
afterAll(() => rmSync(folder, { recursive: true }))

const item = (id: string, label: string | null) => ({ line: 1, id, label, unit: id, slices: {} })
const setOf = (items: readonly ReturnType<typeof item>[]): DataSet => ({
  name: 'a.jsonl',
  file: 'a.jsonl',
  format: 'gavel',
  items,
  leftOut: {},
  unreadable: 0,
})
const SET = setOf([item('p1', 'hate'), item('p2', 'non-hate')])
function cell(name: string, set: DataSet): EvaluationCell {
  const outcomes = set.items.map(unjudged)
  const row = { name, how: { by: 'protocol' as const, switches: {} } }
  const input = { row, data: set, draws: null, outcomes, models: [], refused: 0, comments: 0 }
  return cellOf(input, ['hate', 'non-hate'], '1')
}
function baselineOf(table: readonly object[], over = {}): string {
  const file = join(folder, 'baseline.json')
  writeFileSync(file, JSON.stringify({ schema: 1, protocol: 'hate', table, ...over }))
  return file
}
const read = (file: string, set = SET) => readBaseline(file, 'hate', [set])

describe('an earlier result', () => {
  it.each([
    ['counts that are none', [{ ...cell('hate', SET), counts: {} }]],
    ['a cell without a reason', [{ ...cell('hate', SET), why: undefined }]],
    ['outcomes without comments', [{ ...cell('hate', SET), outcomes: [{ id: 'p1' }] }]],
  ])('is refused in one line with %s', async (_, table) => {
    await expect(read(baselineOf(table))).rejects.toThrow('is no result of "gavel eval --json"')
  })

  it('is refused where it has none of the labelled items: nothing can have changed of nothing', async () => {
    const file = baselineOf([cell('hate', setOf([item('x', 'hate')]))])
    await expect(read(file)).rejects.toThrow('has no labelled item of a.jsonl in common with this run')
    const rated = setOf([item('p1', null)])
    await expect(read(baselineOf([cell('hate', rated)]), rated)).rejects.toThrow('accuracy, and not ratings')
    await expect(read(baselineOf([]))).rejects.toThrow('has none of these data sets: a.jsonl')
    await expect(readBaseline(baselineOf([]), 'rumor', [SET])).rejects.toThrow('is for the protocol hate')
  })

  it('is compared with the same row alone', async () => {
    const baseline = await read(baselineOf([cell('hate', SET)]))
    const now = (row: string) => ({ data: [{ name: 'a.jsonl' }], seed: '1', table: [cell(row, SET)] }) as unknown
    expect(comparedWith(baseline, now('hate') as Evaluation, 0.03)).toEqual([
      { data: 'a.jsonl', comparison: expect.objectContaining({ alarm: false, shown: [] }) },
    ])
    expect(() => comparedWith(baseline, now('zero-shot') as Evaluation, 0.03)).toThrow('On a.jsonl the first row of')
  })
})

describe('the names of data sets', () => {
  const given = (...files: string[]) => files.map((file) => ({ given: { file, format: 'gavel' as const } }))

  it('are the files’, with their folders where two are the same', () => {
    expect(dataNames(given('x/one.jsonl', 'y/two.jsonl'))).toEqual(['one.jsonl', 'two.jsonl'])
    expect(dataNames(given('x/test.jsonl', 'y/test.jsonl'))).toEqual(['x/test.jsonl', 'y/test.jsonl'])
  })

  it('are never the same: a file twice, or two of one of a paper’s', () => {
    expect(() => dataNames(given('x/test.jsonl', 'x/test.jsonl'))).toThrow('would have the name x/test.jsonl')
    const [one] = given('k1.tsv')
    const kold = { ...one, name: 'KOLD' } as Parameters<typeof dataNames>[0][number]
    expect(() => dataNames([kold, kold])).toThrow('would have the name KOLD')
  })
})

it('takes whole numbers of items', () => {
  expect(positiveWhole('20')).toBe(20)
  for (const text of ['0.5', '0', '-1', '1e400', 'x', '']) expect(() => positiveWhole(text)).toThrow('whole number')
})

describe('a row of Auto-CSEval', () => {
  const rowsWith = (models: Readonly<Record<string, string | null>>) => {
    const steps = mkdtempSync(join(folder, 'steps-'))
    for (const [aspect, model] of Object.entries(models)) {
      const scale = aspect === 'suitableness' ? '1 to 3' : '1 to 5'
      const header = [['aspect', aspect] as const, ['scale', scale] as const, ['model', model ?? ''] as const]
      const file = model === null ? '1. Look.' : withStepsHeader(header, '1. Look.')
      writeFileSync(join(steps, `${aspect}.md`), file)
    }
    const settings = loadSettings({ GAVEL_PROTOCOLS_COUNTERSPEECH_STEPS_FOR: steps })
    const [part] = paperTable(settings, 'cseval-table-1', [{ file: 'f', format: 'gavel' }], {
      standIns: { of: new Map() },
      only: undefined,
    }).parts
    const whyOf = (row: string) => {
      const how = part?.rows.find(({ name }) => name === row)?.how
      return how?.by === 'nothing' ? how.why : how?.by
    }
    return { llama: whyOf('Llama3 (Auto-CSEval)'), gpt: whyOf('GPT-4 (Auto-CSEval)'), other: whyOf('GPT-4 (G-EVAL)') }
  }
  const four = (model: string) => ({ relevance: model, aggressiveness: model, coherence: model, suitableness: model })

  it('is judged where all its steps were calibrated for its model, and for another model says so', () => {
    const llama = 'its steps were found for gpt-4, and llama-3 scores'
    expect(rowsWith(four('gpt-4'))).toEqual({ llama, gpt: 'protocol', other: 'protocol' })
    expect(rowsWith(four('gpt-4-0613')).gpt).toBe('protocol')
    expect(rowsWith({ ...four('gpt-4'), coherence: 'llama-3' }).gpt).toBe(
      'its steps were found for llama-3, and gpt-4 scores',
    )
  })

  it('is judged by nothing, and says why, where steps of an aspect are missing or somebody’s own', () => {
    const { suitableness: _, ...three } = four('gpt-4')
    expect(rowsWith(three).gpt).toBe('no calibrated steps: suitableness (gavel calibrate)')
    expect(rowsWith({ ...four('gpt-4'), relevance: null }).gpt).toBe('no calibrated steps: relevance (gavel calibrate)')
  })
})
