import type { Kafka } from 'kafkajs'
import { groupAdmin } from '../src/service/adapters/kafka/group-admin.ts'
import { entryOf } from '../src/service/domain/entry-of.ts'
import type { Position } from '../src/service/ports/topic.ts'
import type { ConsumerSession } from './consumer-session.ts'
import { partitionEnds } from './partition-ends.ts'

/** Returns how many messages are left in the partitions that a consumer of the group reads. */
export function groupLag(kafka: Kafka, group: string) {
  const admin = groupAdmin(kafka)
  return {
    /**
     * What is left up to the last stable offset: messages of an open transaction can't be processed yet, so they don't
     * count.
     */
    async positions(session: Pick<ConsumerSession, 'assigned' | 'handled'>): Promise<Position[]> {
      const { assigned } = session
      const topics = Object.keys(assigned)
      if (topics.length === 0) return []
      // Read before the ends are fetched: messages handled meanwhile may lie beyond those ends.
      const handled = session.handled()
      const all = await admin.ask((asked) => partitionEnds(asked, group, topics, handled))
      return all
        .filter(({ topic, partition }) => entryOf(assigned, topic)?.includes(partition))
        .map(({ topic, partition, next, end }) => ({ topic, partition, lag: end - next }))
    },
    close: admin.close,
  }
}
