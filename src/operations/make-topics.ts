import type { Settings } from '../../config/schema.ts'
import { keptFor, keptForGood, topicsOf } from '../../config/topics.ts'
import { ensureTopics, type KafkaClient, type TellWaiting, type TopicPlan } from '../stream/client.ts'

/** Gavel's topics, with the partitions and the retention of the settings; what people decided is kept for good. */
export function topicPlans(settings: Settings): TopicPlan[] {
  const { partitions } = settings.kafka
  const topics = topicsOf(settings)
  const forGood = keptForGood(topics)
  const retentionOf = keptFor(topics, settings)
  return Object.values(topics).map((name) => ({
    name,
    partitions,
    retentionMs: forGood.includes(name) ? -1 : retentionOf(name),
  }))
}

/**
 * Creates missing topics as they are planned. `beside`: only where this topic is there. A wrong prefix is reported; its topics are not
 * made. `waiting` hears for which is waited.
 */
export async function makeTopics(
  kafka: KafkaClient,
  settings: Settings,
  { beside, waiting }: { beside?: string; waiting?: TellWaiting } = {},
): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    if (beside !== undefined && !(await admin.listTopics()).includes(beside)) return
    await ensureTopics(kafka, admin, topicPlans(settings), settings.kafka.replication, waiting)
  } finally {
    await admin.disconnect()
  }
}
