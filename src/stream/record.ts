import { randomUUID } from 'node:crypto'
import type { Consumer, IHeaders, KafkaMessage } from 'kafkajs'
import type { IncomingMessage } from '../contracts/ports/topic.ts'

/**
 * Header on the placeholders for the records of a batch that could not be decompressed; its value is the reason. No sender
 * can predict its name, so nobody can forge it.
 */
export const CORRUPT_BATCH = `gavel-corrupt-batch-${randomUUID()}`

/**
 * Headers by name: an object without a prototype, which has no properties but these, not even `__proto__`. V8 makes it a hash
 * table, so that filling it takes linear time; an ordinary object is copied again and again while it grows.
 */
export interface HeaderTable<Value> {
  [name: string]: Value
}

/** Headers that are kept of a record that has too many: as many as a dead letter holds. */
export const KEPT_HEADERS = 32

/** The parts of a kafkajs record that Gavel reads; a record with too many headers is marked. */
type Decoded = Pick<KafkaMessage, 'offset' | 'key' | 'value' | 'headers' | 'timestamp'> &
  Pick<IncomingMessage, 'headersCut'>

/** The memory of batches that are many times what was sent. */
const unfolded = new WeakSet<ArrayBufferLike>()

/** Notes that what these bytes hold was many times smaller as it was sent. Few bytes share their memory with others: these are let be. */
export function noteUnfolded(records: Buffer): void {
  if (records.length > Buffer.poolSize) unfolded.add(records.buffer)
}

/** Whether a message's value was many times smaller as it was sent, with its batch. */
export function isUnfolded(value: Buffer): boolean {
  return unfolded.has(value.buffer)
}

/** Converts a kafkajs record to Gavel's message: key and headers as UTF-8 text. */
export function incomingOf(
  topic: string,
  partition: number,
  { offset, key, value, headers, headersCut, timestamp }: Decoded,
): IncomingMessage {
  return {
    topic,
    partition,
    offset,
    key: key === null ? null : key.toString('utf8'),
    value,
    headers: textHeaders(headers ?? {}),
    headersCut,
    timestamp: Number(timestamp),
  }
}

/** A repeated header becomes one text, its values joined by commas. */
function textHeaders(headers: IHeaders): HeaderTable<string> {
  const texts: HeaderTable<string> = Object.create(null)
  for (const [name, value] of Object.entries(headers))
    texts[name] = Array.isArray(value) ? value.map(String).join(', ') : String(value ?? '')
  return texts
}

/**
 * Most bytes that are handled before their offset is resolved: what a batch of tens of megabytes has behind them is read again alone,
 * where the group forms anew meanwhile. A fetch brings less as a rule.
 */
const PART_BYTES = 2 ** 21

/** Messages in order, in parts of so many bytes, or one message, and of so many messages. */
export function* partsOf(messages: readonly KafkaMessage[], most: number): Generator<readonly KafkaMessage[]> {
  let [begin, bytes] = [0, 0]
  for (const [at, { value }] of messages.entries()) {
    const size = value?.length ?? 0
    if (at > begin && (bytes + size > PART_BYTES || at - begin >= most)) {
      yield messages.slice(begin, at)
      ;[begin, bytes] = [at, 0]
    }
    bytes += size
  }
  if (begin < messages.length) yield messages.slice(begin)
}

/** A range of a partition that has no records for a reader, fetched up to but not including `next`. */
export interface EmptyRange {
  readonly topic: string
  readonly partition: number
  readonly next: string
  /** The partition ends after them. */
  readonly atEnd: boolean
}

/**
 * Reports fetched ranges without records for the reader: transaction markers and aborted records. kafkajs skips them and
 * never calls `eachBatch`, so anyone who waits for a partition's end must listen here. Reported after every earlier
 * batch of the partition has been handled.
 */
export function onPassedOver(consumer: Consumer, tell: (passed: EmptyRange) => void): void {
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const { topic, partition, batchSize, lastOffset, highWatermark } = payload
    if (batchSize > 0) return
    const next = BigInt(lastOffset) + 1n
    tell({ topic, partition, next: String(next), atEnd: next >= BigInt(highWatermark) })
  })
}

/** What a partition is called in maps. */
export function partitionKey({ topic, partition }: { readonly topic: string; readonly partition: number }): string {
  return `${topic}/${partition}`
}
