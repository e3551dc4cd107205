import { createRequire } from 'node:module'
import { entryOf } from '../../domain/entry-of.ts'

/** The parts used here of kafkajs 2.2.4's decoded record batch. */
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
 * Lets kafkajs continue after batches that compaction has emptied, entirely or at their end. It advances by the last
 * record that it sees, so it would fetch a batch without records again and again, and never reach what follows. Here the
 * last offset of such a batch gets a control record, like a transaction marker, which kafkajs skips without showing it
 * to anyone. Call it before the first fetch of the process.
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
