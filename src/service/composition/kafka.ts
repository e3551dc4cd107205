import type { Settings } from '../../../config/schema.ts'
import { inputsOf, keptForGood, topicsOf } from '../../../config/topics.ts'
import { checkBrokers, ensureTopics, kafkaClient } from '../adapters/kafka/client.ts'
import { groupProgress, hasHeldRecords } from '../adapters/kafka/offsets.ts'
import type { Report } from '../ports/report.ts'

export type KafkaClient = ReturnType<typeof kafkaClient>

/**
 * Kafka for the service, with the group's progress and whether a verdict was ever published; missing topics are created.
 * Throws an `OperatorError` if Kafka is not reachable.
 */
export async function kafkaPart(settings: Settings, report: Report) {
  const client = kafkaClient(settings.kafka, settings.kafka.clientId, report)
  await checkBrokers(settings.kafka)
  await makeTopics(client, settings)
  const topics = topicsOf(settings)
  const [progress, published] = await Promise.all([
    groupProgress(client, settings.kafka.group, inputsOf(topics)),
    hasHeldRecords(client, topics.verdicts),
  ])
  return { client, topics, progress, published }
}

/**
 * Creates missing topics, with the partitions and the retention of the settings; what people decided is kept for good. `beside`: only
 * where this topic is there. A wrong prefix is to be told, and not to be made true.
 */
export async function makeTopics(kafka: KafkaClient, settings: Settings, beside?: string): Promise<void> {
  const { partitions, retention, replication } = settings.kafka
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    if (beside !== undefined && !(await admin.listTopics()).includes(beside)) return
    const topics = topicsOf(settings)
    const forGood = keptForGood(topics)
    const plans = Object.values(topics).map((name) => ({
      ...{ name, partitions },
      retentionMs: forGood.includes(name) ? -1 : name === topics.audit ? settings.console.auditKeep : retention,
    }))
    await ensureTopics(kafka, admin, plans, replication)
  } finally {
    await admin.disconnect()
  }
}
