import { type HeapProfiler, Session } from 'node:inspector'
import { createRequire } from 'node:module'
import kafkajs, { type KafkaMessage } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { readMessage } from '../../consumers/read-message.ts'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import { replayHeaders } from '../../src/app/commands/replayed.ts'
import { deadLetter, postMessage } from '../../src/contracts/facts/messages.ts'
import type { IncomingMessage } from '../../src/contracts/ports/topic.ts'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { MOST_HEADERS, MOST_OF_BATCH } from '../../src/stream/decoded-headers.ts'
import { patchKafkaJs } from '../../src/stream/kafkajs-patches.ts'
import { incomingOf, KEPT_HEADERS } from '../../src/stream/record.ts'

registerCodecs()
patchKafkaJs()
const require = createRequire(import.meta.url)
/** kafkajs's own, loaded after it was patched. */
const internal = (path: string) => require(`kafkajs/src/protocol/${path}`)
const Encoder = internal('encoder.js')
const Decoder = internal('decoder.js')
const { RecordBatch } = internal('recordBatch/v0/index.js')
const Record = internal('recordBatch/record/v0/index.js')
const decodeMessages = internal('requests/fetch/v4/decodeMessages.js') as (bytes: unknown) => Promise<KafkaMessage[]>

type Headers = readonly (readonly [name: string | null, value: string | null])[]

/** A record as it stands in a batch, which claims to have so many headers. */
function recordOf(headers: Headers, { offset = 0, claimed = headers.length, value = 'x' } = {}): unknown {
  const body = new Encoder().writeInt8(0).writeVarLong(0).writeVarInt(offset)
  body.writeVarIntBytes(Buffer.from('key')).writeVarIntBytes(Buffer.from(value)).writeVarInt(claimed)
  for (const [name, said] of headers)
    body.writeVarIntString(name).writeVarIntBytes(said === null ? null : Buffer.from(said))
  return new Encoder().writeVarInt(body.size()).writeEncoder(body)
}

async function batchOf(...records: readonly unknown[]): Promise<{ size(): number }> {
  return RecordBatch({
    compression: kafkajs.CompressionTypes.GZIP,
    partitionLeaderEpoch: 0,
    maxTimestamp: 0,
    firstTimestamp: 0,
    firstOffset: 0,
    lastOffsetDelta: records.length - 1,
    producerId: -1,
    producerEpoch: 0,
    firstSequence: 0,
    records,
  })
}

/** Records of one batch, as kafkajs decodes it from a fetch. */
async function decoded(...records: readonly unknown[]): Promise<KafkaMessage[]> {
  const batch = await batchOf(...records)
  return decodeMessages(new Decoder(new Encoder().writeInt32(batch.size()).writeEncoder(batch).buffer))
}

const named = (count: number): Headers => Array.from({ length: count }, (_, nth) => [`h${nth}`, 'v'])
const incoming = async (...records: readonly unknown[]) =>
  (await decoded(...records)).map((record) => incomingOf('posts', 0, record))

describe('headers are read', () => {
  const headersOf = async (...headers: Headers) => (await decoded(recordOf(headers)))[0]?.headers

  it('by name, a repeated one as the list of its values', async () => {
    const read = await headersOf(['a', '1'], ['b', ''], ['a', '2'], ['a', '3'], ['c', null])
    expect(read).toEqual({ a: ['1', '2', '3'].map((value) => Buffer.from(value)), b: Buffer.from(''), c: null })
    expect(await headersOf()).toEqual({})
  })

  it('and nothing is inherited: names that every object knows are names like others', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const [message] = await incoming(recordOf(names.flatMap((name) => [[name, '{"polluted": 1}'] as const])))
    expect(Object.entries(message?.headers ?? {})).toEqual(names.map((name) => [name, '{"polluted": 1}']))
    expect('polluted' in {}).toBe(false)
    const { letter } = deadLetterOf({ ...(message as IncomingMessage) }, { reason: 'invalid', detail: 'd' })
    expect(JSON.parse(letter).headers).toMatchObject({ constructor: '{"polluted": 1}' })
  })

  it('all of them up to the limit, and of a record with more the first, with how many there are', async () => {
    const [most, more, next] = await incoming(
      recordOf(named(MOST_HEADERS)),
      recordOf(named(MOST_HEADERS + 1), { offset: 1 }),
      recordOf(named(1), { offset: 2 }),
    )
    expect(Object.keys(most?.headers ?? {})).toHaveLength(MOST_HEADERS)
    expect(most?.headersCut).toBeUndefined()
    expect(Object.keys(more?.headers ?? {})).toEqual(named(KEPT_HEADERS).map(([name]) => name))
    expect(more?.headersCut).toBe('1001 headers exceed the limit of 1000; the first 32 are kept')
    expect(next).toMatchObject({ offset: '2', headers: { h0: 'v' }, headersCut: undefined })
  })

  it('no further than the limit where a record claims to have more than it holds', async () => {
    const [message] = await incoming(recordOf([], { claimed: 2 ** 30 }))
    expect(message?.headersCut).toMatch(/^1073741824 headers exceed/)
    expect((await incoming(recordOf([], { claimed: -2 })))[0]).toMatchObject({ headers: {}, headersCut: undefined })
  })

  it('no further than the limit of their batch; the next batch has one of its own', async () => {
    const full = MOST_OF_BATCH / MOST_HEADERS
    const records = Array.from({ length: full }, (_, offset) => recordOf(named(MOST_HEADERS), { offset }))
    const all = await incoming(...records, recordOf([], { offset: full }), recordOf(named(1), { offset: full + 1 }))
    expect(all.filter(({ headersCut }) => headersCut !== undefined)).toEqual([
      expect.objectContaining({
        offset: String(full + 1),
        headers: {},
        headersCut: 'its batch has more than 100000 headers; the first 0 are kept',
      }),
    ])
    expect((await incoming(recordOf(named(1))))[0]).toMatchObject({ headers: { h0: 'v' }, headersCut: undefined })
  })

  it.each<[string, (count: number) => Headers]>([
    ['of different names', named],
    ['of one name', (count) => Array.from({ length: count }, () => ['h', 'v'])],
    ['named by numbers', (count) => Array.from({ length: count }, (_, nth) => [String(nth * 1_000_003), 'v'])],
  ])('at a cost in proportion to their number: %s', (_, headers) => {
    const cost = (count: number) => allocatedBy(record(headers(count)))
    for (const count of [MOST_HEADERS / 2, 3 * MOST_HEADERS]) expect(cost(2 * count)).toBeLessThan(2.2 * cost(count))
  })
})

/** Decodes one record, and makes Gavel's message of it. */
function record(headers: Headers): () => unknown {
  const bytes = new Decoder((recordOf(headers) as { buffer: Buffer }).buffer)
  const body = bytes.readVarIntBytes() as Buffer
  const decode = internal('recordBatch/record/v0/decoder.js')
  return () => incomingOf('posts', 0, decode(new Decoder(body), { firstOffset: '0', firstTimestamp: '0' }))
}

/**
 * The bytes that `run` allocates, collected or not: copies of what was read so far count, however quickly they are made. What the
 * engine compiles meanwhile only adds to it, so the least of several measurements counts.
 */
function allocatedBy(run: () => unknown): number {
  for (let warm = 0; warm < 5; warm++) run()
  return Math.min(...Array.from({ length: 3 }, () => allocatedOnce(run)))
}

function allocatedOnce(run: () => unknown): number {
  const session = new Session()
  session.connect()
  const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true }
  session.post('HeapProfiler.startSampling', { samplingInterval: 64, ...collected })
  for (let nth = 0; nth < 2; nth++) run()
  let bytes = 0
  session.post('HeapProfiler.stopSampling', (_, { profile }) => {
    bytes = bytesOf(profile.head)
  })
  session.disconnect()
  expect(bytes).toBeGreaterThan(0)
  return bytes
}

function bytesOf({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesOf(child), selfSize)
}

it.each<[string, Headers, number]>([
  ['by their bytes', [['h', 'x'.repeat(1_500_000)]], 1],
  ['by their number', named(MOST_HEADERS), 8],
])('a fetch brings of a partition what fits, counting headers %s', async (_, headers, records) => {
  const batches = new Encoder()
  for (let nth = 0; nth < 4; nth++)
    batches.writeEncoder(
      await batchOf(...Array.from({ length: records }, (_, offset) => recordOf(headers, { offset }))),
    )
  const bytes = new Decoder(new Encoder().writeInt32(batches.size()).writeEncoder(batches).buffer)
  expect(await decodeMessages(bytes)).toHaveLength(2 * records)
})

describe('a message with too many headers', () => {
  const post = JSON.stringify({ id: 'p', text: 'The bridge has fallen.', createdAt: '2025-06-01T12:00:00Z' })
  const limits = { maxMessageBytes: 2 ** 20, maxAhead: 0 }

  it('is put aside, and its dead letter is a small one that says so', async () => {
    const [from] = await incoming(recordOf(named(6_000), { value: post }))
    if (from === undefined) throw new Error('nothing was decoded')
    const read = readMessage(from, postMessage, limits, Date.now())
    const detail = '6000 headers exceed the limit of 1000; the first 32 are kept'
    expect(read).toMatchObject({ ok: false, reason: 'too-large', detail })
    if (read.ok) return
    const { letter } = deadLetterOf(from, read)
    expect(Buffer.byteLength(letter)).toBeLessThan(2_000)
    expect(Object.keys(deadLetter.parse(JSON.parse(letter)).headers)).toHaveLength(KEPT_HEADERS)
  })

  it('is one that a replay sends with the first of them, and its copy is read', async () => {
    const [original] = await decoded(recordOf([...named(5_999), ['none', null]], { value: post }))
    const headers = Object.entries(replayHeaders('0@0', original?.headers ?? {}))
    const copy = recordOf(
      headers.map(([name, value]) => [name, String(value)]),
      { value: post },
    )
    const [from] = await incoming(copy)
    expect(from?.headers).toMatchObject({ 'gavel-replay-of': '0@0', h0: 'v', h31: 'v' })
    expect(from === undefined ? null : readMessage(from, postMessage, limits, Date.now())).toMatchObject({ ok: true })
  })
})

it('a copy of a record whose headers have no values can be written: kafkajs writes none that is null', async () => {
  const [original] = await decoded(
    recordOf([
      ['none', null],
      ['both', null],
      ['both', '1'],
      ['constructor', 'c'],
    ]),
  )
  const headers = replayHeaders('0@0', original?.headers ?? {})
  const [copy] = await incoming(Record({ offsetDelta: 0, timestampDelta: 0, key: null, value: null, headers }))
  expect(copy?.headers).toMatchObject({ none: '', both: ', 1', constructor: 'c' })
})
