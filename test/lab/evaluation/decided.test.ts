import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PROJECT } from '../../../config/load.ts'
import { noComments } from '../../../src/contracts/facts/verdict.ts'
import { dataSet } from '../../../src/lab/commands/eval/data-sets.ts'
import { debateEffects } from '../../../src/lab/evaluation/debate-effects.ts'
import { equalCoverage } from '../../../src/lab/evaluation/equal-coverage.ts'
import { cellOf, type DataSet, type Evaluation, type EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import { goldOf } from '../../../src/lab/evaluation/gold.ts'
import type { ItemOutcome } from '../../../src/lab/evaluation/outcomes.ts'
import { mainTable } from '../../../src/lab/evaluation/report/cells.ts'
import { dataSetOf, evaluated, kindOf, scratch, standIn } from '../../support/evaluating.ts'

const THREE = ['rumor', 'non-rumor', 'unverified']
const RUMOR = { name: 'rumor', labels: THREE }
const RUMOUREVAL = join(PROJECT, '..', 'shared', 'data', 'rumoureval2017', 'threads.jsonl')

type Judged = readonly [gold: string, label: string | null, before?: string | null]

function outcomes(judged: readonly Judged[]): ItemOutcome[] {
  return judged.map(([gold, label, before], at) => ({
    id: `t${at}`,
    unit: `t${at}`,
    slices: {},
    gold,
    label,
    scores: {},
    confidence: label === null ? null : 0.9,
    usage: { calls: 1, tokens: 100, costUsd: 0.001, sequence: 1 },
    ...(before === undefined
      ? {}
      : { debated: { why: 'contested', before, usage: { calls: 2, tokens: 50, costUsd: 0.01 } } }),
    rationale: '',
    degraded: [],
    comments: noComments(),
    heldOut: { own: 0, nearDuplicates: 0 },
    shelves: { searched: 0, bare: {} },
  }))
}

const data: DataSet = { name: 'threads', file: 'threads', format: 'gavel', items: [], leftOut: {}, unreadable: 0 }

function cell(name: string, judged: readonly Judged[]): EvaluationCell {
  const row = { name, how: { by: 'protocol' as const, switches: {} } }
  const input = { row, data, draws: null, outcomes: outcomes(judged), models: [], refused: 0, comments: 0 }
  return cellOf(input, THREE, '1')
}

describe('what an unverified verdict counts as', () => {
  const cells = [
    cell('rumor', [
      ['rumor', 'rumor'],
      ['rumor', 'unverified'],
      ['non-rumor', 'rumor'],
      ['non-rumor', null],
    ]),
    cell('zero-shot', [
      ['rumor', 'rumor'],
      ['rumor', 'rumor'],
      ['non-rumor', 'non-rumor'],
      ['non-rumor', 'non-rumor'],
    ]),
  ]

  it('is a label, and no decision: accuracy has coverage beside it, and confidence is of decisions', () => {
    const labels = cells[0]?.labels
    expect(labels).toMatchObject({ accuracy: { value: 1 / 4 }, coverage: 3 / 4, decided: 2 / 4 })
    expect(labels?.confidence?.items).toBe(2)
    // The mean over the labels that people gave: what nobody gave is no third of it.
    expect(labels?.macroF1.value).toBeCloseTo((1 / 2 + 0) / 2)
  })

  it('is compared with a baseline where the protocol decides', () => {
    const [own, baseline] = equalCoverage(cells, '1')
    expect(own).toMatchObject({ row: 'rumor', where: 'rumor', coverage: 1 / 2, items: 2, accuracy: { value: 1 / 2 } })
    expect(baseline).toMatchObject({ row: 'zero-shot', where: 'rumor', coverage: 1, items: 2, accuracy: { value: 1 } })
    // Only what the main table is made of.
    const whole = { table: cells, data: [data], equalCoverage: [own, baseline] } as unknown as Evaluation
    const { head, rows } = mainTable(whole, null)
    const at = head.indexOf('coverage')
    expect(head.slice(at, at + 2)).toEqual(['coverage', 'accuracy where rumor decides'])
    expect(rows.map((cells) => cells.slice(at, at + 2))).toEqual([
      ['50.0', '50.0'],
      ['100.0', '100.0'],
    ])
    expect(head).not.toContain('f1:unverified')
  })

  it('has the interval of the whole where all is decided', () => {
    const verdicts = Array.from({ length: 40 }, (_, at) => ['rumor', at % 3 === 0 ? 'non-rumor' : 'rumor'] as const)
    const rows = [cell('rumor', verdicts), cell('zero-shot', verdicts)]
    for (const { accuracy } of equalCoverage(rows, '1')) expect(accuracy).toEqual(rows[0]?.labels?.accuracy)
  })

  it('is right where people say so, too', () => {
    const three = cell('rumor', [
      ['unverified', 'unverified'],
      ['unverified', 'rumor'],
      ['rumor', 'rumor'],
    ])
    expect(three.labels).toMatchObject({ accuracy: { value: 2 / 3 }, decided: 2 / 3 })
    // Only what the main table is made of.
    expect(mainTable({ table: [three], data: [data] } as unknown as Evaluation, null).head).toContain('f1:unverified')
  })

  it('is neither repaired nor broken by a debate, and counts apart on either side of it', () => {
    const [all] = debateEffects(
      outcomes([
        ['rumor', 'rumor', 'non-rumor'],
        ['rumor', 'non-rumor', 'rumor'],
        ['rumor', 'unverified', 'rumor'],
        ['rumor', null, 'non-rumor'],
        ['rumor', 'rumor', null],
        ['rumor', null, null],
        ['rumor', 'rumor', 'unverified'],
        ['unverified', 'unverified', 'rumor'],
        ['rumor', 'rumor', 'rumor'],
        ['rumor', 'rumor'],
      ]),
    )
    expect(all).toEqual({
      cause: 'all',
      items: 9,
      repaired: 2,
      broken: 1,
      unchanged: { right: 1, wrong: 0 },
      undecided: { before: 3, after: 2 },
      usage: { calls: 18, tokens: 450, costUsd: expect.closeTo(0.09) },
      usdPerRepair: expect.closeTo(0.045),
    })
  })
})

describe('claims that people could not verify', () => {
  const threads = ['true', 'false', 'unverified'].map((veracity, at) => ({
    id: `c${at}`,
    claim: `claim ${at}`,
    veracity,
    n_comments: 0,
    comments: [],
  }))
  function file(): string {
    const path = join(scratch(), 'threads.jsonl')
    writeFileSync(path, threads.map((one) => `${JSON.stringify(one)}\n`).join(''))
    return path
  }

  it('are a third label of a protocol that has it, and of no other', async () => {
    const items = await goldOf(file(), 'covid19-rumor', RUMOR, () => {}, { unverified: 'unverified' })
    expect(items.map(({ label }) => label)).toEqual(['non-rumor', 'rumor', 'unverified'])
    const two = { name: 'rumor', labels: ['rumor', 'non-rumor'] }
    await expect(goldOf(file(), 'covid19-rumor', two, () => {}, { unverified: 'unverified' })).rejects.toThrow(
      'rumor has no label unverified under these settings.',
    )
  })

  it('are no class that a balanced sample lacks, where they are left out', async () => {
    const wanted = { file: file(), format: 'covid19-rumor' as const, name: 'threads', seed: '1', balanced: true }
    const { items } = await dataSet(wanted, RUMOR, () => {})
    expect(items.map(({ label }) => label).sort()).toEqual(['non-rumor', 'rumor'])
    const three = await dataSet({ ...wanted, unverified: 'unverified' }, RUMOR, () => {})
    expect(three.items.map(({ label }) => label).sort()).toEqual(['non-rumor', 'rumor', 'unverified'])
  })

  it('are no answer of a baseline, where people did not say so either', async () => {
    const rumor = kindOf('rumor')
    const kind: typeof rumor = { ...rumor, make: (parts) => ({ ...rumor.make(parts), labels: THREE }) }
    const model = standIn(() => ({}))
    const row = { name: 'zero-shot', how: { by: 'one-prompt' as const, ask: 'zero-shot' as const } }
    await evaluated('rumor', await dataSetOf(file(), 'covid19-rumor', 'rumor'), model, [row], { kind })
    const offered = model.shown.map(({ answer }) => JSON.stringify(answer.schema))
    expect(offered).toHaveLength(2)
    for (const form of offered) expect(form).toMatch(/"non-rumor"/)
    expect(offered.join()).not.toContain('unverified')
  })

  it.skipIf(!existsSync(RUMOUREVAL))('are gold of 48 of RumourEval’s threads', async () => {
    const items = await goldOf(RUMOUREVAL, 'rumoureval2017', RUMOR, () => {}, { unverified: 'unverified' })
    const claims = readFileSync(RUMOUREVAL, 'utf8').split('"veracity": "unverified"').length - 1
    expect(items.filter(({ label }) => label === 'unverified')).toHaveLength(48)
    expect(claims).toBe(48)
    expect(items).toHaveLength(155)
  })
})
