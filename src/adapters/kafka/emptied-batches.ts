import { createRequire } from 'node:module'
import { entryOf } from '../../domain/entry-of.ts'

/** Of what kafkajs 2.2.4 makes of a batch of records, what is needed here. */
interface DecodedBatch {
  readonly firstOffset: string
  readonly lastOffsetDelta: number
  readonly maxTimestamp: string
  readonly records: readonly { readonly offset: string }[]
}
type DecodeBatch = (bytes: unknown) => Promise<DecodedBatch>

const DECODER = 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
let done = false

/**
 * Lets kafkajs get past batches that compaction has emptied, wholly or at their end. It goes by the last record that it sees,
 * so that it would fetch a batch without any again and again, without a rest, and never come to what stands behind it. Here the
 * last offset of such a batch is given a control record, as the mark of a transaction is one: it is passed over and shown to
 * nobody. To be called before the first fetch of the process.
 */
export function passEmptiedBatches(): void {
  if (done) return
  done = true
  const require = createRequire(import.meta.url)
  const decode = require(DECODER) as DecodeBatch
  const loaded = entryOf(require.cache, require.resolve(DECODER))
  if (loaded === undefined) throw new Error('kafkajs decoder not found; was kafkajs upgraded?')
  loaded.exports = async (bytes: unknown): Promise<DecodedBatch> => {
    const batch = await decode(bytes)
    const { firstOffset, lastOffsetDelta, maxTimestamp, records } = batch
    const end = BigInt(firstOffset) + BigInt(lastOffsetDelta)
    if (BigInt(records.at(-1)?.offset ?? -1) >= end) return batch
    const record = { offset: String(end), timestamp: maxTimestamp, key: null, value: null, headers: {} }
    const mark = { ...record, isControlRecord: true, batchContext: batch }
    return { ...batch, records: [...records, mark] }
  }
}
