import { randomUUID } from 'node:crypto'
import kafkajs, { type Admin, type Kafka, type Transaction } from 'kafkajs'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { readToEnd } from '../../consumers/feedback.ts'
import { groupReader } from '../../consumers/group-reader.ts'
import { kafkaClient } from '../../src/adapters/kafka/client.ts'
import { rangesOf, readRanges } from '../../src/commands/read-range.ts'
import { readTopic } from '../../src/commands/read-topic.ts'
import type { TopicReader } from '../../src/ports/topic.ts'
import { type LocalKafka, startKafka } from '../../src/stack/servers/kafka.ts'
import { tell } from '../support/pipeline.ts'
import { collector } from './topics.ts'

// The last offsets of a partition may hold no record: a transaction's mark, what was aborted, what is still open. Whoever reads
// to the end, or waits for a lag of 0, gets there all the same, and at once.

const AT_ONCE = { timeout: 10_000, interval: 50 }
const ONLY_APACHE = 'only Apache Kafka has transactions'

let server: LocalKafka
let kafka: Kafka
let admin: Admin
const readers: TopicReader[] = []
const closers: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  server = await startKafka({ prefer: 'apache', say: tell })
  kafka = kafkaClient({ brokers: [server.settings.KAFKA_BROKERS ?? ''] }, 'ends', () => {})
  admin = kafka.admin()
  await admin.connect()
})
afterEach(async () => {
  await Promise.all(readers.splice(0).map((reader) => reader.close()))
  for (const close of closers.splice(0)) await close()
})
afterAll(async () => {
  await admin?.disconnect()
  await server?.close()
})

async function madeTopic(partitions: number, topic = `topic-${randomUUID()}`): Promise<string> {
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: partitions }] })
  return topic
}

async function begun(): Promise<Transaction> {
  const producer = kafka.producer({
    transactionalId: randomUUID(),
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  await producer.connect()
  closers.push(() => producer.disconnect())
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
  closers.unshift(() => transaction.abort())
}

function readerOf(topic: string, group: string = randomUUID()): TopicReader {
  const settings = {
    ...{ group, topics: [topic], sessionTimeoutMs: 6_000, maxBytesPerPartition: 1 << 20 },
    ...{ fetchBytes: 1, fetchWaitMs: 250, partitionsAtOnce: 4 },
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
  return topic
}
const RECORDS = ['of 0', 'of 2', 'of 3']
/** Each abort is marked by an offset of its own; what is open stands behind the end of a reader of what is committed. */
const ENDS = [1, 2, 3, 1]

describe('a reader of a group', () => {
  it('has no lag, and has committed, behind what was aborted; what is open is none', async ({ skip }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const [group, got] = [randomUUID(), collector()]
    const reader = readerOf(topic, group)
    await reader.start(got.handle)
    await expect.poll(() => got.values(), AT_ONCE).toEqual(RECORDS)
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0, 0, 0, 0])
    await expect.poll(() => committed(group, topic), AT_ONCE).toEqual(ENDS)
    const empty = got.batches.filter(({ messages }) => messages.length === 0)
    expect(empty).toContainEqual({ topic, partition: 1, messages: [], next: '2', atEnd: true })
  })

  it('comes to the end behind a commit mark that stands alone, and reads what comes after it', async ({ skip }) => {
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

  it('reads what a transaction held back when it has ended', async ({ skip }) => {
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

  it('reads a topic that was made anew from its beginning, and says until then how much that is', async () => {
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

  it('goes on when its topic is made anew under it, with fewer partitions', { timeout: 60_000 }, async ({ skip }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await madeTopic(3)
    for (const partition of [0, 1, 2]) await put(topic, partition, 'old', 'old')
    const [group, got] = [randomUUID(), collector()]
    const reader = readerOf(topic, group)
    await reader.start(got.handle)
    await expect.poll(() => committed(group, topic), AT_ONCE).toEqual([2, 2, 2])
    await admin.deleteTopics({ topics: [topic] })
    await expect.poll(async () => (await admin.listTopics()).includes(topic), AT_ONCE).toBe(false)
    await madeTopic(2, topic)
    for (const partition of [0, 1]) await put(topic, partition, 'new')
    await expect.poll(() => got.values().filter((value) => value === 'new'), { timeout: 40_000 }).toHaveLength(2)
    await expect.poll(() => lagsOf(reader), AT_ONCE).toEqual([0, 0])
  })
})

describe('reading to the end comes to it at once,', () => {
  const never = new AbortController().signal

  it('as the commands do that read a topic', async ({ skip }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const values: string[] = []
    await readTopic(kafka, topic, { follow: false, signal: AbortSignal.timeout(10_000) }, ({ message }) => {
      values.push(String(message.value))
    })
    expect(values.sort()).toEqual(RECORDS)
    const began = performance.now()
    await readTopic(kafka, topic, { follow: false, signal: never }, () => {})
    expect(performance.now() - began).toBeLessThan(10_000)
  })

  it('as a recovery does', async ({ skip }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const values: string[] = []
    const ranges = await rangesOf(kafka, topic, null)
    expect([...ranges].sort().map(([, { to }]) => Number(to))).toEqual(ENDS)
    await readRanges(kafka, topic, ranges, AbortSignal.timeout(10_000), async (_, messages) => {
      values.push(...messages.map(({ value }) => String(value)))
    })
    expect(values.sort()).toEqual(RECORDS)
  })

  it.for([
    { what: 'from the beginning', from: null, records: RECORDS },
    // Of a topic that was made anew.
    { what: 'where the group’s offset lies behind the end', from: '100', records: RECORDS },
  ])('as learning does, $what', async ({ from, records }, { skip }) => {
    if (server.kind !== 'apache') return skip(ONLY_APACHE)
    const topic = await topicOfEveryEnd()
    const group = randomUUID()
    if (from !== null) await setOffset(group, topic, from)
    const settings = { ...{ group, topic, atOnce: 100, atOnceBytes: 1 << 20 }, sessionTimeoutMs: 6_000 }
    const values: string[] = []
    const read = () =>
      readToEnd(kafka, settings, AbortSignal.timeout(10_000), async (messages) => {
        values.push(...messages.map(({ value }) => String(value)))
        return true
      })
    const began = performance.now()
    await read()
    expect(performance.now() - began).toBeLessThan(10_000)
    expect(values.sort()).toEqual(records)
    expect(await committed(group, topic)).toEqual(ENDS)
    await read()
    expect(values).toHaveLength(records.length)
  })
})
