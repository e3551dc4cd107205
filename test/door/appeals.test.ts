import { expect, it } from 'vitest'
import { appealsRoute } from '../../src/door/appeals.ts'
import { tenantRate } from '../../src/door/decision-rate.ts'
import { NOW, testDoor } from './door-for-tests.ts'

const APPEAL = { id: 'e1', verdictId: 'rumor@acme~p1~r2', by: 'author', text: 'It is true', contact: 'case 1' }

function aDoor(outcome: 'acknowledged' | 'refused' = 'acknowledged') {
  const sent: { tenant: string; topic: string; key: unknown; value: unknown }[] = []
  const sending = {
    withinMs: 1_000,
    async send(tenant: string, records: readonly { topic: string; key: unknown; value: unknown }[]) {
      sent.push(...records.map(({ topic, key, value }) => ({ tenant, topic, key, value: JSON.parse(String(value)) })))
      return records.map(() => outcome)
    },
  }
  const door = testDoor({
    routes: [appealsRoute({ sending, topic: 'appeals', overRate: () => null, clock: () => NOW })],
  })
  return { door, sent }
}

it('takes an appeal, and its withdrawal, as the key’s tenant, under the appeal’s id', async () => {
  const { door, sent } = aDoor()
  const { status, body } = await door.ask('POST', '/v1/appeals', APPEAL)
  expect([status, body]).toEqual([200, { id: 'e1', status: 'acknowledged' }])
  await door.ask('POST', '/v1/appeals', { id: 'e1', withdraw: true })
  const at = new Date(NOW).toISOString()
  expect(sent).toEqual([
    { tenant: 'acme', topic: 'appeals', key: 'e1', value: { ...APPEAL, tenant: 'acme', at } },
    { tenant: 'acme', topic: 'appeals', key: 'e1', value: { id: 'e1', withdraw: true, tenant: 'acme', at } },
  ])
})

it('refuses what is none, of another tenant, with fields that nobody knows, or too large for its topic', async () => {
  const { door, sent } = aDoor()
  const { contact: _, ...anonymous } = APPEAL
  for (const odd of [
    [APPEAL],
    'x',
    { ...APPEAL, by: 'judge' },
    anonymous,
    { ...APPEAL, subjectId: 'p1' },
    { ...APPEAL, says: 1 },
  ])
    expect((await door.ask('POST', '/v1/appeals', odd)).status, JSON.stringify(odd)).toBe(400)
  expect((await door.ask('POST', '/v1/appeals', { ...APPEAL, tenant: 'other' })).status).toBe(403)
  expect(sent).toEqual([])
  expect((await aDoor('refused').door.ask('POST', '/v1/appeals', APPEAL)).status).toBe(413)
})

it('takes a hundredth of a key’s rate from one tenant, whichever of its keys sends them', async () => {
  const sent: unknown[] = []
  const sending = {
    withinMs: 1_000,
    send: async (_: string, all: readonly unknown[]) => all.map(() => 'acknowledged' as const),
  }
  const overRate = tenantRate('appeals', { perSecond: 100, burst: 200 }, () => NOW)
  const door = testDoor({ routes: [appealsRoute({ sending, topic: 'appeals', overRate, clock: () => NOW })] })
  for (const tenant of ['acme', 'acme', 'acme', 'other']) {
    const as = { authorization: `Bearer ${door.keyOf(tenant, ['send'])}` }
    sent.push((await door.ask('POST', '/v1/appeals', { ...APPEAL, id: `e${sent.length}` }, as)).status)
  }
  expect(sent).toEqual([200, 200, 429, 200])
})
