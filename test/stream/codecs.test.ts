import { gzipSync, zstdCompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'
import { compressFrameSync } from 'lz4-napi'
import snappy from 'snappyjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { CORRUPT_BATCH } from '../../src/stream/record.ts'

const { CompressionCodecs, CompressionTypes } = kafkajs
const MIB = 1 << 20
const HEADER_BYTES = 61

const TYPES = [CompressionTypes.GZIP, CompressionTypes.Snappy, CompressionTypes.LZ4, CompressionTypes.ZSTD] as const
type Type = (typeof TYPES)[number]
type Codec = { compress(encoder: { buffer: Buffer }): Promise<Buffer>; decompress(data: Buffer): Promise<Buffer> }
const codecOf = (type: Type): Codec => CompressionCodecs[type]() as Codec

/** The bytes as kafkajs hands them over: behind the header of a batch of three records, in the same memory. */
function inBatch(records: Buffer): Buffer {
  const batch = Buffer.concat([Buffer.alloc(HEADER_BYTES), records])
  batch[16] = 2
  batch.writeInt32BE(3, 57)
  return batch.subarray(HEADER_BYTES)
}

/** Zigzag variable-length integer. */
function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value * 2
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

/** Records as they stand in a batch: each behind its length, with neither key nor headers. */
function recordsOf(values: readonly Buffer[]): Buffer {
  const framed = values.map((value, offset) => {
    const body = [Buffer.from([0]), varint(0), varint(offset), Buffer.from([1]), varint(value.length), value, varint(0)]
    return [varint(Buffer.concat(body).length), ...body]
  })
  return Buffer.concat(framed.flat())
}

/** Snappy as Java writes it: many blocks behind one header. */
function javaSnappy(block: Buffer, times: number): Buffer {
  const packed = snappy.compress(block)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(packed.length)
  const magic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1])
  return Buffer.concat([magic, ...Array.from({ length: times }, () => [length, packed]).flat()])
}

beforeAll(() => registerCodecs())

describe('each codec of Kafka', () => {
  it.each([
    ['gzip', CompressionTypes.GZIP],
    ['snappy', CompressionTypes.Snappy],
    ['lz4', CompressionTypes.LZ4],
    ['zstd', CompressionTypes.ZSTD],
  ] as const)('%s gives back what it was given', async (_, type) => {
    const random = Buffer.from(Array.from({ length: 100_000 }, () => Math.floor(Math.random() * 256)))
    for (const value of [Buffer.from('x'), Buffer.from('words, words, '.repeat(50_000)), random]) {
      const data = recordsOf([value, Buffer.from('second'), value])
      const packed = await codecOf(type).compress({ buffer: data })
      expect((await codecOf(type).decompress(inBatch(packed))).equals(data)).toBe(true)
    }
  })

  it('Snappy reads both forms: Java’s blocks and the bare one', async () => {
    const one = recordsOf([Buffer.from('words, words, '.repeat(1_000))])
    const data = Buffer.concat([one, one, one])
    const { decompress } = codecOf(CompressionTypes.Snappy)
    expect(await decompress(inBatch(javaSnappy(one, 3)))).toEqual(data)
    expect(await decompress(inBatch(Buffer.from(snappy.compress(data))))).toEqual(data)
  })

  const zeros = Buffer.alloc(30 * MIB)
  /** A stream that is made of streams: gzip and Zstandard read on behind the end of one. */
  const tenTimes = (packed: Buffer) => Buffer.concat(Array.from({ length: 10 }, () => packed))
  it.each([
    ['gzip', CompressionTypes.GZIP, () => tenTimes(gzipSync(zeros))],
    ['snappy', CompressionTypes.Snappy, () => javaSnappy(zeros, 10)],
    ['lz4', CompressionTypes.LZ4, () => compressFrameSync(Buffer.alloc(300 * MIB))],
    ['zstd', CompressionTypes.ZSTD, () => tenTimes(zstdCompressSync(zeros))],
  ] as const)('%s puts a batch aside that unpacks to 300 MiB', async (_, type, pack) => {
    const bomb = inBatch(pack())
    expect(bomb.length).toBeLessThan(20 * MIB)
    const unpacked = await codecOf(type).decompress(bomb)
    expect(unpacked.length).toBeLessThan(bomb.length + 10_000)
    expect(unpacked.includes(CORRUPT_BATCH)).toBe(true)
  })

  it('LZ4 unpacks nothing but one frame: blocks of its legacy frames may be of any size', async () => {
    const matched = Math.floor((8 * MIB - 25) / 255)
    const block = Buffer.concat([
      Buffer.from([0x1f, 0, 1, 0]),
      Buffer.alloc(matched, 255),
      Buffer.from([0, 0x50, 0, 0, 0, 0, 0]),
    ])
    const length = Buffer.alloc(4)
    length.writeUInt32LE(block.length)
    const legacy = Buffer.concat([Buffer.from([2, 0x21, 0x4c, 0x18]), ...Array(16).fill([length, block]).flat()])
    expect(legacy.length).toBeLessThan(MIB)
    const frame = compressFrameSync(recordsOf([Buffer.from('words')]))
    const withDictionary = Buffer.from(frame)
    withDictionary[4] = (frame[4] ?? 0) | 1
    for (const [data, why] of [
      [legacy, 'not an LZ4 frame'],
      [Buffer.concat([frame, legacy]), 'more than one LZ4 frame'],
      [Buffer.concat([frame, frame]), 'more than one LZ4 frame'],
      [withDictionary, 'an LZ4 frame with a dictionary'],
    ] as const)
      expect((await codecOf(CompressionTypes.LZ4).decompress(inBatch(data))).toString()).toContain(why)
  })

  it.each(TYPES)('codec %i puts aside what is no batch of three records', async (type) => {
    const { compress, decompress } = codecOf(type)
    const three = recordsOf(['a', 'b', 'c'].map((word) => Buffer.from(word.repeat(2_000))))
    const whole = await compress({ buffer: three })
    const faulty = {
      nothing: Buffer.alloc(0),
      'one byte': Buffer.from([1]),
      ones: Buffer.alloc(100, 255),
      half: whole.subarray(0, whole.length >> 1),
      'two records': await compress({ buffer: recordsOf([Buffer.from('a'), Buffer.from('b')]) }),
      'no records': await compress({ buffer: Buffer.from('words, words, '.repeat(200)) }),
    }
    for (const [what, data] of Object.entries(faulty)) {
      const unpacked = await decompress(inBatch(data))
      expect.soft(unpacked.includes(CORRUPT_BATCH), what).toBe(true)
    }
    expect((await decompress(inBatch(whole))).equals(three)).toBe(true)
  })
})

it.each(TYPES)(
  'codec %i refuses a batch that promises more records than memory holds, before it unpacks it',
  async (type) => {
    const { compress, decompress } = codecOf(type)
    const promising = (count: number, data: Buffer) => {
      const batch = inBatch(data)
      Buffer.from(batch.buffer, batch.byteOffset - HEADER_BYTES, HEADER_BYTES).writeInt32BE(count, 57)
      return batch
    }
    const whole = await compress({ buffer: recordsOf(['a', 'b', 'c'].map((word) => Buffer.from(word.repeat(2_000)))) })
    for (const data of [whole, Buffer.alloc(100, 255)])
      await expect(decompress(promising(2 ** 31 - 1, data))).rejects.toThrow(/records exceeds the limit/)
    expect((await decompress(promising(1_000, Buffer.alloc(100, 255)))).includes(CORRUPT_BATCH)).toBe(true)
  },
)
