import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type Kafka, type Transaction } from 'kafkajs'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { readToEnd } from '../../consumers/feedback.ts'
import { groupReader } from '../../consumers/group-reader.ts'
import type { TopicReader } from '../../src/contracts/ports/topic.ts'
import { type LocalKafka, startKafka } from '../../src/kit/stack/servers/kafka.ts'
import { rangesOf, readRanges, readTopic } from '../../src/stream/bounded-reader.ts'
import { kafkaClient } from '../../src/stream/client.ts'
import { createTopics } from '../support/create-topics.ts'
import { eventually, tell } from '../support/pipeline.ts'
import { collector } from './topics.ts'

// The last offsets of a partition may hold no record: a transaction's mark, what was aborted, what is still open. Whoever reads
// to the end, or waits for a lag of 0, gets there all the same, and at once.

const AT_ONCE = { timeout: 12_000, interval: 50 }
/** A reading that goes by a time without messages takes longer than this. */
const GIVEN_UP_MS = 13_000
const ONLY_APACHE = 'only Apache Kafka has transactions'

let server: LocalKafka
let kafka: Kafka
let admin: Admin
const readers: TopicReader[] = []
const closers: (() => Promise<unknown>)[] = []
const producers: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  server = await startKafka({ prefer: 'apache', say: tell })
  kafka = kafkaClient({ brokers: [server.settings.KAFKA_BROKERS ?? ''] }, 'ends', () => {})
  admin = kafka.admin()
  await admin.connect()
  if (server.kind !== 'apache') return
  // It looks every 15 s for something to compact.
  const configEntries = [{ name: 'log.cleaner.backoff.ms', value: '500' }]
  const resources = [{ type: kafkajs.ConfigResourceTypes.BROKER, name: '1', configEntries }]
  await admin.alterConfigs({ validateOnly: false, resources })
})
afterAll(async () => {
  await Promise.all(readers.map((reader) => reader.close()))
  for (const all of [closers, producers]) await Promise.all(all.map((close) => close()))
  await admin?.disconnect()
  await server?.close()
})

async function madeTopic(
  numPartitions: number,
  { topic = `topic-${randomUUID()}`, config = {} }: { topic?: string; config?: Record<string, string> } = {},
): Promise<string> {
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
  await createTopics(admin, [{ topic, numPartitions, configEntries }])
  return topic
}

async function remade(topic: string, partitions: number): Promise<void> {
  // Where its answer is late, the client asks again, and is told that there is none.
  await admin.deleteTopics({ topics: [topic] }).catch((error: Error) => {
    if (!error.message.includes('does not host')) throw error
  })
  while ((await admin.listTopics()).includes(topic)) await sleep(20)
  await madeTopic(partitions, { topic })
}

async function begun(): Promise<Transaction> {
  const producer = kafka.producer({
    transactionalId: randomUUID(),
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  producers.push(() => producer.disconnect())
  return producer.transaction()
}

async function put(topic: string, partition: number, ...values: string[]): Promise<void> {
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic, messages: values.map((value) => ({ value, partition })) })
  await producer.disconnect()
}

async function aborted(topic: string, partition: number): Promise<void> {
  const transaction = await begun()
  await transaction.send({ topic, messages: [{ value: 'aborted', partition }] })
  await transaction.abort()
}

async function opened(topic: string, partition: number): Promise<void> {
  const transaction = await begun()
  await transaction.send({ topic, messages: [{ value: 'open', partition }] })
  closers.push(() => transaction.abort())
}

function readerOf(topic: string, group: string = randomUUID()): TopicReader {
  const settings = {
    group,
    topics: [topic],
    sessionTimeout: 6_000,
    maxBytesPerPartition: 1 << 20,
    fetchBytes: 1,
    fetchWait: 250,
    partitions: 4,
  }
  const reader = groupReader({ kafka, settings, clock: Date.now, report: () => {} })
  readers.push(reader)
  return reader
}

const lagsOf = async (reader: TopicReader) => (await reader.positions()).map(({ lag }) => lag)
const committed = async (group: string, topic: string) =>
  (await admin.fetchOffsets({ groupId: group, topics: [topic] }))[0]?.partitions
    .toSorted((a, b) => a.partition - b.partition)
    .map(({ offset }) => Number(offset))
const setOffset = (groupId: string, topic: string, offset: string) =>
  admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset }] })

/** Partition 0 holds a record, 1 what was aborted, 2 a record and behind it what was aborted, 3 a record and what is open. */
async function topicOfEveryEnd(): Promise<string> {
  const topic = await madeTopic(4)
  for (const partition of [0, 2, 3]) await put(topic, partition, `of ${partition}`)
  for (const partition of [1, 2]) await aborted(topic, partition)
  await opened(topic, 3)
  // An abort is acknowledged before its marks are written.
  await eventually(async () => (await endsOf(topic)).join() === ENDS.join(), AT_ONCE.timeout)
  return topic
}

async function endsOf(topic: string): Promise<number[]> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const ends = await admin.fetchTopicOffsets(topic)
    return ends.sort((one, other) => one.partition - other.partition).map(({ high }) => Number(high))
  } finally {
    await admin.disconnect()
  }
}
const RECORDS = ['of 0', 'of 2', 'of 3']
/** Each abort is marked by an offset of its own; what is open stands behind the end of a reader of what is committed. */
const ENDS = [1, 2, 3, 1]

// Side by side: most of the time goes by while groups form.
describe('a reader of a group', { concurrent: true }, () => {
  it('has no lag, and has committed, behind what was aborted; what is open is none', async ({ skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const [group, got] = [randomUUID(), collector()]
    const reader = readerOf(topic, group)
    await reader.start(got.handle)
    await expect.poll(() => got.values(), AT_ONCE).toEqual(RECORDS)
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0, 0, 0, 0])
    await expect.poll(() => committed(group, topic), AT_ONCE).toEqual(ENDS)
    const empty = got.batches.filter(({ messages }) => messages.length === 0)
    expect(empty).toContainEqual(expect.objectContaining({ topic, partition: 1, messages: [], next: '2', atEnd: true }))
  })

  it('reaches the end behind a lone commit mark, and reads the records after it', async ({ skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await madeTopic(1)
    const transaction = await begun()
    await transaction.send({ topic, messages: [{ value: 'a', partition: 0 }] })
    await transaction.commit()
    const [group, got] = [randomUUID(), collector()]
    await setOffset(group, topic, '1')
    const reader = readerOf(topic, group)
    await reader.start(got.handle)
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0])
    await put(topic, 0, 'b')
    await expect.poll(() => got.values(), AT_ONCE).toEqual(['b'])
    await expect.poll(() => committed(group, topic), AT_ONCE).toEqual([3])
  })

  it('is shown nothing of an aborted transaction that begins within another, wherever it begins to read', async ({
    skip,
    expect,
  }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await madeTopic(1)
    const [one, other] = [await begun(), await begun()]
    const send = (transaction: Transaction, value: string) =>
      transaction.send({ topic, messages: [{ value, partition: 0 }] })
    await send(one, 'never 0')
    await send(other, 'never 1')
    await send(one, 'never 2')
    await put(topic, 0, 'said')
    await other.abort()
    await one.abort()
    await put(topic, 0, 'end')
    const got = await Promise.all(
      ['0', '1', '2', '3'].map(async (from) => {
        const [group, own] = [randomUUID(), collector()]
        await setOffset(group, topic, from)
        await readerOf(topic, group).start(own.handle)
        await expect.poll(() => own.values(), AT_ONCE).toContain('end')
        return own.values()
      }),
    )
    expect(got).toEqual(got.map(() => ['end', 'said']))
  })

  it('reads what a transaction held back when it has ended', async ({ skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await madeTopic(1)
    const transaction = await begun()
    await transaction.send({ topic, messages: [{ value: 'a', partition: 0 }] })
    await put(topic, 0, 'b')
    const got = collector()
    const reader = readerOf(topic)
    await reader.start(got.handle)
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0])
    expect(got.messages).toEqual([])
    await transaction.commit()
    await expect.poll(() => got.values(), AT_ONCE).toEqual(['a', 'b'])
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0])
  })

  it('reads a topic that was made anew from its beginning, and says until then how much that is', async ({
    expect,
  }) => {
    const topic = await madeTopic(1)
    await put(topic, 0, 'a', 'b', 'c')
    const [group, got] = [randomUUID(), collector()]
    // As the topic of the same name had before, where its broker kept the group's offsets.
    await setOffset(group, topic, '100')
    const reader = readerOf(topic, group)
    reader.setPaused(true)
    await reader.start(got.handle)
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([3])
    reader.setPaused(false)
    await expect.poll(() => got.values(), AT_ONCE).toEqual(['a', 'b', 'c'])
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0])
    await expect.poll(() => committed(group, topic), AT_ONCE).toEqual([3])
  })

  it('skips nothing of a topic that was made anew while it was away, and is longer than the old one', async ({
    skip,
    expect,
  }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await madeTopic(1)
    await put(topic, 0, 'old', 'old')
    const [group, before, after] = [randomUUID(), collector(), collector()]
    const first = readerOf(topic, group)
    await first.start(before.handle)
    await expect.poll(() => committed(group, topic), AT_ONCE).toEqual([2])
    await first.close()
    await remade(topic, 1)
    await put(topic, 0, 'a', 'b', 'c', 'd')
    await readerOf(topic, group).start(after.handle)
    await expect.poll(() => after.values(), AT_ONCE).toEqual(['a', 'b', 'c', 'd'])
  })

  it('goes on when its topic is made anew under it, with fewer partitions', async ({ skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await madeTopic(3)
    for (const partition of [0, 1, 2]) await put(topic, partition, 'old', 'old')
    const [group, got] = [randomUUID(), collector()]
    const reader = readerOf(topic, group)
    await reader.start(got.handle)
    await expect.poll(() => committed(group, topic), AT_ONCE).toEqual([2, 2, 2])
    await remade(topic, 2)
    // One longer than it was, and one shorter.
    await put(topic, 0, 'new', 'new', 'new', 'new')
    await put(topic, 1, 'new')
    await expect.poll(() => got.values().filter((value) => value === 'new'), { timeout: 40_000 }).toHaveLength(5)
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0, 0])
  })
})

describe('a compacted topic', { concurrent: true }, () => {
  it('is read past what compaction has left empty, by groups, commands and recoveries', async ({ skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const config = { 'cleanup.policy': 'compact', 'segment.bytes': '1048576', 'min.cleanable.dirty.ratio': '0' }
    const topic = await madeTopic(1, { config })
    // By idempotent producers, as Java's are: of each the last batch stays, though it be empty. Large enough for a segment each.
    for (const [key, value] of ['ka', 'kb', 'lc', 'md'].map((pair) => [...pair])) {
      const producer = kafka.producer({
        idempotent: true,
        maxInFlightRequests: 1,
        createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      })
      await producer.connect()
      await producer.send({ topic, messages: [{ key: key ?? '', value: (value ?? '').repeat(700_000) }] })
      await producer.disconnect()
    }
    const letters = (messages: readonly { value: Buffer | null }[]) =>
      messages.map(({ value }) => value?.toString('utf8', 0, 1))
    const recovered = async () => {
      const read: unknown[] = []
      await readRanges(
        kafka,
        topic,
        await rangesOf(kafka, topic, null, { signal: AbortSignal.timeout(GIVEN_UP_MS), say() {} }),
        { signal: AbortSignal.timeout(GIVEN_UP_MS) },
        async (_, messages) => {
          read.push(...letters(messages))
        },
      )
      return read
    }
    await expect.poll(recovered, { timeout: 45_000, interval: 500 }).toEqual(['b', 'c', 'd'])
    const [group, got] = [randomUUID(), collector()]
    const reader = readerOf(topic, group)
    await reader.start(got.handle)
    await expect.poll(() => letters(got.messages), AT_ONCE).toEqual(['b', 'c', 'd'])
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0])
    const read: unknown[] = []
    const signal = AbortSignal.timeout(GIVEN_UP_MS)
    await readTopic(kafka, topic, { follow: false, signal }, ({ message }) => void read.push(...letters([message])))
    expect([read, signal.aborted]).toEqual([['b', 'c', 'd'], false])
  })
})

describe('reading to the end comes to it at once,', { concurrent: true }, () => {
  it('as the commands do that read a topic', async ({ skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const values: string[] = []
    const signal = AbortSignal.timeout(GIVEN_UP_MS)
    await readTopic(kafka, topic, { follow: false, signal }, ({ message }) => {
      values.push(String(message.value))
    })
    expect(values.sort()).toEqual(RECORDS)
    expect(signal.aborted).toBe(false)
  })

  it('as a recovery does', async ({ skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const values: string[] = []
    const ranges = await rangesOf(kafka, topic, null, { signal: AbortSignal.timeout(GIVEN_UP_MS), say() {} })
    expect([...ranges].sort().map(([, { to }]) => Number(to))).toEqual(ENDS)
    await readRanges(kafka, topic, ranges, { signal: AbortSignal.timeout(GIVEN_UP_MS) }, async (_, messages) => {
      values.push(...messages.map(({ value }) => String(value)))
    })
    expect(values.sort()).toEqual(RECORDS)
  })

  it.for([
    { what: 'from the beginning', from: null, records: RECORDS },
    // Of a topic that was made anew.
    { what: 'where the group’s offset lies behind the end', from: '100', records: RECORDS },
  ])('as learning does, $what', async ({ from, records }, { skip, expect }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const group = randomUUID()
    if (from !== null) await setOffset(group, topic, from)
    const settings = { group, topic, atOnce: 100, atOnceBytes: 1 << 20, sessionTimeout: 6_000 }
    const values: string[] = []
    const signal = AbortSignal.timeout(GIVEN_UP_MS)
    const read = () =>
      readToEnd(kafka, settings, signal, async (messages) => {
        values.push(...messages.map(({ value }) => String(value)))
        return true
      })
    await read()
    expect(values.sort()).toEqual(records)
    expect(await committed(group, topic)).toEqual(ENDS)
    await read()
    expect(values).toHaveLength(records.length)
    expect(signal.aborted).toBe(false)
  })
})
