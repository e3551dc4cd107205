import { createRequire } from 'node:module'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { type HeaderTable, KEPT_HEADERS } from './record.ts'

const require = createRequire(import.meta.url)

/**
 * Most headers of a batch: as many as it may have records when it is compressed. Measured, so many records without headers
 * take 0.11 s of processor time until they are messages, and so many headers 0.02 to 0.2 s more: 0.2 µs each in one record, 2 µs
 * where each has a record of its own, or half a kilobyte. A session ends after 6 s. A megabyte of real messages has some
 * 15,000 headers.
 */
export const MOST_OF_BATCH = 100_000
/** Most headers of one record. Measured, they take 0.2 to 2 ms: a hundred such records take what a batch may. */
export const MOST_HEADERS = 1_000

/** The parts used here of kafkajs 2.2.4's decoder, and of the record that it decodes. */
interface RecordBytes {
  readonly buffer: Buffer
  readVarInt(): number
  readVarIntString(): string | null
  readVarIntBytes(): Buffer | null
  readVarIntArray: () => readonly never[]
}
type HeaderValue = Buffer | null
interface DecodedRecord {
  headers: HeaderTable<HeaderValue | HeaderValue[]>
  headersCut?: string
}
type DecodeRecord = (bytes: RecordBytes, batchContext: object) => DecodedRecord

interface ReadOfBatch {
  headers: number
  bytes: number
}
/** What was read of each batch, by the context that its records share. */
const readOf = new WeakMap<object, ReadOfBatch>()

/** How many headers, and how many bytes of records, were read of the batch with this context. */
export function readOfBatch(batchContext: object): Readonly<ReadOfBatch> {
  return readOf.get(batchContext) ?? { headers: 0, bytes: 0 }
}

const DECODER = 'kafkajs/src/protocol/recordBatch/record/v0/decoder.js'
/**
 * Reads headers in one pass, and of a record that has too many only the first few. kafkajs copies all headers before each
 * one, `{ ...headers, [key]: value }`: 6,000, in a record of 47 kB, take ten seconds, longer than a session, so that the same
 * batch is fetched again for good. It also takes a header named `constructor` for a second value of one that every object
 * inherits, and reads as many as a record says that it has, present or not. Only this format has headers. Call it before the
 * decoder of batches is loaded.
 */
export function boundHeaders(): void {
  const decode = require(DECODER) as DecodeRecord
  const loaded = entryOf(require.cache, require.resolve(DECODER))
  if (loaded === undefined) throw new Error('kafkajs decoder not found; was kafkajs upgraded?')
  loaded.exports = (bytes: RecordBytes, batchContext: object): DecodedRecord => {
    // Headers are the last part of a record: the bytes stand before them when kafkajs has decoded the rest.
    bytes.readVarIntArray = none
    const record = decode(bytes, batchContext)
    let read = readOf.get(batchContext)
    if (read === undefined) {
      read = { headers: 0, bytes: 0 }
      readOf.set(batchContext, read)
    }
    read.bytes += bytes.buffer.length
    readHeaders(record, bytes, read)
    return record
  }
}

function none(): readonly never[] {
  return []
}

/** Reads the record's headers, a repeated one as the list of its values, as kafkajs does. */
function readHeaders(record: DecodedRecord, bytes: RecordBytes, read: ReadOfBatch): void {
  const count = bytes.readVarInt()
  if (count <= 0) return
  const left = MOST_OF_BATCH - read.headers
  const fits = count <= Math.min(MOST_HEADERS, left)
  const taken = fits ? count : Math.min(KEPT_HEADERS, left)
  read.headers += taken
  const headers: HeaderTable<HeaderValue | HeaderValue[]> = Object.create(null)
  for (let nth = 0; nth < taken; nth++) {
    const name = String(bytes.readVarIntString())
    const value = bytes.readVarIntBytes()
    const known = headers[name]
    if (known === undefined) headers[name] = value
    else if (Array.isArray(known)) known.push(value)
    else headers[name] = [known, value]
  }
  record.headers = headers
  if (fits) return
  const limit =
    count > MOST_HEADERS
      ? `${count} headers exceed the limit of ${MOST_HEADERS}`
      : `its batch has more than ${MOST_OF_BATCH} headers`
  record.headersCut = `${limit}; the first ${taken} are kept`
}
