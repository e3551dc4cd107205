import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { groupReader } from '../../consumers/group-reader.ts'
import { partitionLag } from '../../consumers/partition-lag.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import type {
  Compression,
  IncomingMessage,
  MessageBatch,
  TopicReader,
  TopicWriter,
} from '../../src/contracts/ports/topic.ts'
import { COMPRESSIONS } from '../../src/contracts/ports/topic.ts'
import type { LocalKafka } from '../../src/kit/stack/servers/kafka.ts'
import { ensureTopics, kafkaClient } from '../../src/stream/client.ts'

/** A consumer group takes its time to form, and to form again. */
export const IN_TIME = { timeout: 25_000, interval: 20 }
const PARTITIONS = 4

export interface Broker {
  readonly kind: LocalKafka['kind']
  readonly server: LocalKafka
  readonly kafka: Kafka
  readonly admin: Admin
  /** A fresh topic with {@link PARTITIONS} partitions. */
  topic(): Promise<string>
  /** A reader of these topics; a group of its own if none is named. */
  reader(topics: readonly string[], group?: string): TopicReader
  writer(compression?: Compression): Promise<TopicWriter>
  /** Sends records that our writer would not: with headers, without values. */
  produce(topic: string, messages: kafkajs.Message[], compression?: number): Promise<void>
  committed(group: string, topic: string): Promise<number>
}

/** Tells of all that a reader got. */
export function collector() {
  const batches: MessageBatch[] = []
  const messages: IncomingMessage[] = []
  const handle = async (batch: MessageBatch): Promise<void> => {
    batches.push(batch)
    messages.push(...batch.messages)
  }
  const values = () => messages.map(({ value }) => value?.toString() ?? null).sort()
  return { batches, messages, handle, values }
}

export const numbered = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({
    key: `k${(from + index) % 7}`,
    value: `v${String(from + index).padStart(4, '0')}`,
  }))
export const valuesOf = (records: readonly { value: string }[]) => records.map(({ value }) => value).sort()

/** What topics promise, written to and read from this broker; `more` are the tests that only this broker can take. */
export function topicContract(
  name: string,
  start: () => Promise<LocalKafka>,
  more: (broker: () => Broker) => void,
): void {
  describe(`topics, ${name}`, () => {
    let broker: Broker
    const readers: TopicReader[] = []
    const writers = new Map<Compression, Promise<TopicWriter>>()

    beforeAll(async () => {
      const server = await start()
      const address = server.settings.KAFKA_BROKERS ?? ''
      const kafka = kafkaClient({ brokers: [address] }, 'contract', () => {})
      const admin = kafka.admin()
      await admin.connect()
      const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
      await producer.connect()
      broker = {
        kind: server.kind,
        server,
        kafka,
        admin,
        async topic() {
          const plan = { name: `topic-${randomUUID()}`, partitions: PARTITIONS, retentionMs: 3_600_000 }
          await ensureTopics(kafka, admin, [plan], 1)
          return plan.name
        },
        reader(topics, group = randomUUID()) {
          const settings = {
            group,
            topics,
            sessionTimeout: 6_000,
            maxBytesPerPartition: 1 << 20,
            fetchBytes: 1,
            fetchWait: 250,
            partitions: PARTITIONS,
          }
          const reader = groupReader({ kafka, settings, clock: Date.now, report: () => {} })
          readers.push(reader)
          return reader
        },
        writer(compression = 'none') {
          const writer = writers.get(compression) ?? kafkaWriter(kafka, compression)
          writers.set(compression, writer)
          return writer
        },
        async produce(topic, messages, compression = 0) {
          await producer.send({ topic, messages, compression, acks: -1 })
        },
        async committed(group, topic) {
          const [offsets] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
          return (offsets?.partitions ?? []).reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0)
        },
      }
      closers.push(
        () => producer.disconnect(),
        () => admin.disconnect(),
        () => server.close(),
      )
    })
    const closers: (() => Promise<void>)[] = []
    afterAll(async () => {
      await Promise.all(readers.map((reader) => reader.close()))
      await Promise.all([...writers.values()].map(async (writer) => (await writer).close()))
      for (const close of closers) await close()
    })

    // Side by side: most of the time goes by while groups form.
    describe('every one:', { concurrent: true }, () => {
      const send = async (
        topic: string,
        records: readonly { key: string; value: string }[],
        compression?: Compression,
      ) => (await broker.writer(compression)).send(records.map((record) => ({ topic, ...record })))

      it('bring every record, in the order of its key, with its bytes, whatever it was compressed with', async ({
        expect,
      }) => {
        const topic = await broker.topic()
        const records = COMPRESSIONS.flatMap((compression, index) => ({
          compression,
          own: [
            ...numbered(40, index * 100),
            { key: '鍵:1', value: `${compression} ${'火 and words, '.repeat(4_000)}` },
            { key: 'random', value: Array.from({ length: 2_000 }, () => Math.random()).join() },
          ],
        }))
        for (const { compression, own } of records) await send(topic, own, compression)
        const got = collector()
        await broker.reader([topic]).start(got.handle)
        const sent = records.flatMap(({ own }) => own)
        await expect.poll(() => got.messages.length, IN_TIME).toBe(sent.length)
        expect(got.values()).toEqual(valuesOf(sent))
        for (const key of new Set(sent.map((record) => record.key))) {
          const inOrder = (of: readonly { key: string | null; value: unknown }[]) =>
            of.filter((one) => one.key === key).map(({ value }) => String(value))
          expect(inOrder(got.messages)).toEqual(inOrder(sent))
        }
        for (const batch of got.batches)
          for (const message of batch.messages)
            expect([message.topic, message.partition]).toEqual([batch.topic, batch.partition])
      })

      it('bring headers, absent keys and absent values as they are', async ({ expect }) => {
        const topic = await broker.topic()
        await broker.produce(topic, [
          {
            key: null,
            value: null,
            headers: { trace: 'abc', many: ['x', 'y'], bytes: Buffer.from('é') },
            partition: 1,
          },
          { key: '', value: '', partition: 1 },
        ])
        const got = collector()
        await broker.reader([topic]).start(got.handle)
        await expect.poll(() => got.messages.length, IN_TIME).toBe(2)
        expect(got.messages).toMatchObject([
          { key: null, value: null, partition: 1, offset: '0', headers: { trace: 'abc', many: 'x, y', bytes: 'é' } },
          { key: '', value: Buffer.alloc(0), partition: 1, offset: '1', headers: {} },
        ])
        expect(Math.abs((got.messages[0]?.timestamp ?? 0) - Date.now())).toBeLessThan(60_000)
      })

      it('say where a partition ends', async ({ expect }) => {
        const topic = await broker.topic()
        await broker.produce(topic, [
          { value: 'a', partition: 0 },
          { value: 'b', partition: 0 },
        ])
        const got = collector()
        const reader = broker.reader([topic])
        await reader.start(got.handle)
        await expect.poll(() => got.messages.length, IN_TIME).toBe(2)
        expect(got.batches.at(-1)?.atEnd).toBe(true)
      })

      it('commit a batch after its handling, and not before', async ({ expect }) => {
        const topic = await broker.topic()
        await send(topic, numbered(30))
        const group = randomUUID()
        const gate = Promise.withResolvers<void>()
        const got = collector()
        await broker.reader([topic], group).start(async (batch) => {
          await got.handle(batch)
          await gate.promise
        })
        await expect.poll(() => got.messages.length, IN_TIME).toBeGreaterThan(0)
        await sleep(400)
        expect(await broker.committed(group, topic)).toBe(0)
        gate.resolve()
        await expect.poll(() => broker.committed(group, topic), IN_TIME).toBe(30)
        expect(got.values()).toEqual(valuesOf(numbered(30)))
      })

      it('deliver a batch again as long as its handling fails, also if the consumer dies of it, and report that it was down', async ({
        expect,
      }) => {
        const topic = await broker.topic()
        await send(topic, numbered(20))
        const [group, got] = [randomUUID(), collector()]
        const reader = broker.reader([topic], group)
        expect(reader.downSince).not.toBeNull()
        const state = { failed: 0, wasUp: false, wasDown: false }
        const watch = setInterval(() => {
          if (state.failed > 0) state.wasDown ||= reader.downSince !== null
        }, 10)
        await reader.start(async (batch) => {
          state.wasUp ||= reader.downSince === null
          if (!state.wasDown) {
            state.failed++
            throw new Error('Redis is away')
          }
          await got.handle(batch)
        })
        await expect.poll(() => new Set(got.values()).size, IN_TIME).toBe(20)
        clearInterval(watch)
        expect(state).toMatchObject({ wasUp: true, wasDown: true })
        expect(state.failed).toBeGreaterThan(4)
        expect(reader.downSince).toBeNull()
        await expect.poll(() => broker.committed(group, topic), IN_TIME).toBe(20)
      })

      it('rest while they are paused, also over a rebalance, and go on when they are resumed', async ({ expect }) => {
        const topic = await broker.topic()
        const group = randomUUID()
        const [one, two] = [collector(), collector()]
        const [first, second] = [broker.reader([topic], group), broker.reader([topic], group)]
        first.setPaused(true)
        await first.start(one.handle)
        await expect.poll(() => first.downSince, IN_TIME).toBeNull()
        await send(topic, numbered(40))
        await sleep(600)
        expect(one.messages).toEqual([])
        second.setPaused(true)
        await second.start(two.handle)
        await expect.poll(async () => (await second.positions()).length, IN_TIME).toBe(PARTITIONS / 2)
        await expect.poll(async () => (await first.positions()).length, IN_TIME).toBe(PARTITIONS / 2)
        await send(topic, numbered(40, 40))
        await sleep(800)
        expect([one.messages, two.messages]).toEqual([[], []])
        second.setPaused(false)
        await expect.poll(() => two.messages.length, IN_TIME).toBeGreaterThan(0)
        expect(one.messages).toEqual([])
        first.setPaused(false)
        await expect.poll(() => [...one.values(), ...two.values()].sort(), IN_TIME).toEqual(valuesOf(numbered(80)))
      })

      it('read no further in a partition that work holds, also over a pause, and all others meanwhile', async ({
        expect,
      }) => {
        const [topic, group, got, gate] = [
          await broker.topic(),
          randomUUID(),
          collector(),
          Promise.withResolvers<void>(),
        ]
        const reader = broker.reader([topic], group)
        const produce = (step: string) =>
          broker.produce(
            topic,
            [0, 1].map((partition) => ({ value: `${step} ${partition}`, partition })),
          )
        await produce('first')
        await reader.start(async (batch, _, runInBackground) => {
          await got.handle(batch)
          if (batch.partition === 0) runInBackground(() => gate.promise, { holdsPartition: true })
        })
        await expect.poll(got.values, IN_TIME).toEqual(['first 0', 'first 1'])
        await produce('second')
        await expect.poll(got.values, IN_TIME).toEqual(['first 0', 'first 1', 'second 1'])
        reader.setPaused(true)
        reader.setPaused(false)
        await produce('third')
        await expect.poll(got.values, IN_TIME).toEqual(['first 0', 'first 1', 'second 1', 'third 1'])
        await expect.poll(() => broker.committed(group, topic), IN_TIME).toBe(3)
        gate.resolve()
        await expect.poll(() => got.messages.length, IN_TIME).toBe(6)
        await expect.poll(() => broker.committed(group, topic), IN_TIME).toBe(6)
      })

      it('report how much is left in each partition', async ({ expect }) => {
        const topic = await broker.topic()
        const reader = broker.reader([topic])
        const got = collector()
        expect(await reader.positions()).toEqual([])
        reader.setPaused(true)
        await reader.start(got.handle)
        await expect.poll(async () => (await reader.positions()).length, IN_TIME).toBe(PARTITIONS)
        const lags = async () =>
          new Map(
            (await reader.positions()).map(({ topic: of, partition, lag }) => [`${of === topic} ${partition}`, lag]),
          )
        expect([...(await lags()).values()]).toEqual([0, 0, 0, 0])
        await broker.produce(
          topic,
          [0, 2, 2, 3].map((partition) => ({ value: 'x', partition })),
        )
        expect(await lags()).toEqual(
          new Map([
            ['true 0', 1],
            ['true 1', 0],
            ['true 2', 2],
            ['true 3', 1],
          ]),
        )
        reader.setPaused(false)
        await expect.poll(async () => [...(await lags()).values()], IN_TIME).toEqual([0, 0, 0, 0])
        expect(got.messages).toHaveLength(4)
      })

      it('report how far a group is behind in every partition, whoever reads it', async ({ expect }) => {
        const [topic, group, got] = [await broker.topic(), randomUUID(), collector()]
        const time = { now: 1_000_000 }
        const { kafka } = broker
        const lag = partitionLag({ kafka, group, topics: [topic], clock: () => time.now })
        const lags = async () => {
          const all = (await lag.poll()).sort((a, b) => a.partition - b.partition)
          return all.map(({ messages, seconds }) => [messages, seconds])
        }
        await broker.produce(
          topic,
          [0, 2, 2, 3].map((partition) => ({ value: 'x', partition })),
        )
        // Nobody has ever read any of them.
        const none = [0, 0]
        // A group's coordinator is not ready at once, and for how long they have waited nobody has watched.
        await expect.poll(() => lags().catch(() => null), IN_TIME).toEqual([[1, null], none, [2, null], [1, null]])
        time.now += 5_000
        expect(await lags()).toEqual([[1, 5], none, [2, 5], [1, 5]])
        const reader = broker.reader([topic], group)
        await reader.start(got.handle)
        await expect.poll(lags, IN_TIME).toEqual([none, none, none, none])
        await reader.close()
        await broker.produce(topic, [{ value: 'y', partition: 1 }])
        await lags()
        time.now += 60_000
        expect(await lags()).toEqual([none, [1, 60], none, none])
        expect(await lag.poll()).toContainEqual({ topic, partition: 1, messages: 1, seconds: 60 })
        await lag.close()
        expect(await lags()).toHaveLength(PARTITIONS)
        await lag.close()
      })

      it('go on after a reader was closed where it had come to', async ({ expect }) => {
        const topic = await broker.topic()
        const [group, one, two] = [randomUUID(), collector(), collector()]
        const first = broker.reader([topic], group)
        await send(topic, numbered(10))
        await first.start(one.handle)
        await expect.poll(() => broker.committed(group, topic), IN_TIME).toBe(10)
        await first.close()
        await send(topic, numbered(10, 10))
        await broker.reader([topic], group).start(two.handle)
        await expect.poll(() => two.messages.length, IN_TIME).toBe(10)
        expect(two.values()).toEqual(valuesOf(numbered(10, 10)))
        expect(one.messages).toHaveLength(10)
      })

      it('take nothing, gladly', async ({ expect }) => {
        await expect((await broker.writer()).send([])).resolves.toBeUndefined()
      })
    })

    more(() => broker)
  })
}
