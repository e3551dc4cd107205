import { randomUUID } from 'node:crypto'
import { expect, it, vi } from 'vitest'
import { auditProducer } from '../../producers/audit.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import type { AuditEntry } from '../../src/contracts/facts/audit.ts'
import type { PersonRole } from '../../src/contracts/facts/person-roles.ts'
import { auditLog } from '../../src/stream/audit-log.ts'
import { topicHistory } from '../../src/stream/bounded-reader.ts'
import { kafkaClient } from '../../src/stream/client.ts'
import { turnsDuring } from '../door/door-for-tests.ts'
import { createTopics } from '../support/create-topics.ts'
import { startedKafka } from '../support/servers.ts'
import { aConsole } from './console-for-tests.ts'

const T0 = Date.parse('2026-03-01T12:00:00Z')
const entry = (by: string, seconds: number, change: Partial<AuditEntry> = {}): AuditEntry => ({
  schema: 1,
  at: new Date(T0 + seconds * 1_000).toISOString(),
  by,
  session: 's',
  what: 'saw',
  page: '/verdict',
  verdicts: ['rumor~p~r1'],
  more: 0,
  ...change,
})
const SIGNAL = AbortSignal.timeout(60_000)

/** The audit over these entries, in the partition that each key's is. */
function logOf(entries: readonly unknown[], { fails = false, mostRead = 100_000 } = {}) {
  const read: string[] = []
  const arrived = entries.map((one) =>
    typeof one === 'object' && one !== null && 'at' in one ? Date.parse(String(one.at)) : T0,
  )
  const log = auditLog(
    'audit',
    async () => ({
      async rangesOf(_, since) {
        const first = since === null ? 0 : arrived.findIndex((at) => at >= since)
        return new Map([[0, { from: BigInt(first < 0 ? arrived.length : first), to: BigInt(arrived.length) }]])
      },
      async read(topic, ranges, take) {
        if (fails) throw new Error('no broker')
        read.push(topic)
        const { from, to } = ranges.get(0) ?? { from: 0n, to: 0n }
        const some = entries.slice(Number(from), Number(to))
        await take(
          some.map((one, n) => ({
            topic,
            key: null,
            value: Buffer.from(typeof one === 'string' ? one : JSON.stringify(one)),
            partition: 0,
            offset: String(Number(from) + n),
            timestamp: arrived[Number(from) + n] ?? T0,
            headers: {},
          })),
        )
      },
    }),
    mostRead,
  )
  return { log, read }
}

it('parses no entry that can not fit, and lets other work in between', async () => {
  const entries = Array.from({ length: 20_000 }, (_, nth) => entry(nth === 7 ? 'zoe' : 'anna', 1))
  const { log } = logOf(entries)
  const parsed = vi.spyOn(JSON, 'parse')
  const found = await log.find({ by: 'zoe', since: 0, most: 9 }, SIGNAL)
  expect([found.entries.length, parsed.mock.calls.length]).toEqual([1, 1])
  parsed.mockRestore()
  expect(await turnsDuring(() => log.find({ subject: 'p', since: 0, most: 9 }, SIGNAL))).toBeGreaterThan(2)
})

it('finds by person and subject what is not older, the newest first, and only of the tenants that are asked for', async () => {
  const entries = [
    entry('anna', 1),
    entry('anna', 2, { verdicts: ['rumor~p~r1', 'rumor@acme~p~r1', 'hate~q~r3'], more: 9 }),
    entry('ben', 3, { verdicts: ['rumor/comment~p~c1~r1'] }),
    entry('ben', 4, { what: 'signed-in', page: '/sign-in', verdicts: [] }),
    entry('anna', -10),
    'no json',
    { schema: 9 },
  ]
  const { log } = logOf(entries)
  const find = async (query: { by?: string; subject?: string; tenants?: string[]; most?: number }) =>
    (await log.find({ since: T0, most: 9, ...query }, SIGNAL)).entries.map(({ by, at, verdicts }) =>
      [by, (Date.parse(at) - T0) / 1_000, ...verdicts].join(' '),
    )
  expect((await find({})).map((one) => one.split(' ', 2).join(' '))).toEqual(['ben 4', 'ben 3', 'anna 2', 'anna 1'])
  expect(await find({ by: 'anna', subject: 'q' })).toEqual(['anna 2 hate~q~r3 rumor~p~r1 rumor@acme~p~r1'])
  expect(await find({ by: 'Anna', subject: 'q' })).toEqual(['anna 2 hate~q~r3 rumor~p~r1 rumor@acme~p~r1'])
  expect(await find({ subject: 'p' })).toEqual([
    'ben 3 rumor/comment~p~c1~r1',
    // Also what one form decided beside it.
    'anna 2 rumor~p~r1 rumor@acme~p~r1 hate~q~r3',
    'anna 1 rumor~p~r1',
  ])
  expect(await find({ subject: 'hate~q~r3' })).toEqual(['anna 2 hate~q~r3 rumor~p~r1 rumor@acme~p~r1'])
  expect(await find({ tenants: ['acme'] })).toEqual(['anna 2 rumor@acme~p~r1'])
  expect(await find({ tenants: [] })).toEqual([])
  expect(await log.find({ since: T0, most: 2 }, SIGNAL)).toMatchObject({ next: { at: T0 + 3_000 } })
  expect(await log.find({ since: T0, most: 4 }, SIGNAL)).toMatchObject({ next: null })
})

it('reads no more than the newest hundred thousand, and says so', async () => {
  const asked: unknown[] = []
  const log = auditLog('audit', async () => ({
    rangesOf: async () =>
      new Map([
        [0, { from: 7n, to: 60_000n }],
        [1, { from: 7n, to: 900n }],
      ]),
    async read(topic, ranges, take) {
      asked.push([...ranges])
      const of = (partition: number, seconds: number) => ({
        topic,
        key: null,
        partition,
        offset: '0',
        headers: {},
        timestamp: T0 + seconds * 1_000,
        value: Buffer.from(JSON.stringify(entry('anna', seconds))),
      })
      // Of the first partition nothing before 5 s is known.
      await take([of(1, 3), of(0, 5), of(1, 5), of(1, 7), of(0, 8)])
    },
  }))
  const { entries, next } = await log.find({ since: T0, most: 9 }, SIGNAL)
  expect([entries.map(({ at }) => Date.parse(at) - T0), next]).toEqual([[8_000, 7_000], { at: T0 + 5_001 }])
  expect(asked).toEqual([
    [
      [0, { from: 10_000n, to: 60_000n }],
      [1, { from: 7n, to: 900n }],
    ],
  ])
})

it('tells who uncovered what, and who did what, by themselves', async () => {
  const { log } = logOf([
    entry('anna', 1),
    entry('ben', 2, { page: '/uncovered' }),
    entry('cay', 3, { page: '/picture' }),
    entry('dan', 4, { what: 'did', page: '/decide', asked: { code: 'irony', why: '' } }),
    entry('eve', 5, { page: '/verdict/file', sha256: 'ab'.repeat(32) }),
    entry('fay', 6, { what: 'signed-in', page: '/sign-in', verdicts: [] }),
  ])
  const console = await aConsole({ auditLog: log })
  console.pass(T0 + 3_600_000)
  const cookie = `gavel-console-8421=${console.sessions.open({ by: 'lea', grants: [{ role: 'lead' }] })}`
  const names = async (kind: string) =>
    [
      ...(await console.page(`/audit?days=1&kind=${kind}`, cookie)).text.matchAll(/">([a-z]{3,4})<\/bdi><\/td><td>/g),
    ].map(([, name]) => name)
  expect(await names('uncovered')).toEqual(['cay', 'ben'])
  expect(await names('did')).toEqual(['dan'])
  expect(await names('saved')).toEqual(['eve'])
  expect(await names('signed')).toEqual(['fay'])
  const { text } = await console.page('/audit?days=1', cookie)
  for (const told of ['ab'.repeat(32), 'code irony, why (some words)']) expect(text).toContain(told)
  expect((await console.page('/audit?days=1&by=zoe', cookie)).text).toContain('Choose more days')
  for (const any of ['', 'constructor']) expect(await names(any)).toHaveLength(6)
})

it.each([
  ['three of each moment', 3, 100_000],
  ['all of one moment', 950, 100_000],
  ['more of one moment than are read together', 950, 100],
  ['a minute of more than are read together', 10, 40],
])('leads through all entries, page by page, each once: %s', async (_, ofMoment, mostRead) => {
  const entries = Array.from({ length: 950 }, (_, n) => entry(`p${n}`, Math.floor(n / ofMoment)))
  const { log } = logOf(entries, { mostRead })
  const console = await aConsole({ auditLog: log })
  console.pass(T0 + 3_600_000)
  const cookie = `gavel-console-8421=${console.sessions.open({ by: 'lea', grants: [{ role: 'lead' }] })}`
  const seen: string[] = []
  let pages = 0
  for (let to: string | undefined = '/audit?days=1'; to !== undefined && pages < 60; pages++) {
    const { text } = await console.page(to, cookie)
    seen.push(...[...text.matchAll(/>(p\d+)</g)].map(([, name = '']) => name))
    to = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
  }
  expect([seen.length, new Set(seen).size]).toEqual([950, 950])
  if (mostRead > 950) expect(pages).toBe(5)
})

it('reads the topic of a broker, of one person one partition alone', async () => {
  const broker = await startedKafka()
  const topic = `audit-${randomUUID()}`
  try {
    const kafka = kafkaClient({ brokers: [broker.settings.KAFKA_BROKERS ?? ''] }, 'audit', () => {})
    const admin = kafka.admin()
    await admin.connect()
    await createTopics(admin, [{ topic, numPartitions: 4, replicationFactor: 1 }])
    await admin.disconnect()
    const writer = await kafkaWriter(kafka, 'gzip')
    const people = ['anna', 'ben', 'cay', 'dan', 'eve']
    for (const [n, by] of people.entries()) await auditProducer({ writer, topic }).note(entry(by, n))
    await writer.close()
    const log = auditLog(topic, async (signal) => topicHistory(kafka, { signal }))
    const names = async (by?: string) =>
      (await log.find({ since: T0 - 86_400_000, most: 9, by }, SIGNAL)).entries.map((one) => one.by)
    expect((await names()).toSorted()).toEqual(people)
    for (const by of people) expect(await names(by)).toEqual([by])
    const before = await log.find({ since: T0 - 86_400_000, before: { at: T0 + 2_000 }, most: 9 }, SIGNAL)
    expect(before).toMatchObject({ entries: [{ by: 'ben' }, { by: 'anna' }], next: null })
  } finally {
    await broker.close()
  }
}, 60_000)

it('is for leads, of their tenants; who reads it is noted; what cannot be read is said', async () => {
  const { log } = logOf([
    entry('ben <b>', 1, { network: '192.0.2.1' }),
    entry('ben <b>', 2, { verdicts: ['rumor@acme~p~r1'] }),
  ])
  const console = await aConsole({ auditLog: log })
  console.pass(T0 + 3_600_000)
  const enter = (role: PersonRole, tenants?: string[]) =>
    `gavel-console-8421=${console.sessions.open({ by: role, grants: [{ role, tenants }] })}`
  expect((await console.page('/audit?days=1', enter('moderator'))).status).toBe(403)
  const lead = enter('lead', ['default'])
  const empty = await console.page('/audit', lead)
  expect(empty.text).not.toContain('ben')
  expect(empty.text).toContain('href="/audit"')
  const { text } = await console.page('/audit?days=1', lead)
  expect(text).toContain('ben &lt;b&gt;')
  expect(text).toContain('192.0.2.1')
  expect(text).toContain('/verdict?id=rumor%7Ep%7Er1')
  expect(text).not.toContain('acme')
  expect(console.audited.at(-1)).toMatchObject({ by: 'lead', what: 'saw', page: '/audit', verdicts: ['rumor~p~r1'] })
  const away = await aConsole({ auditLog: logOf([], { fails: true }).log })
  const cookie = `gavel-console-8421=${away.sessions.open({ by: 'lea', grants: [{ role: 'lead' }] })}`
  expect(await away.page('/audit?days=1', cookie)).toMatchObject({ status: 503 })
})
