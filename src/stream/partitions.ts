import type { Kafka } from 'kafkajs'
import type { StreamPartitions } from '../contracts/ports/threads.ts'

/**
 * The partitions of these topics, now and after each later `poll`. The stream's clock waits for those that existed at
 * the start: one that is added later has no old messages.
 */
export async function watchPartitions(kafka: Kafka, topics: readonly string[]) {
  const first = await namesOf(kafka, topics)
  let now: StreamPartitions = { there: first, awaited: first }
  return {
    now: (): StreamPartitions => now,
    /** Rejects, and changes nothing, while a topic is missing. */
    async poll(): Promise<void> {
      const there = await namesOf(kafka, topics)
      now = { there, awaited: new Set([...first].filter((partition) => there.has(partition))) }
    },
  }
}

async function namesOf(kafka: Kafka, topics: readonly string[]): Promise<ReadonlySet<string>> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    const metadata = await admin.fetchTopicMetadata({ topics: [...topics] })
    return new Set(
      metadata.topics.flatMap(({ name, partitions }) => partitions.map(({ partitionId }) => `${name}/${partitionId}`)),
    )
  } finally {
    await admin.disconnect()
  }
}
