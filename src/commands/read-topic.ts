import { randomUUID } from 'node:crypto'
import type { Kafka, KafkaMessage } from 'kafkajs'
import { onPassedOver } from '../adapters/kafka/passed-over.ts'

export interface TopicRecord {
  readonly partition: number
  readonly message: KafkaMessage
}

/** A record's value as JSON; undefined where it is none. */
export function jsonOf(message: KafkaMessage): unknown {
  try {
    return JSON.parse(message.value?.toString('utf8') ?? 'null')
  } catch {
    return undefined
  }
}

/**
 * Reads a topic from its beginning, outside any lasting group: to where it ended when the reading began, or on and on with
 * `follow`, until the signal is aborted.
 */
export async function readTopic(
  kafka: Kafka,
  topic: string,
  options: { follow: boolean; signal: AbortSignal },
  take: (record: TopicRecord) => void,
): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  const groupId = `gavel-read-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 })
  try {
    const wanted = new Map(
      (await admin.fetchTopicOffsets(topic))
        .filter(({ low, high }) => BigInt(high) > BigInt(low))
        .map(({ partition, high }) => [partition, BigInt(high)]),
    )
    if (wanted.size === 0 && !options.follow) return
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      const reached = (partition: number, next: bigint) => {
        if (next >= (wanted.get(partition) ?? next)) wanted.delete(partition)
        if (wanted.size === 0 && !options.follow) resolve()
      }
      options.signal.addEventListener('abort', () => resolve(), { once: true })
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) reject(payload.error)
      })
      onPassedOver(consumer, ({ partition, next }) => reached(partition, BigInt(next)))
      consumer
        .run({
          autoCommit: false,
          eachBatch: async ({ batch }) => {
            for (const message of batch.messages) take({ partition: batch.partition, message })
            reached(batch.partition, BigInt(batch.lastOffset()) + 1n)
          },
        })
        .catch(reject)
    })
  } finally {
    await consumer.disconnect().catch(() => undefined)
    await admin.deleteGroups([groupId]).catch(() => undefined)
    await admin.disconnect().catch(() => undefined)
  }
}
