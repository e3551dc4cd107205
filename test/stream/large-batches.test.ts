import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { patchKafkaJs } from '../../src/stream/kafkajs-patches.ts'
import { incomingOf } from '../../src/stream/record.ts'

registerCodecs()
patchKafkaJs()
const require = createRequire(import.meta.url)
/** kafkajs's own, loaded after it was patched. */
const internal = (path: string) => require(`kafkajs/src/${path}`)
const Encoder = internal('protocol/encoder.js')
const Decoder = internal('protocol/decoder.js')
const { RecordBatch } = internal('protocol/recordBatch/v0/index.js')
const Record = internal('protocol/recordBatch/record/v0/index.js')
const decodeMessages = internal('protocol/requests/fetch/v4/decodeMessages.js') as (
  decoder: unknown,
) => Promise<Parameters<typeof incomingOf>[2][]>
const Runner = internal('consumer/runner.js')

let now = 0
beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const made = new Map<string, Buffer>()
/** A batch of so many records of so many bytes each, as a fetch brings it of a partition. */
async function partition(records: number, bytes: number): Promise<unknown> {
  const name = `${records} ${bytes}`
  const fetched = made.get(name) ?? (await madeOf(records, bytes))
  made.set(name, fetched)
  return new Decoder(fetched)
}

async function madeOf(records: number, bytes: number): Promise<Buffer> {
  const batch = await RecordBatch({
    compression: kafkajs.CompressionTypes.GZIP,
    partitionLeaderEpoch: 0,
    maxTimestamp: 0,
    firstTimestamp: 0,
    firstOffset: 0,
    lastOffsetDelta: records - 1,
    producerId: -1,
    producerEpoch: 0,
    firstSequence: 0,
    records: Array.from({ length: records }, (_, offset) =>
      Record({ offsetDelta: offset, timestampDelta: 0, key: null, value: Buffer.alloc(bytes, 'x'), headers: {} }),
    ),
  })
  return new Encoder().writeInt32(batch.size()).writeEncoder(batch).buffer
}

/** A consumer of kafkajs, as far as it fetches: how many records a fetch brings of each of these partitions. */
function consumer(brokers = ['1']) {
  let beats = 0
  let fetched = async (): Promise<number[]> => []
  const runner = Object.assign(Object.create(Runner.prototype), {
    running: true,
    logger: { debug: () => {} },
    instrumentationEmitter: { emit: () => {} },
    fetchManager: { stop: async () => {} },
    consumerGroup: { getNodeIds: () => brokers, fetch: () => fetched(), leave: async () => {} },
    heartbeat: async () => void beats++,
  })
  return {
    brokers,
    beats: () => beats,
    fetch(partitions: readonly (() => Promise<unknown>)[], broker = '1'): Promise<number[]> {
      fetched = async () => {
        const counts: number[] = []
        for (const one of partitions) counts.push((await decodeMessages(await one())).length)
        return counts
      }
      return runner.fetch(broker)
    },
    fetchFor(lasting: Promise<number[]>): Promise<number[]> {
      fetched = () => lasting
      return runner.fetch('1')
    },
    async stop() {
      runner.consuming = false
      await runner.stop()
    },
  }
}

const LARGE = () => partition(6, 900_000)
const MANY = (records: number) => () => partition(records, 1)
const SMALL = () => partition(8, 1_000)

test('of batches that unpack to megabytes one is in memory at a time, of all partitions and consumers; small ones go on', async () => {
  const [one, other] = [consumer(), consumer()]
  expect(await one.fetch([LARGE, LARGE, SMALL])).toEqual([6, 0, 8])
  expect(await other.fetch([SMALL, LARGE])).toEqual([8, 0])
  await one.stop()
  expect(await other.fetch([LARGE])).toEqual([6])
  await other.stop()
})

test('the next large batch is that of the consumer which has waited longest', async () => {
  const [one, other, third] = [consumer(), consumer(), consumer()]
  expect(await one.fetch([LARGE])).toEqual([6])
  expect(await other.fetch([LARGE])).toEqual([0])
  expect(await third.fetch([LARGE])).toEqual([0])
  // All that its last fetch brought has been handled.
  expect(await one.fetch([LARGE])).toEqual([0])
  expect(await third.fetch([LARGE])).toEqual([0])
  expect(await other.fetch([LARGE])).toEqual([6])
  await other.stop()
  expect(await third.fetch([LARGE])).toEqual([6])
  await third.stop()
  // Who asks no more, as where it is paused, is not waited for.
  const fourth = consumer()
  expect(await fourth.fetch([LARGE])).toEqual([0])
  now += 10_000
  expect(await fourth.fetch([LARGE])).toEqual([6])
  await Promise.all([one, fourth].map((each) => each.stop()))
})

test('of batches of many records few are in memory at a time', async () => {
  const [one, other] = [consumer(), consumer()]
  expect(await one.fetch([MANY(40_000), MANY(40_000), MANY(40_000), MANY(4_000)])).toEqual([40_000, 40_000, 0, 4_000])
  expect(await other.fetch([LARGE])).toEqual([0])
  await one.stop()
  expect(await other.fetch([LARGE, MANY(40_000)])).toEqual([6, 0])
  // Many records that are many bytes.
  expect(await other.fetch([() => partition(6_000, 900), LARGE])).toEqual([6_000, 0])
  await other.stop()
})

test('a large batch of many records is read whole in its turn, though another consumer waits for the next', async () => {
  const [one, other] = [consumer(), consumer()]
  const both = () => partition(6_000, 900)
  expect(await one.fetch([LARGE])).toEqual([6])
  expect(await other.fetch([both])).toEqual([0])
  expect(await one.fetch([both])).toEqual([0])
  expect(await other.fetch([both])).toEqual([6_000])
  expect(await one.fetch([both])).toEqual([0])
  expect(await other.fetch([both])).toEqual([0])
  expect(await one.fetch([both])).toEqual([6_000])
  await Promise.all([one, other].map((each) => each.stop()))
})

test('a consumer gives its turn back where its broker is gone', async () => {
  const [one, other] = [consumer(['1', '2']), consumer()]
  expect(await one.fetch([LARGE], '2')).toEqual([6])
  expect(await one.fetch([LARGE], '1')).toEqual([0])
  one.brokers.pop()
  expect(await one.fetch([LARGE], '1')).toEqual([6])
  await Promise.all([one, other].map((each) => each.stop()))
})

test('the group hears from a consumer while its fetch goes on', async () => {
  vi.useFakeTimers()
  const one = consumer()
  const { promise, resolve } = Promise.withResolvers<number[]>()
  const fetching = one.fetchFor(promise)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(one.beats()).toBe(5)
  resolve([1])
  await fetching
  await vi.advanceTimersByTimeAsync(5_000)
  expect(one.beats()).toBe(5)
})

test('a dead letter holds little of a message that was many times smaller as it was sent', async () => {
  const letterOf = async (bytes: unknown) => {
    const [record] = await decodeMessages(bytes)
    if (record === undefined) throw new Error('no record')
    const { letter } = deadLetterOf(incomingOf('posts', 0, record), { reason: 'too-large', detail: '' })
    return deadLetter.parse(JSON.parse(letter))
  }
  const { raw, rawBytes, truncated } = await letterOf(await SMALL())
  expect([Buffer.from(raw, 'base64').length, rawBytes, truncated]).toEqual([1_000, 1_000, false])
  const folded = await letterOf(await partition(2, 100_000))
  expect([Buffer.from(folded.raw, 'base64').length, folded.rawBytes, folded.truncated]).toEqual([1_024, 100_000, true])
})
