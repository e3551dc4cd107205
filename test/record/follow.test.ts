import { expect, it, vi } from 'vitest'
import type { RecordedTopic } from '../../src/contracts/ports/record.ts'
import type { IncomingMessage } from '../../src/contracts/ports/topic.ts'
import { contestedness } from '../../src/protocols/contestedness.ts'
import { type PartitionBounds, recording } from '../../src/record/follow.ts'
import { entriesOf } from '../../src/record/project.ts'
import { rebuild } from '../../src/record/rebuild.ts'
import { aTranscript, at } from '../contracts/record.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { aVerdict } from '../support/verdicts.ts'

const PROJECT = {
  ofReplies: new Set<string>(),
  labels: new Map<string, Set<string>>(),
  weigh: contestedness,
  sameKey: (text: string) => text,
  indexChars: 1_000,
  maxBytes: 2 ** 20,
}
const NAMES = new Map<string, RecordedTopic>([
  ['g.posts', 'posts'],
  ['g.verdicts', 'verdicts'],
  ['g.transcripts', 'transcripts'],
])

const message = (topic: string, offset: number, value: unknown, timestamp = 0): IncomingMessage => ({
  topic,
  partition: 0,
  offset: String(offset),
  key: 'p',
  headers: {},
  timestamp,
  value: Buffer.from(JSON.stringify(value)),
})
const verdictOf = (offset: number) => message('g.verdicts', offset, aVerdict(at(offset), { subjectId: `p${offset}` }))

/** A record that is given batches of verdicts, over a partition with these bounds. */
async function following(bounds: PartitionBounds) {
  const store = await recordInMemory()
  let [renamed, asked] = [0, 0]
  const handle = recording({
    store,
    topics: NAMES,
    project: PROJECT,
    renamed: () => void renamed++,
    async bounds() {
      asked++
      return bounds
    },
  })
  const give = (from: number | undefined, offsets: readonly number[], next: number) => {
    const own = from === undefined ? {} : { from: String(from) }
    const messages = offsets.map(verdictOf)
    const batch = { topic: 'g.verdicts', partition: 0, messages, ...own, next: String(next), atEnd: false }
    return handle(
      batch,
      async () => {},
      () => {},
    )
  }
  const has = async () => {
    const found = await store.find({}, 1_000)
    return found.map(({ verdict }) => Number(verdict.subjectId.slice(1))).sort((a, b) => a - b)
  }
  return { store, give, has, renames: () => renamed, asked: () => asked }
}

it('takes batches in order, and asks Kafka about nothing', async () => {
  const record = await following({ low: 0, high: 10 })
  await record.give(0, [0, 1], 2)
  // Its first offset holds no record: of a transaction, or compacted away.
  await record.give(2, [3], 4)
  await record.give(undefined, [], 5)
  expect(await record.has()).toEqual([0, 1, 3])
  expect(await record.store.positions()).toEqual(new Map([['verdicts/0', 5]]))
  expect(record.asked()).toBe(0)
})

it('takes a batch of many in several steps', async () => {
  const record = await following({ low: 0, high: 600 })
  const many = Array.from({ length: 600 }, (_, offset) => offset)
  await record.give(0, many, 600)
  expect(await record.has()).toEqual(many)
})

it('takes nothing twice', async () => {
  const record = await following({ low: 0, high: 10 })
  await record.give(0, [0, 1], 2)
  await record.give(0, [0, 1], 2)
  await record.give(0, [0, 1, 2], 3)
  expect(await record.has()).toEqual([0, 1, 2])
})

it('goes on behind what its topic has lost, and counts the hole', async () => {
  const record = await following({ low: 7, high: 10 })
  await record.give(0, [0], 1)
  await record.give(7, [7, 8], 9)
  expect(await record.has()).toEqual([0, 7, 8])
  expect((await record.store.size()).holes).toBe(1)
  expect(record.renames()).toBe(0)
})

it('reads again as another group where its own was further than its file', async () => {
  const record = await following({ low: 0, high: 10 })
  await record.give(0, [0], 1)
  const name = await record.store.name()
  await expect(record.give(5, [5], 6)).rejects.toThrow('up to 1')
  expect(record.renames()).toBe(1)
  expect(await record.store.name()).not.toBe(name)
  await record.give(0, [0, 1, 2, 3, 4, 5], 6)
  expect(await record.has()).toEqual([0, 1, 2, 3, 4, 5])
  expect((await record.store.size()).holes).toBe(0)
})

it('reads a topic that was made anew from its beginning', async () => {
  const bounds = { low: 0, high: 10 }
  const record = await following(bounds)
  await record.give(0, [0, 1, 2, 3, 4], 5)
  bounds.high = 2
  await record.give(0, [0, 1], 2)
  expect(await record.store.positions()).toEqual(new Map([['verdicts/0', 2]]))
  expect((await record.store.size()).holes).toBe(1)
})

it('a rebuilt record never held what was deleted, and goes on where the topics ended', async () => {
  const topics = new Map<string, IncomingMessage[]>([
    ['g.verdicts', [message('g.verdicts', 0, aVerdict(at(0), { rationale: 'secret' }), 1), verdictOf(1)]],
    ['g.transcripts', [message('g.transcripts', 0, aTranscript('rumor~p~r1', 'secret'), 1)]],
    ['g.posts', [message('g.posts', 0, { id: 'p', createdAt: at(0), deleted: true }, Date.parse(at(60)))]],
  ])
  const store = await recordInMemory()
  const taken: string[] = []
  await rebuild(
    {
      apply(batch) {
        taken.push(batch.topic)
        return store.apply(batch)
      },
    },
    {
      history: {
        rangesOf: async (topic) => new Map([[0, { from: 0n, to: BigInt(topics.get(topic)?.length ?? 0) + 1n }]]),
        async read(topic, _, take) {
          await take(topics.get(topic) ?? [])
        },
      },
      topics: NAMES,
      project: PROJECT,
      progress() {},
    },
  )
  expect(taken[0]).toBe('posts')
  expect((await store.find({}, 10)).map(({ verdict }) => verdict.subjectId)).toEqual(['p1'])
  expect((await store.size()).rows.transcripts).toBe(0)
  expect(await store.positions()).toEqual(
    new Map([
      ['posts/0', 2],
      ['verdicts/0', 3],
      ['transcripts/0', 2],
    ]),
  )
})

it('a deletion that became a dead letter, for its headers, deletes nothing', () => {
  const deletion = message('g.posts', 0, { id: 'p', createdAt: at(0), deleted: true })
  expect(entriesOf('posts', deletion, PROJECT)).toHaveLength(1)
  expect(entriesOf('posts', { ...deletion, headersCut: 'too many' }, PROJECT)).toEqual([])
  const verdict = { ...verdictOf(0), headersCut: 'too many' }
  expect(entriesOf('verdicts', verdict, PROJECT)).toEqual(entriesOf('verdicts', verdictOf(0), PROJECT))
})

it('tells that it goes on while a step is written, and writes many entries in several steps', async () => {
  vi.useFakeTimers()
  const steps: number[] = []
  const handle = recording({
    store: {
      ...(await recordInMemory()),
      async apply({ entries }) {
        steps.push(entries.length)
        await new Promise((resolve) => setTimeout(resolve, 5_000))
        return 'applied'
      },
    },
    topics: NAMES,
    project: PROJECT,
    renamed() {},
    bounds: async () => ({ low: 0, high: 120 }),
  })
  const messages = Array.from({ length: 120 }, (_, offset) => verdictOf(offset))
  let beats = 0
  const batch = { topic: 'g.verdicts', partition: 0, messages, from: '0', next: '120', atEnd: false }
  const done = handle(
    batch,
    async () => void beats++,
    () => {},
  )
  await vi.advanceTimersByTimeAsync(4_900)
  expect([beats, steps]).toEqual([4, [50]])
  await vi.advanceTimersByTimeAsync(11_000)
  await done
  vi.useRealTimers()
  expect(steps).toEqual([50, 50, 20])
})
