import { createRequire } from 'node:module'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { MAX_RECORDS } from './codecs.ts'
import { boundHeaders, readOfBatch } from './decoded-headers.ts'
import { boundLargeFetches, fetchedAgain, LARGE_RECORDS, takeLargeRoom } from './large-batches.ts'
import { CORRUPT_BATCH } from './record.ts'

// Changes to kafkajs 2.2.4 itself, as it is loaded.

const require = createRequire(import.meta.url)
let done = false

/** Changes kafkajs in this process, once. Call it before the first connection. */
export function patchKafkaJs(): void {
  if (done) return
  done = true
  // Before the decoder of batches is loaded, which takes that of records with it.
  boundHeaders()
  passEmptiedBatches()
  boundFetchedBytes()
  boundLargeBatches()
  splitLargeBatches()
  hideAbortedRecords()
  waitLongerWhileIdle()
  calmRequestQueues()
  endFetchersOfStopped()
  boundLargeFetches()
}

/** The parts used here of kafkajs 2.2.4's decoded record batch. */
interface DecodedBatch {
  readonly firstOffset: string
  readonly lastOffsetDelta: number
  readonly maxTimestamp: string
  readonly records: readonly {
    readonly offset: string
    readonly batchContext: object
  }[]
}
type DecodeBatch = (bytes: object) => Promise<DecodedBatch>

const DECODER = 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
/**
 * Lets kafkajs continue after batches that compaction has emptied, entirely or at their end. It advances by the last
 * record that it sees, so it would fetch a batch without records again and again, and never reach what follows. Here the
 * last offset of such a batch gets a control record, like a transaction marker, which kafkajs skips without showing it
 * to anyone.
 */
function passEmptiedBatches(): void {
  const decode = require(DECODER) as DecodeBatch
  const loaded = entryOf(require.cache, require.resolve(DECODER))
  if (loaded === undefined) throw new Error('kafkajs decoder not found; was kafkajs upgraded?')
  loaded.exports = async (bytes: object): Promise<DecodedBatch> => {
    const batch = await decode(bytes)
    const { firstOffset, lastOffsetDelta, maxTimestamp, records } = batch
    const end = BigInt(firstOffset) + BigInt(lastOffsetDelta)
    if (BigInt(records.at(-1)?.offset ?? -1) >= end) return batch
    const record = { offset: String(end), timestamp: maxTimestamp, key: null, value: null, headers: {} }
    const mark = { ...record, isControlRecord: true, batchContext: batch }
    return { ...batch, records: [...records, mark] }
  }
}

/** No further batch of a partition is unpacked once those of the fetch have so many bytes: four times what a fetch brings. */
const MOST_BYTES = 2 ** 21
/** What a record takes beside its bytes, as an object, and so does a header. */
const BYTES_BESIDE = 200

/**
 * Lets a fetch bring no more of a partition than some megabytes, or one batch. kafkajs unpacks all batches of all partitions
 * before it hands over the first: half a megabyte of packed repetition, as one account writes it, is hundreds, and the process
 * that is started in the place of one that had not the memory would fetch the same.
 */
function boundFetchedBytes(): void {
  const decode = require(DECODER) as DecodeBatch
  const loaded = entryOf(require.cache, require.resolve(DECODER))
  if (loaded === undefined) throw new Error('kafkajs decoder not found; was kafkajs upgraded?')
  /** By the bytes of a partition in a fetch: what its batches have so far. */
  const unpacked = new WeakMap<object, number>()
  loaded.exports = async (bytes: object): Promise<DecodedBatch> => {
    const before = unpacked.get(bytes) ?? 0
    if (before >= MOST_BYTES) throw fetchedAgain('the rest of the partition is fetched again')
    const batch = await decode(bytes)
    const { records } = batch
    const read = readOfBatch(records[0]?.batchContext ?? {})
    unpacked.set(bytes, before + read.bytes + BYTES_BESIDE * (records.length + read.headers))
    return batch
  }
}

/** Where a batch says how many records it has, and the bytes that it takes to say so. */
const [COUNT_AT, HEADER_BYTES] = [57, 61]

/**
 * Lets few large batches be in memory at a time: a record of a few bytes is an object of some hundred until it is handled. A batch of a
 * kilobyte in each partition would end the process, and the one that is started in its place. Small batches of other partitions go on.
 */
function boundLargeBatches(): void {
  const decode = require(DECODER) as DecodeBatch
  const loaded = entryOf(require.cache, require.resolve(DECODER))
  if (loaded === undefined) throw new Error('kafkajs decoder not found; was kafkajs upgraded?')
  loaded.exports = async (bytes: { offset: number; buffer: Buffer }): Promise<DecodedBatch> => {
    const { buffer, offset } = bytes
    const count = buffer.length - offset < HEADER_BYTES ? 0 : buffer.readInt32BE(offset + COUNT_AT)
    const stands = count > MAX_RECORDS ? standIn(bytes, count) : null
    if (stands !== null) return stands
    if (count > LARGE_RECORDS) await takeLargeRoom(count)
    return decode(bytes)
  }
}

/** Longest part of such a batch that its stand-in holds, in bytes: as much as its dead letter. */
const RAW_BYTES = 256 * 1024

/**
 * Of a compressed batch of too many records one, marked as what could not be read, and a mark at its end: where it failed, its partition
 * would stand until somebody skips it. Null if it is not compressed, or not whole.
 */
function standIn(bytes: { offset: number; buffer: Buffer }, count: number): DecodedBatch | null {
  const batch = bytes.buffer.subarray(bytes.offset)
  const length = 12 + batch.readInt32BE(8)
  const attributes = batch.readInt16BE(21)
  if ((attributes & 7) === 0 || batch.length < length) return null
  bytes.offset += length
  const [first, lastOffsetDelta] = [batch.readBigInt64BE(0), batch.readInt32BE(23)]
  const firstOffset = String(first)
  const maxTimestamp = String(batch.readBigInt64BE(35))
  const inTransaction = (attributes & 0x10) > 0
  const batchContext = { firstOffset, maxTimestamp, inTransaction, producerId: String(batch.readBigInt64BE(43)) }
  const why = Buffer.from(`a batch of ${count} records exceeds the limit of ${MAX_RECORDS}`)
  const shared = { timestamp: maxTimestamp, key: null, batchContext }
  const value = Buffer.from(batch.subarray(0, Math.min(length, RAW_BYTES)))
  const record = { ...shared, offset: firstOffset, value, headers: { [CORRUPT_BATCH]: why }, isControlRecord: false }
  const end = String(first + BigInt(lastOffsetDelta))
  const mark = { ...shared, offset: end, value: null, headers: {}, isControlRecord: true }
  return { firstOffset, lastOffsetDelta, maxTimestamp, records: [record, mark] }
}

/** Records handed over at once: less than half of what fits the stack as the arguments of a call. */
const MOST_ARGUMENTS = 50_000

/**
 * Hands a batch of many records over in parts. kafkajs passes all records of a batch as the arguments of one call, and ends
 * with a `RangeError` at some 120,000: they fit little more than a megabyte, and the partition's reader would fetch them again for good.
 */
function splitLargeBatches(): void {
  const decode = require(DECODER) as DecodeBatch
  const loaded = entryOf(require.cache, require.resolve(DECODER))
  if (loaded === undefined) throw new Error('kafkajs decoder not found; was kafkajs upgraded?')
  /** By the bytes of a partition in a fetch: the batch of which a part is left, and where it ends. */
  const begun = new WeakMap<object, { readonly batch: DecodedBatch; readonly from: number; readonly end: number }>()
  loaded.exports = async (bytes: { offset: number }): Promise<DecodedBatch> => {
    const start = bytes.offset
    const { batch, from, end } = begun.get(bytes) ?? { batch: await decode(bytes), from: 0, end: bytes.offset }
    const to = from + MOST_ARGUMENTS
    const isWhole = to >= batch.records.length
    // kafkajs asks for the next batch at this offset until no bytes are left.
    bytes.offset = isWhole ? end : start
    if (isWhole) begun.delete(bytes)
    else begun.set(bytes, { batch, from: to, end })
    return isWhole && from === 0 ? batch : { ...batch, records: batch.records.slice(from, to) }
  }
}

/** The parts used here of kafkajs 2.2.4's fetched partition. */
interface FetchedPartition {
  abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[] | null
  readonly messages: readonly FetchedRecord[]
}
interface FetchedRecord {
  readonly offset: string
  readonly key: Buffer | null
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean }
  isControlRecord?: boolean
}
interface Response {
  decode(
    bytes: unknown,
  ): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchedPartition[] }[] }>
}

/** Response versions that list aborted transactions. */
const VERSIONS = [4, 5, 6, 7, 8, 9, 10, 11]
/** Key of the marker that ends an aborted transaction: version 0, type 0. */
const ABORT = Buffer.from([0, 0, 0, 0])

/**
 * Hides the records of aborted transactions. kafkajs itself does so incorrectly, since it starts at most one transaction
 * per record: if a fetch begins in the middle of one, and another begins with its first record, that record is delivered
 * though it was never committed. Here such records are turned into control records, which kafkajs skips.
 */
function hideAbortedRecords(): void {
  for (const version of VERSIONS) {
    const response = require(`kafkajs/src/protocol/requests/fetch/v${version}/response.js`) as Response
    const { decode } = response
    response.decode = async (bytes) => {
      const fetched = await decode(bytes)
      for (const { partitions } of fetched.responses) for (const partition of partitions) hide(partition)
      return fetched
    }
  }
}

function hide(partition: FetchedPartition): void {
  const { messages, abortedTransactions } = partition
  if (abortedTransactions === null || abortedTransactions.length === 0) return
  const coming = abortedTransactions.toSorted((a, b) => (BigInt(a.firstOffset) < BigInt(b.firstOffset) ? -1 : 1))
  const aborted = new Set<string>()
  for (const record of messages) {
    const { producerId, inTransaction } = record.batchContext
    while (coming[0] !== undefined && BigInt(coming[0].firstOffset) <= BigInt(record.offset))
      aborted.add(coming.shift()?.producerId ?? '')
    if (record.isControlRecord === true) {
      if (record.key !== null && ABORT.equals(record.key)) aborted.delete(producerId)
    } else if (inTransaction && aborted.has(producerId)) record.isControlRecord = true
  }
  partition.abortedTransactions = []
}

/** The parts used here of kafkajs 2.2.4's broker; each consumer has brokers of its own. */
interface Fetch {
  readonly maxWaitTime: number
  readonly minBytes: number
}
interface Fetched {
  readonly responses: readonly { readonly partitions: readonly { readonly messages: readonly unknown[] }[] }[]
}
interface Broker {
  fetch(asked: Fetch): Promise<Fetched>
}

/**
 * How long a fetch waits for the first byte, in ms, if the one before found nothing. A consumer sends its heartbeats
 * between two fetches, so that it also learns of a rebalance that much later.
 */
const IDLE_WAIT_MS = 250
/**
 * Lets consumers that wait a short while for many bytes wait longer for the first one, as long as there are none: they
 * have it sooner, and ask less often. After messages they wait for many bytes again.
 */
function waitLongerWhileIdle(): void {
  const { prototype } = require('kafkajs/src/broker/index.js') as { prototype: Broker }
  const { fetch } = prototype
  /** Brokers whose last fetch found nothing. */
  const idle = new WeakSet<Broker>()
  prototype.fetch = async function (asked) {
    const waits = asked.minBytes > 1 && asked.maxWaitTime < IDLE_WAIT_MS && idle.has(this)
    // If it fails, nothing is known: the next one is an ordinary one.
    idle.delete(this)
    const fetched = await fetch.call(this, waits ? { ...asked, minBytes: 1, maxWaitTime: IDLE_WAIT_MS } : asked)
    if (fetched.responses.every(({ partitions }) => partitions.every(({ messages }) => messages.length === 0)))
      idle.add(this)
    return fetched
  }
}

/** The parts used here of kafkajs 2.2.4's queue of a connection's requests. */
interface RequestQueue {
  readonly pending: readonly unknown[]
  /** Until when the broker wants no more requests, ms since 1970; -1 if it never said so. */
  readonly throttledUntil: number
  scheduleCheckPendingRequests(): void
}

/**
 * Lets kafkajs look for requests that wait only where some may wait: in the original each connection looks every
 * millisecond from its first response on, for as long as it lives.
 */
function calmRequestQueues(): void {
  const path = 'kafkajs/src/network/requestQueue/index.js'
  const { prototype } = require(path) as { prototype: RequestQueue }
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this)
  }
}

/** The parts used here of kafkajs 2.2.4's runner of a consumer. */
interface Runner {
  readonly running: boolean
  readonly fetchManager: { stop(): Promise<void> }
  fetch(nodeId: string): Promise<readonly unknown[]>
}

/**
 * Lets the fetchers of a consumer end that has stopped. kafkajs makes them anew when the cluster's brokers change; if the
 * consumer stops just then, the new ones never learn of it, and ask again and again without waiting for anything: nothing else
 * happens in the process any more, timers and signals included.
 */
function endFetchersOfStopped(): void {
  const { prototype } = require('kafkajs/src/consumer/runner.js') as { prototype: Runner }
  const { fetch } = prototype
  prototype.fetch = async function (nodeId) {
    if (this.running) return fetch.call(this, nodeId)
    void this.fetchManager.stop()
    return []
  }
}
