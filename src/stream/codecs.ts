import { promisify } from 'node:util'
import { gunzip, gzip, zstdCompress, zstdDecompress } from 'node:zlib'
import kafkajs from 'kafkajs'
import { compressFrame, compressFrameSync, decompressFrame } from 'lz4-napi'
import snappy from 'snappyjs'
import { LARGE_RECORDS, MOST_LARGE, takeLargeRoom } from './large-batches.ts'
import { CORRUPT_BATCH, noteUnfolded } from './record.ts'

/** A batch larger than this when decompressed counts as corrupt: producers limit theirs to a megabyte or a few. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024
/** A batch larger than this is large: one at a time is unpacked, of all partitions and consumers. */
const LARGE_BYTES = 4 * 1024 * 1024
/**
 * Each record, however small, becomes an object, all of a batch in one piece, and a batch of a few kilobytes can contain tens
 * of millions. A producer's megabyte of real messages holds some 20,000.
 */
export const MAX_RECORDS = 100_000

interface Pack {
  compress(data: Buffer): Promise<Buffer>
  /** Rejects if there are more bytes than this. */
  decompress(data: Buffer, most: number): Promise<Buffer>
}

type Limit = { maxOutputLength: number }
const gzipPack: Pack = {
  compress: (data) => promisify(gzip)(data),
  decompress: (data, most) => promisify<Buffer, Limit, Buffer>(gunzip)(data, { maxOutputLength: most }),
}
const zstdPack: Pack = {
  compress: (data) => promisify<Buffer, Buffer>(zstdCompress)(data),
  decompress: (data, most) => promisify<Buffer, Limit, Buffer>(zstdDecompress)(data, { maxOutputLength: most }),
}
/** Up to so many bytes are compressed on this thread: handing them to another takes several times as long. */
const COMPRESSED_HERE = 64 * 1024
const lz4Pack: Pack = {
  compress: async (data) => (data.length > COMPRESSED_HERE ? compressFrame(data) : compressFrameSync(data)),
  async decompress(data, most) {
    if (lz4Bound(data) > most) throw new Error(`decompressed size exceeds ${most} bytes`)
    return decompressFrame(data)
  },
}

/** The magic number of an LZ4 frame. The decoder reads legacy frames too, whose blocks may be of any size. */
const LZ4_MAGIC = 0x184d2204
const [LZ4_DICTIONARY, LZ4_CHECKSUM] = [1, 4]

/**
 * The most bytes that an LZ4 frame can decompress to: the number of its blocks, except the last, times their maximum
 * size. Throws for anything but one frame without a dictionary, as Kafka's producers send it.
 */
function lz4Bound(frame: Buffer): number {
  if (frame.length < 7 || frame.readUInt32LE(0) !== LZ4_MAGIC) throw new Error('not an LZ4 frame')
  const flags = frame[4] ?? 0
  if (flags & LZ4_DICTIONARY) throw new Error('an LZ4 frame with a dictionary')
  const blockBytes = 2 ** (8 + 2 * (((frame[5] ?? 0) >> 4) & 7))
  let blocks = 0
  let at = 7 + (flags & 8 ? 8 : 0)
  for (; at + 4 <= frame.length; blocks++) {
    const size = frame.readUInt32LE(at) & 0x7fffffff
    if (size === 0) break
    at += 4 + size + (flags & 16 ? 4 : 0)
  }
  if (frame.length > at + 4 + (flags & LZ4_CHECKSUM ? 4 : 0)) throw new Error('more than one LZ4 frame')
  return Math.max(0, blocks - 1) * blockBytes
}

/** Kafka's Snappy format is a stream of blocks, each preceded by its length, after this magic and two version numbers. */
const SNAPPY_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const SNAPPY_HEADER = Buffer.concat([SNAPPY_MAGIC, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])])

const snappyPack: Pack = {
  async compress(data) {
    const block = snappy.compress(data)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(block.length)
    return Buffer.concat([SNAPPY_HEADER, length, block])
  },
  async decompress(data, most) {
    if (!data.subarray(0, SNAPPY_MAGIC.length).equals(SNAPPY_MAGIC)) return snappy.uncompress(data, most)
    const blocks: Buffer[] = []
    let room = most
    for (let at = SNAPPY_HEADER.length; at < data.length; ) {
      const length = data.readUInt32BE(at)
      const block = snappy.uncompress(data.subarray(at + 4, at + 4 + length), room)
      room -= block.length
      blocks.push(block)
      at += 4 + length
    }
    return Buffer.concat(blocks)
  },
}

/** Of a batch that unpacks to so many times its size no large parts go into dead letters. Messages of people unpack to ten or twenty. */
const UNFOLDED = 50

/**
 * Registers every Kafka codec with kafkajs, which has only gzip itself and fails silently on others. A batch that can't
 * be decompressed becomes the same number of placeholder records with {@link CORRUPT_BATCH}, so that it can be set aside
 * like any other bad message: kafkajs itself would read it again forever.
 */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs
  CompressionCodecs[CompressionTypes.GZIP] = () => codec(gzipPack)
  CompressionCodecs[CompressionTypes.Snappy] = () => codec(snappyPack)
  CompressionCodecs[CompressionTypes.LZ4] = () => codec(lz4Pack)
  CompressionCodecs[CompressionTypes.ZSTD] = () => codec(zstdPack)
}

function codec(pack: Pack) {
  return {
    compress: (encoder: { buffer: Buffer }) => pack.compress(encoder.buffer),
    async decompress(data: Buffer): Promise<Buffer> {
      const count = recordCount(data)
      // kafkajs expects as many records as the batch declares, placeholders included: too many fail the consumer, not the process.
      if (count !== null && count > MAX_RECORDS)
        throw new Error(`a batch of ${count} records exceeds the limit of ${MAX_RECORDS}; skip its offset`)
      const small = await pack.decompress(data, LARGE_BYTES).catch(() => null)
      // All there is, with what its records have taken.
      const taken = count !== null && count > LARGE_RECORDS ? count : 0
      if (small === null) await takeLargeRoom(Math.max(0, MOST_LARGE - taken), taken)
      try {
        const records = small ?? (await pack.decompress(data, MAX_UNPACKED_BYTES))
        if (records.length > UNFOLDED * data.length) noteUnfolded(records)
        if (!holdsRecords(records, count)) throw new Error('the decompressed data is not a batch of records')
        return records
      } catch (error) {
        const why = error instanceof Error ? error.message : 'unknown'
        if (count === null) throw error
        return standIns(count, data, `the batch of ${count} could not be decompressed: ${why}`)
      }
    },
  }
}

/** Size of a version-2 record batch's header, in bytes; the compressed records follow it in the same buffer. */
const BATCH_HEADER_BYTES = 61
const MAGIC_AT = 16
const COUNT_AT = 57

/** The number of records declared by the header before `data`; null if there is no such header. */
function recordCount(data: Buffer): number | null {
  if (data.byteOffset < BATCH_HEADER_BYTES) return null
  const header = Buffer.from(data.buffer, data.byteOffset - BATCH_HEADER_BYTES, BATCH_HEADER_BYTES)
  return header[MAGIC_AT] === 2 ? header.readInt32BE(COUNT_AT) : null
}

/**
 * Whether these bytes are exactly this many records, each with its length, and nothing else: otherwise kafkajs would
 * never stop reading.
 */
function holdsRecords(records: Buffer, count: number | null): boolean {
  let at = 0
  for (let record = 0; count !== null && record < count; record++) {
    let [length, shift] = [0, 0]
    for (;;) {
      const byte = records[at++]
      if (byte === undefined || shift > 28) return false
      length += (byte & 0x7f) * 2 ** shift
      shift += 7
      if (byte < 0x80) break
    }
    if (length % 2 !== 0) return false
    at += length / 2
    if (at > records.length) return false
  }
  return count === null || at === records.length
}

/** Uncompressed version-2 records: the first contains the bytes that could not be read, the rest are empty. */
function standIns(count: number, raw: Buffer, why: string): Buffer {
  const header = Buffer.concat([varint(1), sized(Buffer.from(CORRUPT_BATCH)), sized(Buffer.from(why))])
  return Buffer.concat(
    Array.from({ length: count }, (_, offset) => {
      const value = offset === 0 ? sized(raw) : varint(-1)
      const body = Buffer.concat([Buffer.from([0]), varint(0), varint(offset), varint(-1), value, header])
      return sized(body)
    }),
  )
}

function sized(bytes: Buffer): Buffer {
  return Buffer.concat([varint(bytes.length), bytes])
}

/** A zigzag variable-length integer. */
function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}
