import { describe, expect, it, vi } from 'vitest'
import { placeOf } from '../../consumers/read-message.ts'
import { sourcesConsumer } from '../../consumers/sources.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import {
  type BackgroundRunner,
  type HandleBatch,
  type IncomingMessage,
  type OutgoingMessage,
  RefusedRecord,
} from '../../src/contracts/ports/topic.ts'
import { type TopicMapping, topicMappings } from '../../src/mapping/mapping.ts'
import type { SourceSettings } from '../../src/mapping/source.ts'

const TOPICS = {
  posts: 'posts',
  comments: 'comments',
  counterspeech: 'replies',
  reach: 'reach',
  deadLetters: 'letters',
}
const SOURCES: SourceSettings[] = [
  {
    topic: 'own',
    kind: 'post',
    when: { field: '$.t', equals: 'p' },
    map: { id: '$.id', text: '$.text', createdAt: '$time' },
  },
  {
    topic: 'own',
    kind: 'comment',
    each: '$.replies',
    map: { id: '@.id', postId: '$.id', text: '@.text', createdAt: '$time' },
  },
]

const record = (offset: number, value: unknown, headers: Record<string, string> = {}): IncomingMessage => ({
  topic: 'own',
  partition: 2,
  offset: String(offset),
  timestamp: Date.parse('2026-05-01T10:00:00Z') + offset,
  key: null,
  value: value === null ? null : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  headers,
})

/** What is written of these records, and told. `takes`: whether a broker takes a record. */
async function written(
  messages: readonly IncomingMessage[],
  takes: (one: OutgoingMessage) => boolean = () => true,
  mappings: ReadonlyMap<string, TopicMapping> = topicMappings(SOURCES),
  runInBackground: BackgroundRunner = () => {},
  isOurs = () => true,
) {
  const sent: OutgoingMessage[] = []
  const counts: Record<string, number> = {}
  let handle: HandleBatch = async () => {}
  let beats = 0
  await sourcesConsumer({
    mappings,
    topics: TOPICS,
    report: (name, event) => {
      if (name === 'source:read' && 'outcome' in event && 'count' in event)
        counts[String(event.outcome)] = (counts[String(event.outcome)] ?? 0) + Number(event.count)
      if (name === 'message:dead') counts.letters = (counts.letters ?? 0) + 1
    },
    writer: {
      async send(records) {
        if (!records.every(takes)) throw new RefusedRecord('too large')
        sent.push(...records)
      },
      async close() {},
    },
    reader: {
      async start(given) {
        handle = given
      },
      positions: async () => [],
      setPaused() {},
      downSince: null,
      async close() {},
    },
  }).start()
  await handle(
    { topic: 'own', partition: 2, messages, next: '9', atEnd: true, isOurs },
    async () => void beats++,
    runInBackground,
  )
  return { sent, counts, beats }
}

const POST = {
  t: 'p',
  id: 'p1',
  text: 'said',
  replies: [
    { id: 'c1', text: 'a' },
    { id: 'c2', text: 'b' },
  ],
}

describe('records of a source', () => {
  it('become messages on the input topics, by their keys, with where they come from', async () => {
    const { sent, counts } = await written([
      record(7, POST, { traceparent: 'tp', other: 'x' }),
      record(8, { t: 'q' }),
      record(9, null),
    ])
    expect(sent.map(({ topic, key }) => `${topic} ${key}`)).toEqual(['posts p1', 'comments p1', 'comments p1'])
    expect(sent.map(({ headers }) => headers)).toEqual(
      [0, 1, 2].map((nth) => ({
        'gavel-source': `own/2@7#${nth} 1777629600007`,
        'gavel-mapping': expect.stringMatching(/^[0-9a-f]{16}$/),
        traceparent: 'tp',
      })),
    )
    expect(counts).toEqual({ mapped: 1, 'passed-over': 2 })
  })

  it('that can’t be mapped become dead letters with their bytes, and hold up no others', async () => {
    const { sent, counts } = await written([record(1, 'no JSON'), record(2, { t: 'p', text: 'x' }), record(3, POST)])
    const letters = sent
      .filter(({ topic }) => topic === 'letters')
      .map(({ value }) => deadLetter.parse(JSON.parse(String(value))))
    expect(letters).toMatchObject([
      {
        topic: 'own',
        partition: 2,
        offset: '1',
        reason: 'unmapped',
        detail: 'the value is not JSON',
        raw: Buffer.from('no JSON').toString('base64'),
      },
      { offset: '2', reason: 'unmapped', detail: 'id: nothing stands there' },
    ])
    expect(sent.filter(({ topic }) => topic !== 'letters')).toHaveLength(3)
    expect(counts).toEqual({ mapped: 1, unmapped: 2, letters: 2 })
  })

  it('that take long leave a turn to all else after each, and tell the group', async () => {
    for (const count of [20, 40]) {
      let [now, turns, isOver] = [0, 0, false]
      const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
      const map = () => {
        now += 21
        return { ok: true, messages: [] } as const
      }
      const turn = () => {
        turns++
        if (!isOver) setImmediate(turn)
      }
      setImmediate(turn)
      const records = Array.from({ length: count }, (_, nth) => record(nth, {}))
      const { beats } = await written(
        records,
        () => true,
        new Map([['own', { hash: 'h', format: 'json', isApart: false, map }]]),
      )
      isOver = true
      clock.mockRestore()
      expect([turns >= count, beats >= count]).toEqual([true, true])
    }
  })

  it.each([
    [true, ['p0', 'p1', 'p2']],
    [false, []],
  ])(
    'that another process is long in mapping are waited for behind their batch, if they are ours: %s',
    async (isOurs, keys) => {
      const gate = Promise.withResolvers<void>()
      const map: TopicMapping['map'] = async ({ timestamp }) => {
        await gate.promise
        return { ok: true, messages: [{ topic: 'posts', key: `p${timestamp - record(0, {}).timestamp}`, value: '{}' }] }
      }
      const held: { work: Promise<unknown>; holdsPartition: boolean | undefined }[] = []
      const { sent } = await written(
        [0, 1, 2].map((nth) => record(nth, {})),
        () => true,
        new Map([['own', { hash: 'h', format: 'json', isApart: true, map }]]),
        (work, options) => void held.push({ work: work(), holdsPartition: options?.holdsPartition }),
        () => isOurs,
      )
      expect([held.length, held[0]?.holdsPartition, sent.length]).toEqual([1, true, 0])
      gate.resolve()
      await held[0]?.work
      expect(sent.map(({ key }) => key)).toEqual(keys)
    },
  )

  it('of which a broker refuses a message become a letter, alone', async () => {
    const { sent } = await written(
      [record(1, { ...POST, replies: [] }), record(2, { ...POST, id: 'large' })],
      ({ key, topic }) => topic === 'letters' || key !== 'large',
    )
    expect(sent.map(({ topic, key }) => `${topic} ${key}`)).toEqual(['posts p1', 'letters own/2/2'])
    expect(JSON.parse(String(sent[1]?.value))).toMatchObject({
      offset: '2',
      reason: 'unmapped',
      detail: expect.stringContaining('too large'),
    })
  })

  it('have one place, wherever their messages stand; a replayed message has its own', async () => {
    const [first, second] = (await written([record(7, { ...POST, t: 'q' })])).sent
    const read = (
      of: OutgoingMessage | undefined,
      offset: string,
      more: Record<string, string> = {},
    ): IncomingMessage => ({
      ...record(0, {}),
      topic: 'comments',
      offset,
      headers: { ...(of?.headers as Record<string, string>), ...more },
    })
    const place = { topic: 'own', partition: 2, offset: '7000', timestamp: 1_777_629_600_007 }
    expect([placeOf(read(first, '1')), placeOf(read(first, '5'))]).toEqual([place, place])
    expect(placeOf(read(second, '2'))).toEqual({ ...place, offset: '7001' })
    expect(placeOf(read(first, '5', { 'gavel-replays': '1' }))).toMatchObject({ topic: 'comments', offset: '5' })
    expect(placeOf(read(undefined, '5', { 'gavel-source': 'own,x/2@7#0 1' }))).toMatchObject({ topic: 'comments' })
  })
})
