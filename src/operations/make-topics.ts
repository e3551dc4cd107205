import type { Settings } from '../../config/schema.ts'
import { keptForGood, topicsOf } from '../../config/topics.ts'
import { ensureTopics, type KafkaClient } from '../stream/client.ts'

/**
 * Creates missing topics, with the partitions and the retention of the settings; what people decided is kept for good. `beside`: only
 * where this topic is there. A wrong prefix is reported; its topics are not made.
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
      name,
      partitions,
      retentionMs: forGood.includes(name) ? -1 : name === topics.audit ? settings.console.auditKeep : retention,
    }))
    await ensureTopics(kafka, admin, plans, replication)
  } finally {
    await admin.disconnect()
  }
}
