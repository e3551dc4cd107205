import { expect, test } from 'vitest'
import { noComments, type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import { doorBreaches } from './door.ts'
import type { TopicRecord } from './reader.ts'

const AT = '2025-03-01T00:00:00.000Z'
const NOW = Date.parse(AT)

const record = (value: object, timestamp = NOW): TopicRecord => ({
  partition: 0,
  offset: '0',
  timestamp,
  value: JSON.stringify(value),
  headers: {},
})
function verdictOf(subjectId: string, revision = 1, change: object = {}): Verdict {
  return verdict.parse({
    schema: 1,
    id: `rumor~${subjectId}~r${revision}`,
    subjectId,
    tenant: 'default',
    protocol: 'rumor',
    revision,
    final: true,
    supersedes: null,
    label: 'rumor',
    scores: {},
    rationale: '',
    decidedBy: 'judge',
    rounds: 1,
    evidence: { support: [], oppose: [], precedents: [] },
    degraded: [],
    faults: [],
    counts: noComments(),
    usage: { calls: 1, memoHits: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, costUsd: 0 },
    models: {},
    versions: { script: 1, prompts: 'p', settings: 's' },
    timing: { createdAt: AT, receivedAt: AT, openedAt: AT, decidedAt: AT, modelMs: 0, overheadMs: 0 },
    ...change,
  })
}
const taken = (...all: readonly Verdict[]) => new Map(all.map((one) => [one.id, one]))
const [first, second] = [verdictOf('doored-1'), verdictOf('doored-1', 2)]
const GOOD = {
  acknowledged: ['doored-1'],
  posts: [record({ id: 'doored-1' })],
  verdicts: [record(first), record(second)],
  taken: taken(first, second),
  lost: [],
}

test('what was acknowledged and judged, and brought in order, is no breach', () => {
  expect(doorBreaches(GOOD)).toEqual([])
  // Another tenant has no receiver; what a Redis lost is on the topic alone.
  const other = record(verdictOf('p', 1, { tenant: 'harbour' }))
  const waited = record(verdictOf('p', 2), NOW + 5_000)
  const lost = [{ from: NOW + 4_000, to: NOW + 6_000 }]
  expect(doorBreaches({ ...GOOD, verdicts: [...GOOD.verdicts, other, waited], lost })).toEqual([])
})

test('what waited to be sent of a subject that was deleted is no breach, and its retraction is', () => {
  const retracted = verdictOf('doored-1', 3, { decidedBy: 'deleted', label: null })
  const verdicts = [...GOOD.verdicts, record(retracted)]
  expect(doorBreaches({ ...GOOD, verdicts, taken: taken(first, retracted) })).toEqual([])
  expect(doorBreaches({ ...GOOD, verdicts }).join()).toContain('no receiver was brought: 1 (rumor~doored-1~r3)')
})

test.each([
  ['a message that no topic has', { posts: [] }, 'that no topic has: 1'],
  ['a message without an outcome', { verdicts: [], taken: taken() }, 'without an outcome: 1'],
  ['a verdict that was not brought', { taken: taken(second) }, 'no receiver was brought: 1'],
  ['a verdict that was brought after a newer one', { taken: taken(second, first) }, 'after a newer one: 1'],
])('%s is one', (_, change, said) => {
  expect(doorBreaches({ ...GOOD, ...change }).join()).toContain(said)
})
