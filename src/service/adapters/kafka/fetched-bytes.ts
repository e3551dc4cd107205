import { createRequire } from 'node:module'
import { entryOf } from '../../domain/entry-of.ts'

/** The parts used here of kafkajs 2.2.4's decoded record batch. */
interface DecodedBatch {
  readonly records: readonly { readonly key: Buffer | null; readonly value: Buffer | null }[]
}
type DecodeBatch = (bytes: object) => Promise<DecodedBatch>

const DECODER = 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
/** kafkajs takes what it has decoded of a partition when it meets an error of this name, and fetches the rest again. */
const PARTIAL = 'KafkaJSPartialMessageError'
/** No further batch of a partition is unpacked once those of the fetch have so many bytes: four times what a fetch brings. */
const MOST_BYTES = 2 ** 21
/** What a record takes beside its bytes, as an object. */
const BYTES_BESIDE = 200
let done = false

/**
 * Lets a fetch bring no more of a partition than some megabytes, or one batch. kafkajs unpacks all batches of all partitions
 * before it hands over the first: half a megabyte of packed repetition, as one account writes it, is hundreds, and the process
 * that is started in the place of one that had not the memory would fetch the same. Call it before the first fetch of the
 * process.
 */
export function boundFetchedBytes(): void {
  if (done) return
  done = true
  const require = createRequire(import.meta.url)
  const decode = require(DECODER) as DecodeBatch
  const loaded = entryOf(require.cache, require.resolve(DECODER))
  if (loaded === undefined) throw new Error('kafkajs decoder not found; was kafkajs upgraded?')
  /** By the bytes of a partition in a fetch: what its batches have so far. */
  const unpacked = new WeakMap<object, number>()
  loaded.exports = async (bytes: object): Promise<DecodedBatch> => {
    const before = unpacked.get(bytes) ?? 0
    if (before >= MOST_BYTES)
      throw Object.assign(new Error('the rest of the partition is fetched again'), { name: PARTIAL })
    const batch = await decode(bytes)
    const all = batch.records.reduce(
      (sum, { key, value }) => sum + BYTES_BESIDE + (key?.length ?? 0) + (value?.length ?? 0),
      before,
    )
    unpacked.set(bytes, all)
    return batch
  }
}
