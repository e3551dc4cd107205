import { expect, test } from 'vitest'
import type { JournalEntry } from '../../../src/contracts/facts/case.ts'
import { noUsage, type Remark, type Ruling } from '../../../src/contracts/facts/verdict.ts'
import { faithfully } from '../../../src/judging/engine/conclude.ts'
import { T0 } from '../../contracts/samples.ts'

const ruling: Ruling = {
  label: 'good',
  scores: {},
  rationale: 'so',
  decidedBy: 'judge',
  rounds: 1,
  degraded: ['one thing'],
  faults: ['evidence'],
  evidence: { support: [], oppose: [], precedents: [] },
}
const entry = (model: string, remarks?: Remark[]): JournalEntry => ({
  stage: 'word',
  role: 'speaker',
  model,
  answer: 'so',
  raw: null,
  calls: [],
  usage: noUsage(),
  startedAt: T0,
  ms: 0,
  heldMs: 0,
  memo: false,
  ...(remarks === undefined ? {} : { remarks }),
})
const asked = ['a', 'b', 'c'].map((key) => ({ key }))

test("a paper's ruling names once for each model what its models were asked otherwise", () => {
  const journal = new Map([
    ['a', entry('m', ['temperature', 'thinking-room'])],
    ['b', entry('n', ['log-probabilities', 'tier'])],
    ['c', entry('m', ['temperature'])],
    ['not of this ruling', entry('o', ['temperature'])],
  ])
  expect(faithfully(ruling, asked, journal)).toEqual({
    ...ruling,
    degraded: [
      'one thing',
      'm took no temperature as the paper sets it',
      'm was given more room for its thoughts after an answer was cut off',
      'n gave no log-probabilities',
    ],
    faults: expect.arrayContaining(['evidence', 'model']),
  })
})

test("a paper's ruling is left as it is where its models were asked as it asks, on whatever tier", () => {
  const journal = new Map([
    ['a', entry('m', ['tier'])],
    ['b', entry('m')],
  ])
  expect(faithfully(ruling, asked, journal)).toBe(ruling)
})
