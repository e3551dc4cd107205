import { FAULTS } from './faults.ts'

/** A partition keeps at least its last so many bytes of batches, read or not. */
const KEPT_BYTES = 16 * 1024 * 1024

// Where the header of a version-2 record batch has what a broker needs of it; records may be compressed, and stay so.
const LENGTH_AT = 8
const BEFORE_LENGTH = 12
const EPOCH_AT = 12
const MAGIC_AT = 16
const LAST_DELTA_AT = 23
const NEWEST_AT = 35
const HEADER_BYTES = 61

interface StoredBatch {
  readonly first: number
  /** The offset behind its last record. */
  readonly end: number
  readonly newest: number
  readonly bytes: Buffer
}

/** One partition's log: whole batches as producers sent them, under offsets of its own. */
export function partitionLog() {
  let batches: StoredBatch[] = []
  let size = 0
  let end = 0
  const start = () => batches[0]?.first ?? end

  /** The place of the batch that holds this offset, or of the first one behind it. */
  function placeOf(offset: number): number {
    let [low, high] = [0, batches.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((batches[middle]?.end ?? 0) > offset) high = middle
      else low = middle + 1
    }
    return low
  }

  return {
    start,
    end: () => end,
    /** The offset of the first of these records, or the code of what is wrong with them; then none is kept. */
    append(records: Buffer): { offset: number; fault: number } {
      const own = batchesIn(records)
      if (own === null) return { offset: -1, fault: FAULTS.corrupt }
      const offset = end
      for (const part of own) {
        const bytes = Buffer.from(part)
        bytes.writeBigInt64BE(BigInt(end))
        bytes.writeInt32BE(0, EPOCH_AT)
        const first = end
        end += bytes.readInt32BE(LAST_DELTA_AT) + 1
        batches.push({ first, end, newest: Number(bytes.readBigInt64BE(NEWEST_AT)), bytes })
        size += bytes.length
      }
      let dropped = 0
      for (const batch of batches.slice(0, -1)) {
        if (size - batch.bytes.length < KEPT_BYTES) break
        size -= batch.bytes.length
        dropped++
      }
      if (dropped > 0) batches = batches.slice(dropped)
      return { offset, fault: 0 }
    },
    /** Batches from the one that holds `offset`, up to `maxBytes` and at least one; null where no record was or will be. */
    read(offset: number, maxBytes: number): readonly Buffer[] | null {
      if (offset < start() || offset > end) return null
      const found: Buffer[] = []
      let room = maxBytes
      for (let place = placeOf(offset); place < batches.length; place++) {
        const { bytes } = batches[place] as StoredBatch
        if (found.length > 0 && bytes.length > room) break
        found.push(bytes)
        room -= bytes.length
      }
      return found
    },
    /** The first offset of the first batch with a record as young as this, in epoch ms; -1 where there is none. */
    since(timestamp: number): number {
      return batches.find(({ newest }) => newest >= timestamp)?.first ?? -1
    },
  }
}
export type PartitionLog = ReturnType<typeof partitionLog>

/** Null where these bytes are no whole batches of version 2. */
function batchesIn(records: Buffer): Buffer[] | null {
  const found: Buffer[] = []
  for (let at = 0; at < records.length; ) {
    if (at + HEADER_BYTES > records.length || records[at + MAGIC_AT] !== 2) return null
    const next = at + BEFORE_LENGTH + records.readInt32BE(at + LENGTH_AT)
    if (next < at + HEADER_BYTES || next > records.length || records.readInt32BE(at + LAST_DELTA_AT) < 0) return null
    found.push(records.subarray(at, next))
    at = next
  }
  return found
}
