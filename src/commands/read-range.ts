import { randomUUID } from 'node:crypto'
import type { Kafka, KafkaMessage } from 'kafkajs'
import { onPassedOver } from '../adapters/kafka/passed-over.ts'
import { OperatorError } from '../domain/errors.ts'

/** Offsets to read of a partition: from the first, up to and without the second. */
export interface Range {
  readonly from: bigint
  readonly to: bigint
}

/** How far a topic's partitions reach. Throws an `OperatorError` if the topic is absent. */
export async function rangesOf(kafka: Kafka, topic: string, since: number | null): Promise<Map<number, Range>> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    const whole = await admin.fetchTopicOffsets(topic)
    const starts = since === null ? [] : await admin.fetchTopicOffsetsByTimestamp(topic, since)
    return new Map(
      whole.map(({ partition, low, high }) => {
        const start = starts.find((one) => one.partition === partition)?.offset
        const from = BigInt(start ?? low)
        return [partition, { from: from < 0n ? BigInt(high) : from, to: BigInt(high) }]
      }),
    )
  } catch (error) {
    if (!(error instanceof Error && 'type' in error && error.type === 'UNKNOWN_TOPIC_OR_PARTITION')) throw error
    throw new OperatorError(`There is no topic ${topic}. Is kafka.topicPrefix that of the service?`, { cause: error })
  } finally {
    await admin.disconnect()
  }
}

/**
 * Reads these parts of a topic in order, outside any lasting group. A batch is read when the one before it in its partition
 * has been taken, so that no more than one of each is in memory. Rejects with what `take` rejected with, and with
 * the signal's reason.
 */
export async function readRanges(
  kafka: Kafka,
  topic: string,
  ranges: ReadonlyMap<number, Range>,
  signal: AbortSignal,
  take: (partition: number, messages: readonly KafkaMessage[]) => Promise<void>,
): Promise<void> {
  const wanted = new Map([...ranges].filter(([, { from, to }]) => from < to))
  if (wanted.size === 0) return
  const groupId = `gavel-read-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, sessionTimeout: SESSION_MS })
  try {
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      const stop = () => reject(signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) reject(payload.error)
      })
      const reached = (partition: number, next: bigint) => {
        if (next >= (wanted.get(partition)?.to ?? next)) wanted.delete(partition)
        if (wanted.size === 0) resolve()
      }
      onPassedOver(consumer, ({ partition, next }) => reached(partition, BigInt(next)))
      consumer
        .run({
          autoCommit: false,
          partitionsConsumedConcurrently: wanted.size,
          eachBatch: async ({ batch, heartbeat }) => {
            const { partition } = batch
            const range = wanted.get(partition)
            if (range === undefined || signal.aborted) return
            const within = batch.messages.filter(({ offset }) => {
              const at = BigInt(offset)
              return at >= range.from && at < range.to
            })
            try {
              for (let start = 0; start < within.length; start += TAKEN_AT_ONCE) {
                await take(partition, within.slice(start, start + TAKEN_AT_ONCE))
                await heartbeat()
              }
            } catch (error) {
              reject(error)
              return
            }
            reached(partition, BigInt(batch.lastOffset()) + 1n)
          },
        })
        .catch(reject)
      for (const [partition, { from }] of wanted) consumer.seek({ topic, partition, offset: String(from) })
    })
  } finally {
    await consumer.disconnect().catch(() => undefined)
    await forget(kafka, groupId)
  }
}

const SESSION_MS = 30_000
/** Messages handed over between two signs of life to the group. */
const TAKEN_AT_ONCE = 1_000

/** The group was there for one reading. A broker forgets it by itself as well. */
async function forget(kafka: Kafka, groupId: string): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 1 } })
  await admin
    .connect()
    .then(() => admin.deleteGroups([groupId]))
    .catch(() => undefined)
  await admin.disconnect().catch(() => undefined)
}
