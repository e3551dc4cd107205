import { randomUUID } from 'node:crypto'
import type { Consumer, IHeaders, KafkaMessage } from 'kafkajs'
import type { Incoming } from '../../ports/topic.ts'

/**
 * Header on the placeholders for the records of a batch that could not be decompressed; its value says why. No sender
 * can predict its name, so nobody can forge it.
 */
export const CORRUPT_BATCH = `gavel-corrupt-batch-${randomUUID()}`

/** Converts a kafkajs record to Gavel's message: key and headers as UTF-8 text. */
export function incomingOf(
  topic: string,
  partition: number,
  { offset, key, value, headers, timestamp }: Pick<KafkaMessage, 'offset' | 'key' | 'value' | 'headers' | 'timestamp'>,
): Incoming {
  return {
    topic,
    partition,
    offset,
    key: key === null ? null : key.toString('utf8'),
    value,
    headers: textHeaders(headers ?? {}),
    timestamp: Number(timestamp),
  }
}

/** A repeated header becomes one text, its values joined by commas. */
function textHeaders(headers: IHeaders): Record<string, string> {
  const entries = Object.entries(headers)
  if (entries.length === 0) return {}
  return Object.fromEntries(
    entries.map(([name, value]) => [name, Array.isArray(value) ? value.map(String).join(', ') : String(value ?? '')]),
  )
}

/** A range of a partition that has no records for a reader, fetched up to but not including `next`. */
export interface PassedOver {
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
export function onPassedOver(consumer: Consumer, tell: (passed: PassedOver) => void): void {
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    const { topic, partition, batchSize, lastOffset, highWatermark } = payload
    if (batchSize > 0) return
    const next = BigInt(lastOffset) + 1n
    tell({ topic, partition, next: String(next), atEnd: next >= BigInt(highWatermark) })
  })
}
