import { expect, test } from 'vitest'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'
import { actionsRoute } from '../../src/door/actions.ts'
import { sending } from '../../src/door/sending.ts'
import { NOW, testDoor } from './door-for-tests.ts'

const ACTION = {
  id: 'a1',
  subjectId: 'c1',
  subjectKind: 'comment',
  postId: 'p1',
  what: 'remove',
  source: 'notice',
  since: '2026-01-01T00:00:00Z',
}

function acting(write = async (_: readonly OutgoingMessage[]) => {}) {
  const records: OutgoingMessage[] = []
  const writer = {
    async send(some: readonly OutgoingMessage[]) {
      await write(some)
      records.push(...some)
    },
  }
  const route = actionsRoute({
    sending: sending({ writer, timeoutMs: 1_000, report: () => {} }),
    topic: 'gavel.actions',
    overRate: () => null,
    clock: () => NOW,
  })
  const door = testDoor({ alsoRoutes: [route] })
  const as = { authorization: `Bearer ${door.keyOf('acme', ['act'])}` }
  return { ...door, records, act: (body: unknown, by = as) => door.ask('POST', '/v1/actions', body, by) }
}

test('an action is sent in the name of the key and its tenant, by the key of its post', async () => {
  const { act, records } = acting()
  const answer = await act(ACTION)
  expect([answer.status, answer.body]).toEqual([202, { id: 'a1', by: 'acme-backend' }])
  await act({ id: 'a1', withdraw: true, subjectId: 'c1', subjectKind: 'comment', postId: 'p1' })
  expect(records.map(({ topic, key }) => [topic, key])).toEqual([
    ['gavel.actions', 'p1'],
    ['gavel.actions', 'p1'],
  ])
  expect(records.map(({ value }) => JSON.parse(String(value)))).toMatchObject([
    { ...ACTION, by: 'acme-backend', tenant: 'acme', at: new Date(NOW).toISOString() },
    { id: 'a1', withdraw: true, by: 'acme-backend', tenant: 'acme' },
  ])
})

test.each([
  ['no object', [ACTION], 400, 'send one action'],
  ['another tenant', { ...ACTION, tenant: 'other' }, 403, 'another tenant'],
  ['a name of its own', { ...ACTION, by: 'me' }, 400, 'it is the key that acts'],
  ['an unknown field', { ...ACTION, reason: 'x' }, 400, 'reason: is no field here'],
  ['no what', { ...ACTION, what: undefined }, 400, 'what: is missing'],
  ['a comment without its post', { ...ACTION, postId: undefined }, 400, 'beside its post'],
  ['a country that is none', { ...ACTION, countries: ['Germany'] }, 400, 'countries.0'],
  ['a withdrawal without its subject', { id: 'a1', withdraw: true }, 400, 'that of the action'],
] as const)('%s is refused, and nothing is sent', async (_, body, status, says) => {
  const { act, records } = acting()
  const answer = await act(body)
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([status, expect.stringContaining(says)])
  expect(records).toEqual([])
})

test('a key without the scope tells nothing', async () => {
  const { act, keyOf, records } = acting()
  const answer = await act(ACTION, { authorization: `Bearer ${keyOf('acme', ['send', 'decide'])}` })
  expect([answer.status, records]).toEqual([403, []])
})

test('thousands of wrong entries are refused by a few, and the answer is owed', async () => {
  const { act, records } = acting()
  const small = await act({ ...ACTION, countries: Array(25).fill(1) })
  expect(small.body.errors).toHaveLength(20)
  expect(small.body.errors.at(-1)).toEqual({ path: '', message: 'and 6 more' })
  const large = await act({ ...ACTION, countries: Array(19_000).fill(1) })
  expect([large.status, large.body.errors.at(-1)]).toEqual([400, { path: '', message: 'and 282 more' }])
  expect(Number(large.headers.get('content-length'))).toBeLessThan(5_000)
  const many = await act({ ...ACTION, countries: Array(301).fill('DE') })
  expect(many.body.detail).toBe('countries: more than 300')
  expect(records).toEqual([])
})
