import { expect, it } from 'vitest'
import { decisionMessage } from '../../../src/contracts/facts/decision-messages.ts'
import { decisionOf } from '../../../src/judging/engine/decision-verdict.ts'

const SAID = {
  subjectId: 'p',
  tenant: 'default',
  protocol: 'rumor',
  label: 'rumor',
  against: 1,
  by: 'ann',
  why: 'By its words.',
  at: '2026-03-01T00:00:00Z',
}
const sameOf = (more: object, offset = '17') =>
  decisionOf(
    decisionMessage.parse({ ...SAID, ...more }),
    { partition: 0, offset, timestamp: 0 },
    { tenant: 'default', postId: 'p', kind: 'post' },
  ).same

it('a decision is a repeat of one at another place that says the same', () => {
  expect(sameOf({ appeals: ['a'] }, '18')).toBe(sameOf({ appeals: ['a'] }))
  expect(sameOf({ why: 'In other words.' })).toBe(sameOf({}))
})

it.each([
  { at: '2026-03-01T00:00:01Z' },
  { label: 'non-rumor' },
  { appeals: ['a'] },
  { appeals: ['a', 'b'] },
  { appeals: ['a'], measure: 'lift' },
  { measure: 'lift' },
  { clauses: [{ id: '1' }] },
])('a decision of the same moment is no repeat where it says other than %o', (more) => {
  const others = [{}, { appeals: ['b'] }, { appeals: ['a'], measure: 'lessen' }]
  for (const other of others) expect(sameOf(more)).not.toBe(sameOf(other))
})
