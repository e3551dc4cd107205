import kafkajs, { type Kafka } from 'kafkajs'
import { onPassedOver } from '../../src/adapters/kafka/passed-over.ts'

/** A record as it stands on its topic. */
export interface Standing {
  readonly partition: number
  readonly offset: string
  /** When it was sent, ms since 1970, or what its producer said. */
  readonly timestamp: number
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** A client of the suite's own, on the broker's own port. */
export function ownClient(brokers: string): Kafka {
  return new kafkajs.Kafka({
    clientId: 'chaos',
    brokers: [brokers],
    retry: { initialRetryTime: 200, maxRetryTime: 1_000, retries: 40 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
}

/** Everything that stands on these topics, by topic, in the order of each partition. */
export async function readAll(kafka: Kafka, topics: readonly string[]): Promise<ReadonlyMap<string, Standing[]>> {
  const admin = kafka.admin()
  await admin.connect()
  const groupId = `chaos-reader-${process.pid}-${Date.now()}`
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 })
  const read = new Map(topics.map((topic) => [topic, [] as Standing[]]))
  try {
    const left = new Map<string, bigint>()
    for (const topic of topics)
      for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
        if (BigInt(high) > BigInt(low)) left.set(`${topic}/${partition}`, BigInt(high))
    if (left.size === 0) return read
    await consumer.connect()
    await consumer.subscribe({ topics: [...topics], fromBeginning: true })
    await new Promise<void>((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) reject(payload.error)
      })
      const reached = (topic: string, partition: number, next: bigint) => {
        if (next >= (left.get(`${topic}/${partition}`) ?? next)) left.delete(`${topic}/${partition}`)
        if (left.size === 0) resolve()
      }
      onPassedOver(consumer, ({ topic, partition, next }) => reached(topic, partition, BigInt(next)))
      consumer
        .run({
          autoCommit: false,
          eachBatch: async ({ batch }) => {
            const { topic, partition, messages } = batch
            for (const { offset, timestamp, value, headers = {} } of messages)
              read.get(topic)?.push({
                partition,
                offset,
                timestamp: Number(timestamp),
                value: value?.toString('utf8') ?? '',
                headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, String(text)])),
              })
            reached(topic, partition, BigInt(batch.lastOffset()) + 1n)
          },
        })
        .catch(reject)
    })
  } finally {
    await consumer.disconnect().catch(() => undefined)
    await admin.deleteGroups([groupId]).catch(() => undefined)
    await admin.disconnect().catch(() => undefined)
  }
  return read
}
