import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import { reversalDeliveriesOf } from '../../../producers/webhooks/matching.ts'
import { sendStatements } from '../../../src/app/composition/send-statements.ts'
import { reasonsIn, statementTexts } from '../../../src/app/composition/statement-texts.ts'
import type { Report } from '../../../src/contracts/ports/report.ts'
import { type Delivery, NO_BOUND } from '../../../src/contracts/ports/webhooks.ts'
import { reasonsRoute } from '../../../src/door/reasons.ts'
import { memoryWebhooks } from '../../../src/store/webhook/memory.ts'
import { at, feed } from '../../contracts/record.ts'
import { testDoor } from '../../door/door-for-tests.ts'
import { ownFolder } from '../../support/own-folder.ts'
import { completedMap, completedMapIn } from '../../support/own-map.ts'
import { recordInMemory } from '../../support/record-in-memory.ts'

const settings = loadSettings({ GAVEL_REVIEW_STATEMENTS: completedMapIn(ownFolder('own-map')) })
const LEAK = 'Zyzzyva'
const HOOK = { url: 'https://shop.example/', secrets: [], allowPrivate: false }
const HOUR = 3_600

/** A record with what a tenant did, and what is sent of it. */
async function acted(hooks: Parameters<typeof sendStatements>[1]['hooks'], own = settings) {
  const record = await recordInMemory()
  const topics = feed(record)
  const put: Delivery[] = []
  // Of no outbox: where that is looked for, nothing would be sent.
  const webhooks = memoryWebhooks(
    () => 0,
    () => 'nothing',
  )
  const now = { seconds: 100, read: Number.POSITIVE_INFINITY, room: NO_BOUND }
  const told: unknown[] = []
  const of = {
    hooks,
    read: async (...given: Parameters<ReturnType<typeof reasonsIn>>) => {
      if (given[1].id === 'bad') throw new Error('it can’t be read')
      return reasonsIn(own)(...given)
    },
    clock: () => Date.parse(at(now.seconds)),
    readUntil: () => Math.min(Date.parse(at(now.seconds)), now.read),
    report: (...[, event]: Parameters<Report>) => void told.push(event),
    webhooks: {
      async put(all: readonly Delivery[]) {
        put.push(...all)
        return webhooks.put(all, now.room)
      },
    },
  }
  const act = (id: string, seconds: number, more: Record<string, unknown> = {}) => {
    const rests = { subjectId: 'p', verdictId: 'hate~p~r1', what: 'remove', source: 'own-initiative', automated: true }
    const own = { id, tenant: 'default', ...rests, by: LEAK, since: at(seconds), at: at(seconds), ...more }
    return topics.send('actions', String(own.subjectId), own, seconds)
  }
  return {
    record,
    topics,
    act,
    webhooks,
    put,
    told,
    holds(queued: number | null) {
      now.room = { ...NO_BOUND, queued }
    },
    /** The record has read what was sent until then. */
    reads(seconds: number) {
      now.read = Date.parse(at(seconds))
    },
    async step(seconds: number) {
      now.seconds = seconds
      await sendStatements(record, of)
      return put.splice(0).map(({ hook, body }) => [hook, JSON.parse(body).data.action])
    },
  }
}

test('a statement is sent once to each receiver of its tenant that asks, as soon as what it is made of is read', async () => {
  const hooks = {
    all: { ...HOOK, tenant: 'default', actions: true },
    rumor: { ...HOOK, tenant: 'default', actions: true, protocols: ['rumor'] },
    verdicts: { ...HOOK, tenant: 'default' },
    others: { ...HOOK, tenant: 'acme', actions: true },
  }
  const { record, topics, act, webhooks, put, told, step } = await acted(hooks)
  await act('a1', 10)
  // Its verdict is on another topic, and read later.
  expect(await step(100)).toEqual([])
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge', rationale: LEAK }, `${LEAK} says so`)
  expect(await step(130)).toEqual([])
  expect(await step(161)).toEqual([['all', 'a1']])
  expect(await step(9_999)).toEqual([])
  const [sent] = await webhooks.take('all', 9, 1_000)
  const { type, data } = JSON.parse(sent?.body ?? '')
  expect([type, data.tenant, data.at, data.statement.puid === data.dsa.puid]).toEqual([
    'action.stated',
    'default',
    at(10),
    true,
  ])
  expect(data.text.en).toContain('We removed your content.')
  expect(data.text.de).toContain('entfernt')
  expect(sent?.body).not.toContain(LEAK)

  // Nothing of what was over, where nothing was done, that never comes, or of long ago.
  await act('over', 170)
  await topics.send('actions', 'p', { id: 'over', withdraw: true, by: 'x', at: at(171) }, 171)
  await act('nothing', 172, { what: 'none' })
  await act('unread', 173, { verdictId: 'hate~p~r9' })
  expect(await step(180)).toEqual([])
  expect(await step(175 + HOUR)).toEqual([])
  const why = expect.stringContaining('hate~p~r9')
  expect(told).toEqual([{ tenant: 'default', action: 'unread', why }])
  expect(await record.givenUp('default')).toEqual(['action default unread'])
  await topics.judged({ protocol: 'hate', label: 'hate', revision: 9, seconds: 174, decidedBy: 'judge' }, 'x')
  expect(await step(175 + 9 * HOUR)).toEqual([])
  await act('old', 200)
  expect(await step(200 + 8 * 24 * HOUR)).toEqual([])
  expect(put).toEqual([])
  await record.close()
})

test('a statement waits for a record that was away, until this has read an hour past its action', async () => {
  const { record, topics, act, reads, step } = await acted({ all: { ...HOOK, tenant: 'default', actions: true } })
  await act('a1', 10)
  await act('never', 10, { verdictId: 'hate~p~r9' })
  // The topic of actions is read at once, and the backlog of verdicts takes long.
  reads(9)
  expect(await step(10 + 2 * HOUR)).toEqual([])
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge' }, 'words')
  expect(await step(70 + 2 * HOUR)).toEqual([['all', 'a1']])
  reads(11 + HOUR)
  expect(await step(140 + 2 * HOUR)).toEqual([])
  expect(await record.unstated(Number.MAX_SAFE_INTEGER, 9)).toEqual([])
  await record.close()
})

test('a statement that can’t be made holds up no other, and is told of and tried again', async () => {
  const { record, topics, act, put, told, step } = await acted({ all: { ...HOOK, tenant: 'default', actions: true } })
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge' }, 'words')
  await act('bad', 10)
  await act('good', 11)
  await expect(step(20)).rejects.toThrow('it can’t be read')
  expect(put.map(({ verdictId }) => verdictId)).toEqual(['statement good'])
  expect(await record.unstated(Date.parse(at(79)), 9)).toEqual([])
  expect(await record.unstated(Date.parse(at(80)), 9)).toEqual(['action default bad'])
  put.splice(0)
  // In the last minute in which it could be sent, it is given up.
  expect([await step(7 * 24 * HOUR), told]).toEqual([
    [],
    [{ tenant: 'default', action: 'bad', why: 'Error: it can’t be read' }],
  ])
  expect(await record.givenUp('default')).toEqual(['action default bad'])
  await record.close()
})

test('a statement for which there is no room is tried again, later each time, and given up at the end', async () => {
  const { record, topics, act, webhooks, told, holds, step } = await acted({
    all: { ...HOOK, tenant: 'default', actions: true },
  })
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge' }, 'words')
  holds(0)
  await act('a1', 10)
  await act('never', 11)
  for (const seconds of [100, 190]) expect(await step(seconds)).toHaveLength(2)
  expect(await step(360)).toEqual([])
  holds(null)
  expect((await step(371)).sort()).toContainEqual(['all', 'a1'])
  expect((await webhooks.counts()).waiting).toBe(2)
  expect(await step(9_999)).toEqual([])
  holds(0)
  await act('late', 10_000)
  expect(await step(10_000 + HOUR)).toHaveLength(1)
  expect(told).toEqual([])
  expect(await step(9_999 + 7 * 24 * HOUR)).toHaveLength(1)
  expect(told).toEqual([{ tenant: 'default', action: 'late', why: 'over-share' }])
  expect(await record.givenUp('default')).toEqual(['action default late'])
  await record.close()
})

test('no statement is sent of an action that needs none, nor waited for where no topic brings what it lacks', async () => {
  const map = join(ownFolder('exempt-map'), 'map.yaml')
  writeFileSync(map, `${completedMap()}exempt: { source: [notice] }\n`)
  const own = loadSettings({ GAVEL_REVIEW_STATEMENTS: map })
  const { record, topics, act, told, step } = await acted({ all: { ...HOOK, tenant: 'default', actions: true } }, own)
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge' }, 'words')
  await act('exempt', 10, { source: 'notice' })
  await act('abroad', 11, { countries: ['US'] })
  await act('unmapped', 12, { what: 'frobnicate' })
  await act('early', 13, { what: 'frobnicate', verdictId: 'hate~p~r2' })
  expect(await step(100)).toEqual([])
  expect(told).toEqual([{ tenant: 'default', action: 'unmapped', why: 'what "frobnicate" is not in the map' }])
  expect(await record.givenUp('default')).toEqual(['action default unmapped'])
  expect(await record.unstated(Number.MAX_SAFE_INTEGER, 9)).toEqual(['action default early'])
  await record.close()
})

test('that a reversal is asked for is sent, also where a deletion brought it about', async () => {
  const { record, webhooks } = await acted({})
  const hooks = { all: { ...HOOK, tenant: 'default', actions: true }, verdicts: { ...HOOK, tenant: 'default' } }
  const asked = { verdict: 'hate~p~r2', why: 'reversal', action: 'a1' }
  const named = { subjectId: 'p', tenant: 'default', kind: 'post', protocol: 'hate', at: at(20) } as const
  const review = { schema: 1, id: 'hate~p~r2~reversal~a1', ...named, ...asked } as const
  await webhooks.put(reversalDeliveriesOf(hooks, review))
  await webhooks.put(reversalDeliveriesOf(hooks, review))
  const taken = await webhooks.take('all', 9, 1_000)
  expect(taken.map(({ body }) => JSON.parse(body))).toEqual([
    { type: 'reversal.asked', timestamp: at(20), data: review },
  ])
  expect(await webhooks.take('verdicts', 9, 1_000)).toEqual([])
  await record.close()
})

test('the door answers with a statement in each form, or with what is missing, to keys of its tenant alone', async () => {
  const { record, topics, act } = await acted({})
  const of = (given: typeof record | null) => {
    const door = testDoor({ alsoRoutes: [reasonsRoute({ record: async () => given, read: reasonsIn(settings) })] })
    const as = (tenant: string, scope: 'act' | 'read' | 'send') => ({
      authorization: `Bearer ${door.keyOf(tenant, [scope])}`,
    })
    const read = (path: string, by = as('default', 'act')) => door.ask('GET', `/v1/reasons/${path}`, undefined, by)
    return { read, as }
  }
  const { read, as } = of(record)
  await topics.judged({ protocol: 'hate', label: 'hate', decidedBy: 'judge' }, LEAK)
  await act('a1', 10)
  await act('a2', 11, { verdictId: 'hate~p~r7', what: 'frobnicate' })
  await topics.send('actions', 'p', { id: 'a2', withdraw: true, by: 'x', at: at(12) }, 12)
  const { status, body } = await read('a1')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    id: 'a1',
    tenant: 'default',
    lang: 'en',
    withdrawn: false,
    statement: { kind: 'visibility' },
  })
  expect(body.text).toContain('We removed your content.')
  expect(body.dsa.puid).toBe(body.statement.puid)
  expect((await read('a1?lang=de', as('default', 'read'))).body.text).toContain('entfernt')
  expect((await read('a2')).body).toMatchObject({
    withdrawn: true,
    lacks: expect.arrayContaining([expect.stringContaining('frobnicate')]),
  })
  expect((await read('a1?lang=fr')).status).toBe(400)
  expect((await read('a3')).status).toBe(404)
  expect((await read('a1', as('acme', 'act'))).status).toBe(404)
  expect((await read('a1', as('default', 'send'))).status).toBe(403)
  expect((await of(null).read('a1')).status).toBe(501)
  await record.close()
})

test('the words of statements are parsed once, until their file changes', () => {
  const path = join(ownFolder('statement-texts'), 'map.yaml')
  const source = readFileSync(join(PROJECT, 'config', 'reasons', 'map.yaml'), 'utf8')
  writeFileSync(path, source)
  const first = statementTexts('en', path)
  const again = statementTexts('en', path)
  expect([again.words === first.words, again.map === first.map]).toEqual([true, true])
  expect(statementTexts('de', path).words).not.toBe(first.words)
  writeFileSync(path, 'what: [')
  expect(() => statementTexts('en', path)).toThrow(path)
  writeFileSync(path, `${source}# More.\n`)
  const changed = statementTexts('en', path)
  expect([changed.map === first.map, changed.words === first.words]).toEqual([false, true])
  expect(changed.map).toEqual(first.map)
})
