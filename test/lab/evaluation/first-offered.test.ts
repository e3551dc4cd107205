import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../src/contracts/ports/model.ts'
import type { EvaluationCell } from '../../../src/lab/evaluation/evaluation.ts'
import type { RowPlan } from '../../../src/lab/evaluation/rows.ts'
import { EVERY_DEBATE } from '../../protocols/drive.ts'
import { dataSetOf, evaluated, rowBy, scratch, standIn } from '../../support/evaluating.ts'

// Small models take what is offered first. The slice "first in the form" shows of any model whether it does.

const ITEMS = 24
const ZERO: RowPlan = { name: 'zero-shot', how: { by: 'one-prompt', ask: 'zero-shot' } }

function fileOf(label: string): string {
  const file = join(scratch(), 'file.jsonl')
  const lines = Array.from({ length: ITEMS }, (_, nth) => ({
    type: 'post',
    id: `p${nth}`,
    text: `text ${nth}`,
    createdAt: '2025-01-01T12:00:00Z',
    label,
  }))
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  return file
}

/** The labels, or the answers, that a form offers, in its order. */
function offered({ answer }: ModelRequest): readonly string[] {
  const { properties } = answer.schema as { properties: Record<string, { enum?: string[] }> }
  return properties.label?.enum ?? properties.answer?.enum ?? []
}

/** A model that takes what comes first. */
const taking = () =>
  standIn((request) => {
    const [first] = offered(request)
    if (first === undefined) return {}
    return 'rule' in (request.answer.schema as { properties: object }).properties
      ? { label: first, rule: first === 'unsafe' ? 'confirmation' : 'default-safe' }
      : { label: first, answer: first }
  })

describe('the slice of what comes first in the form', () => {
  it.each([
    ['hate', 'hate', ['hate', 'non-hate']],
    ['safety', 'safe', ['safe', 'unsafe']],
    ['rumor', 'rumor', ['Fake', 'Real']],
  ] as const)('is what the last form of %s offers first, of each half of the items one', async (name, gold, labels) => {
    const cells = await evaluated(name, await dataSetOf(fileOf(gold), 'gavel', name), taking(), [
      rowBy(name, EVERY_DEBATE[name]),
    ])
    const { outcomes } = cells[0] as EvaluationCell
    const firsts = outcomes.map(({ slices }) => slices['first in the form'])
    expect(outcomes).toHaveLength(ITEMS)
    expect(new Set(firsts)).toEqual(new Set(labels))
    for (const label of labels) expect(firsts.filter((first) => first === label).length).toBeGreaterThan(3)
    // Of a model that takes what comes first the slice tells all.
    const meant: Record<string, string> = { Fake: 'rumor', Real: 'non-rumor' }
    for (const { label, slices } of outcomes) {
      const first = slices['first in the form'] ?? ''
      expect(label).toBe(meant[first] ?? first)
    }
  })

  it('is there for a baseline too', async () => {
    const cells = await evaluated('hate', await dataSetOf(fileOf('hate'), 'gavel', 'hate'), taking(), [ZERO])
    for (const { label, slices } of (cells[0] as EvaluationCell).outcomes)
      expect(slices['first in the form']).toBe(label)
  })
})
