import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { patchKafkaJs } from '../../src/stream/kafkajs-patches.ts'
import { CORRUPT_BATCH } from '../../src/stream/record.ts'

registerCodecs()
patchKafkaJs()
const require = createRequire(import.meta.url)
/** kafkajs's own, loaded after it was patched. */
const internal = (path: string) => require(`kafkajs/src/protocol/${path}`)
const Encoder = internal('encoder.js')
const Decoder = internal('decoder.js')
const { RecordBatch } = internal('recordBatch/v0/index.js')
const Record = internal('recordBatch/record/v0/index.js')
const decodeMessages = internal('requests/fetch/v4/decodeMessages.js') as (decoder: unknown) => Promise<unknown[]>

/** Batches of so many records of so many bytes each, as a fetch brings them of a partition. */
async function partition(
  batches: number,
  records: number,
  bytes: number,
  compression = kafkajs.CompressionTypes.GZIP,
): Promise<unknown> {
  const all = new Encoder()
  for (let nth = 0; nth < batches; nth++) {
    const batch = await RecordBatch({
      compression,
      partitionLeaderEpoch: 0,
      maxTimestamp: 0,
      firstTimestamp: 0,

      firstOffset: nth * records,
      lastOffsetDelta: records - 1,
      producerId: -1,
      producerEpoch: 0,
      firstSequence: 0,
      records: Array.from({ length: records }, (_, offset) =>
        Record({ offsetDelta: offset, timestampDelta: 0, key: null, value: Buffer.alloc(bytes, 'x'), headers: {} }),
      ),
    })
    all.writeEncoder(batch)
  }
  return new Decoder(new Encoder().writeInt32(all.size()).writeEncoder(all).buffer)
}

test('a fetch brings all of a partition that is small, and of one that unpacks to more what fits, whole batches', async () => {
  expect(await decodeMessages(await partition(8, 10, 1_000))).toHaveLength(80)
  expect(await decodeMessages(await partition(16, 10, 100_000))).toHaveLength(30)
  expect(await decodeMessages(await partition(3, 4, 1_000_000))).toHaveLength(4)
  expect(await decodeMessages(await partition(8, 10_000, 1))).toHaveLength(20_000)
})

test('the next partition of the fetch has a bound of its own', async () => {
  for (let nth = 0; nth < 3; nth++) expect(await decodeMessages(await partition(2, 30, 100_000))).toHaveLength(30)
})

test('a batch brings all of its records, more than a call can have arguments', async () => {
  const count = 130_000
  const { None } = kafkajs.CompressionTypes
  const records = (await decodeMessages(await partition(1, count, 0, None))) as { offset: string }[]
  expect(records).toHaveLength(count)
  expect(records.every(({ offset }, nth) => Number(offset) === nth)).toBe(true)
})

test('a compressed batch of too many records is one that can’t be read, and what follows is reached', async () => {
  const read = (await decodeMessages(await partition(2, 100_001, 0))) as IncomingRecord[]
  expect(read.map(({ offset, isControlRecord }) => [offset, isControlRecord])).toEqual([
    ['0', false],
    ['100000', true],
    ['100001', false],
    ['200001', true],
  ])
  const [first] = read
  expect(String(first?.headers[CORRUPT_BATCH])).toBe('a batch of 100001 records exceeds the limit of 100000')
  expect(first?.value?.length).toBeGreaterThan(100)
})

interface IncomingRecord {
  readonly offset: string
  readonly isControlRecord: boolean
  readonly headers: Readonly<Record<string, Buffer>>
  readonly value: Buffer | null
}
