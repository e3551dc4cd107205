import type { Kafka } from 'kafkajs'
import kafkajs from 'kafkajs'
import type { StarvedTopic } from './broker-refusals.ts'

/** Those of these topics that want more copies in sync than they have; none where the brokers do not tell. */
export async function starvedTopics(kafka: Kafka, topics: readonly string[]): Promise<StarvedTopic[]> {
  const admin = kafka.admin({ retry: { retries: 1 } })
  await admin.connect()
  try {
    const resources = topics.map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: ['min.insync.replicas'],
    }))
    const [{ topics: placed }, { resources: described }] = await Promise.all([
      admin.fetchTopicMetadata({ topics: [...topics] }),
      admin.describeConfigs({ resources, includeSynonyms: false }),
    ])
    return placed.flatMap(({ name, partitions }) => {
      const own = described.find(({ resourceName }) => resourceName === name)
      const wanted = Number(own?.configEntries[0]?.configValue ?? Number.NaN)
      const copies = Math.min(...partitions.map(({ replicas }) => replicas.length))
      return wanted > copies ? [{ name, wanted, copies }] : []
    })
  } finally {
    await admin.disconnect()
  }
}
