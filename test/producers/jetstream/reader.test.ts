import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { test as base, expect } from 'vitest'
import { streamsOf } from '../../../producers/jetstream/address.ts'
import { type JetstreamParts, jetstreamReader } from '../../../producers/jetstream/reader.ts'
import type { Events, Report } from '../../../src/contracts/ports/report.ts'
import { type OutgoingMessage, RefusedRecord } from '../../../src/contracts/ports/topic.ts'
import { makeCertificates } from '../../support/certificates.ts'
import { memoryJetstream } from '../../support/memory-jetstream.ts'
import { eventually } from '../../support/pipeline.ts'
import { DICTIONARY, type RelayedEvent, startRelay, type TestRelay } from '../../support/relay.ts'
import { accountOf, addressOf, BEGIN, didOf, written } from '../../support/relayed-posts.ts'

/** Some time after all that the tests write. */
const NOW = BEGIN / 1_000 + 48 * 3_600_000

interface Reading {
  readonly sent: Readonly<Record<string, unknown>>[]
  readonly told: { readonly name: keyof Events; readonly event: Record<string, unknown> }[]
  ids(): string[]
  counted(outcome: string): number
  watched(): Promise<Record<string, unknown>>
  close(): Promise<void>
}

const test = base
  .extend('relay', async ({ task: _ }, { onCleanup }) => {
    const relay = await startRelay({ dictionary: DICTIONARY })
    onCleanup(relay.close)
    return relay
  })
  .extend('read', async ({ task: _ }, { onCleanup }) => {
    const all: Reading[] = []
    onCleanup(async () => void (await Promise.all(all.map((one) => one.close()))))
    return (
      urls: readonly string[],
      changes: Partial<JetstreamParts> & { compress?: boolean; ca?: Buffer; dids?: string[] } = {},
    ): Reading => {
      const { compress = false, ca, dids = [], ...parts } = changes
      const sent: Record<string, unknown>[] = []
      const told: Reading['told'] = []
      const report: Report = (name, event) => void told.push({ name, event: event as Record<string, unknown> })
      const reader = jetstreamReader({
        urls,
        open: streamsOf({ dids, compress, ca }),
        store: memoryJetstream().store,
        lead: async () => true,
        writer: {
          async send(records) {
            sent.push(...records.map(({ value }) => JSON.parse(String(value)) as Record<string, unknown>))
          },
        },
        rules: {
          tenant: 'default',
          langs: [],
          isDrawn: () => true,
          replies: true,
          cdn: '',
          erase: ['deleted'],
          topics: { post: 'posts', comment: 'comments' },
        },
        followMs: 60_000,
        times: { since: 0, rewind: 5_000, drain: 1_000 },
        isNarrow: dids.length > 0,
        pressure: () => null,
        clock: () => NOW,
        report,
        ...parts,
      })
      const reading: Reading = {
        sent,
        told,
        ids: () => sent.map(({ id }) => String(id).slice(String(id).lastIndexOf('/') + 1)),
        counted: (outcome) =>
          told.reduce(
            (sum, { name, event }) =>
              sum + (name === 'jetstream:read' && event.outcome === outcome ? Number(event.count) : 0),
            0,
          ),
        async watched() {
          await reader.watch()
          return told.findLast(({ name }) => name === 'jetstream:watched')?.event ?? {}
        },
        close: reader.close,
      }
      all.push(reading)
      return reading
    }
  })

const of = (reading: Reading, wanted: keyof Events) =>
  reading.told.flatMap(({ name, event }) => (name === wanted ? [event] : []))
const posts = (from: number, to: number, stepMs = 1_000) =>
  Array.from({ length: to - from }, (_, nth) => written({ rkey: `p${from + nth}`, at: (from + nth) * stepMs }))
const names = (from: number, to: number) => posts(from, to).map(({ commit }) => commit?.rkey)
const connected = (relay: TestRelay) => eventually(async () => relay.connections() > 0, 5_000)

for (const generation of ['v1', 'v2'] as const) {
  test(`${generation}: takes what is written, replies and deletions too, and asks for posts alone`, async ({
    relay,
    read,
  }) => {
    const { store } = memoryJetstream()
    const reading = read([relay.urls[generation]], { store })
    await connected(relay)
    const root = addressOf('ann', 'p0')
    relay.give(
      ...posts(0, 2),
      written({ author: 'bob', rkey: 'c1', at: 3_000, under: root }),
      written({ rkey: 'p1', at: 4_000, operation: 'delete' }),
      accountOf('bob', 5_000, 'deleted'),
    )
    await eventually(async () => (await store.gone(1)).length > 0, 5_000)
    expect(reading.ids()).toEqual(['p0', 'p1', 'c1', 'p1'])
    expect(reading.sent[2]).toMatchObject({ postId: root })
    expect(reading.sent[3]).toMatchObject({ deleted: true })
    expect(await store.gone(1)).toEqual([didOf('bob')])
    const asked = Object.fromEntries(relay.asked[0] ?? [])
    expect(asked).toEqual(
      generation === 'v1'
        ? { wantedCollections: 'app.bsky.feed.post', maxMessageSizeBytes: '262144' }
        : { kinds: 'account', collections: 'app.bsky.feed.post', maxMessageSizeBytes: '262144' },
    )
  })

  test(`${generation}: goes on after drops where it was, and sends what a relay repeats once`, async ({
    relay,
    read,
  }) => {
    relay.dropEvery(7)
    const reading = read([relay.urls[generation]], {
      times: { since: NOW - BEGIN / 1_000, rewind: 3_000, drain: 1_000 },
    })
    relay.give(...posts(0, 20))
    await eventually(async () => reading.ids().length >= 20, 20_000)
    expect(reading.ids()).toEqual(names(0, 20))
    expect(reading.counted('duplicate')).toBeGreaterThan(0)
    expect(of(reading, 'jetstream:disconnected').length).toBeGreaterThan(1)
    const cursors = relay.asked.map((query) => Number(query.get('cursor')))
    expect(cursors[0]).toBe(BEGIN)
    if (generation === 'v1') expect(cursors[1]).toBe(BEGIN + 6e6 - 3e6)
    else expect(cursors.slice(1).every((cursor) => cursor < 100)).toBe(true)
    expect(of(reading, 'jetstream:gap')).toEqual([])
  })

  test(`${generation}: says what is missing where its place is too old, and reads what there is`, async ({
    relay,
    read,
  }) => {
    relay.give(...posts(0, 10, 3_600_000))
    const { store } = memoryJetstream()
    await store.save(
      { time: BEGIN + 1e6, relay: relay.urls[generation], seq: generation === 'v1' ? null : 1 },
      { taken: new Map(), gone: new Set() },
      1,
    )
    relay.forget(3)
    const reading = read([relay.urls[generation]], { store })
    await eventually(async () => reading.ids().length >= 3, 10_000)
    expect(reading.ids()).toEqual(['p7', 'p8', 'p9'])
    expect(of(reading, 'jetstream:gap')).toEqual([
      {
        from: '2026-05-01T10:00:01.000Z',
        to: '2026-05-01T17:00:00.000Z',
        seconds: 7 * 3_600 - 1,
        advice: expect.stringContaining('jetstream.urls'),
      },
    ])
    expect(of(reading, 'jetstream:disconnected')).toEqual([])
  })

  test(`${generation}: outlives hostile frames, and takes what comes between them`, async ({ relay, read }) => {
    const reading = read([relay.urls[generation]])
    await connected(relay)
    const hostile = [
      'x'.repeat(5_000_000),
      '{"kind":"commit",',
      '['.repeat(200_000),
      JSON.stringify({ kind: 'commit', did: 7, time_us: 'now', commit: [] }),
      JSON.stringify({
        $type: 'message',
        payload: { $type: 'network.bsky.jetstream.subscribeEvents#commit', seq: -1 },
      }),
      JSON.stringify({ kind: 'account', did: 'did:plc:\u0000', time_us: 1, account: {} }),
    ]
    relay.give(...hostile.flatMap((frame, nth) => [frame, ...posts(nth, nth + 1)]))
    await eventually(async () => reading.ids().length >= hostile.length, 10_000)
    expect(reading.ids()).toEqual(names(0, hostile.length))
    expect(reading.counted('too-large')).toBe(1)
    expect(reading.counted('invalid')).toBe(hostile.length - 1)
    expect(relay.asked.length).toBe(1)
  })
}

test('reads compressed frames of the newer generation', async ({ relay, read }) => {
  const reading = read([relay.urls.v2], { compress: true })
  await connected(relay)
  relay.give(...posts(0, 3), JSON.stringify({ long: 'x'.repeat(300_000) }), ...posts(3, 4))
  await eventually(async () => reading.ids().length >= 4, 5_000)
  expect(relay.asked[0]?.get('zstdDictionary')).toBe('77')
  expect(reading.counted('too-large')).toBe(1)
})

test('leaves a relay whose frame is longer than memory is given for, and reads the next one', async ({
  relay,
  read,
}) => {
  const other = await startRelay()
  try {
    const reading = read([relay.urls.v1, other.urls.v1])
    await connected(relay)
    relay.give('x'.repeat(9_000_000))
    await connected(other)
    other.give(...posts(0, 1))
    await eventually(async () => reading.ids().length >= 1, 5_000)
    expect(of(reading, 'jetstream:disconnected')).toEqual([
      expect.objectContaining({ why: expect.stringContaining('Max payload') }),
    ])
  } finally {
    await other.close()
  }
})

test('reads no faster than Kafka takes it: what waits stays in the relay', async ({ relay, read }) => {
  const many = posts(0, 10_000, 1).map((event) => ({
    ...event,
    commit: { ...event.commit, record: { text: 'w'.repeat(6_000) } } as typeof event.commit & object,
  }))
  let free = () => {}
  const blocked = new Promise<void>((resolve) => {
    free = resolve
  })
  const sent: OutgoingMessage[] = []
  const reading = read([relay.urls.v1], {
    writer: {
      async send(records) {
        await blocked
        sent.push(...records)
      },
    },
  })
  await connected(relay)
  relay.give(...many)
  await sleep(1_500)
  // Of 60 MB it has taken a few; the rest is in the relay, and between.
  expect(relay.unsent()).toBeGreaterThan(40e6)
  expect(sent).toEqual([])
  free()
  await eventually(async () => sent.length === many.length, 30_000)
  expect(reading.counted('post')).toBe(many.length)
})

test('notes its place only once Kafka has acknowledged, and sends again what it has not', async ({ relay, read }) => {
  const { store, position } = memoryJetstream()
  let failures = 2
  const tries: number[] = []
  const reading = read([relay.urls.v1], {
    store,
    writer: {
      async send(records) {
        tries.push(records.length)
        expect(position()).toBeNull()
        if (failures-- > 0) throw new Error('no acknowledgement')
      },
    },
  })
  await connected(relay)
  relay.give(...posts(0, 3))
  await eventually(async () => position() !== null, 10_000)
  expect(tries).toEqual([3, 3, 3])
  expect(position()).toMatchObject({ time: BEGIN + 2e6 })
  expect(of(reading, 'error')).toHaveLength(2)
})

test('notes nothing of what it sent while another process began to read', async ({ relay, read }) => {
  const { store, position } = memoryJetstream()
  let leads = true
  const reading = read([relay.urls.v1], {
    store,
    lead: async () => leads,
    writer: {
      async send() {
        leads = false
      },
    },
  })
  await connected(relay)
  relay.give(...posts(0, 1))
  await eventually(async () => of(reading, 'error').length > 0, 5_000)
  expect(position()).toBeNull()
})

test.for<[string, RelayedEvent | string]>([
  ['begins with another number', written({ rkey: 'p3', at: 3_000 })],
  [
    'says that its number has not come',
    JSON.stringify({
      $type: 'message',
      payload: { $type: 'network.bsky.jetstream.subscribeEvents#info', name: 'FutureCursor' },
    }),
  ],
])('goes by time where a relay was set up anew, and %s', async ([_, said], { relay, read }) => {
  const { store } = memoryJetstream()
  await store.save({ time: BEGIN, relay: relay.urls.v2, seq: 50 }, { taken: new Map(), gone: new Set() }, 1)
  relay.give(...posts(0, 3))
  const reading = read([relay.urls.v2], { store })
  await connected(relay)
  relay.give(said)
  await eventually(async () => reading.ids().length >= 3, 5_000)
  expect(reading.ids().slice(0, 3)).toEqual(names(0, 3))
  expect(of(reading, 'jetstream:disconnected')).toEqual([])
})

test('passes over a record that Kafka never takes, and over no other', async ({ relay, read }) => {
  const taken: unknown[] = []
  const reading = read([relay.urls.v1], {
    writer: {
      async send(records) {
        if (records.some(({ value }) => String(value).includes('/p1"'))) throw new RefusedRecord('too large')
        taken.push(...records.map(({ key }) => key))
      },
    },
  })
  await connected(relay)
  relay.give(...posts(0, 3))
  await eventually(async () => reading.counted('refused') === 1, 5_000)
  expect(taken).toEqual([addressOf('ann', 'p0'), addressOf('ann', 'p2')])
})

test('reads nothing under back-pressure, and goes on after it without a loss', async ({ relay, read }) => {
  let reason: string | null = null
  const reading = read([relay.urls.v1], { pressure: () => reason })
  await connected(relay)
  relay.give(...posts(0, 2))
  await eventually(async () => reading.ids().length === 2, 5_000)
  reason = '12000 threads due'
  await eventually(async () => relay.connections() === 0, 5_000)
  relay.give(...posts(2, 5))
  expect(await reading.watched()).toMatchObject({ reads: false })
  reason = null
  await eventually(async () => reading.ids().length === 5, 10_000)
  expect(reading.ids()).toEqual(names(0, 5))
  expect(of(reading, 'jetstream:paused')).toEqual([{ reason: '12000 threads due' }])
  expect(of(reading, 'jetstream:resumed')).toHaveLength(1)
})

test('does not believe a relay that is ahead of time', async ({ relay, read }) => {
  const { store, position } = memoryJetstream()
  const reading = read([relay.urls.v1], { store })
  await connected(relay)
  relay.give(written({ rkey: 'p0', at: 9e9 }), ...posts(1, 2))
  await eventually(async () => reading.ids().length === 2, 5_000)
  expect(position()?.time).toBe(NOW * 1_000)
  expect(reading.sent[0]?.createdAt).toBe(new Date(NOW).toISOString())
})

test('connects by TLS, to whoever the authority vouches for', async ({ read }) => {
  const certificates = makeCertificates()
  if (certificates === null) throw new Error('no openssl')
  const relay = await startRelay({ certificates, dictionary: DICTIONARY })
  try {
    const reading = read([relay.urls.v2], { ca: readFileSync(certificates.ca), compress: true })
    await connected(relay)
    relay.give(...posts(0, 1))
    await eventually(async () => reading.ids().length === 1, 5_000)
    const other = read([relay.urls.v2], { ca: readFileSync(certificates.otherCa) })
    await eventually(async () => of(other, 'jetstream:disconnected').length > 0, 5_000)
    expect(of(other, 'jetstream:disconnected')[0]?.why).toMatch(/certificate/)
  } finally {
    await relay.close()
  }
})
