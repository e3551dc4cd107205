import type { Admin, Kafka } from 'kafkajs'
import { withTimeout } from '../src/adapters/kafka/with-timeout.ts'
import { entryOf } from '../src/domain/entry-of.ts'
import type { Position } from '../src/ports/topic.ts'
import type { ConsumerSession } from './consumer-session.ts'

/** Longest wait for Kafka's answer about the group's positions. */
const POSITIONS_MS = 5_000

/** Returns how many messages are left in the partitions that a consumer of the group reads. */
export function groupLag(kafka: Kafka, group: string) {
  let admin: Admin | undefined

  async function connected(): Promise<Admin> {
    if (admin === undefined) {
      const fresh = kafka.admin({ retry: { retries: 2 } })
      await fresh.connect()
      admin = fresh
    }
    return admin
  }

  async function positionsOf(session: Pick<ConsumerSession, 'assigned' | 'handled'>): Promise<Position[]> {
    const { assigned } = session
    const topics = Object.keys(assigned)
    if (topics.length === 0) return []
    // Read before the ends are fetched: messages handled meanwhile may lie beyond those ends.
    const handled = session.handled()
    const ask = await connected()
    const committed = await ask.fetchOffsets({ groupId: group, topics })
    const ends = await Promise.all(topics.map((topic) => ask.fetchTopicOffsets(topic)))
    return topics.flatMap((topic, index): Position[] => {
      const come = new Map(
        committed.find((entry) => entry.topic === topic)?.partitions.map((at) => [at.partition, Number(at.offset)]),
      )
      return (ends[index] ?? [])
        .filter(({ partition }) => entryOf(assigned, topic)?.includes(partition))
        .map(({ partition, high, low }) => {
          const at = Number(handled.get(`${topic}/${partition}`) ?? come.get(partition) ?? -1)
          // Beyond the end: the topic was recreated, and is read from its beginning.
          const next = at > Number(high) ? Number(low) : Math.max(at, Number(low))
          return { topic, partition, lag: Number(high) - next }
        })
    })
  }

  return {
    /**
     * What is left up to the last stable offset: messages of an open transaction can't be processed yet, so they don't
     * count.
     */
    async positions(session: Pick<ConsumerSession, 'assigned' | 'handled'>): Promise<Position[]> {
      try {
        return await withTimeout(POSITIONS_MS, positionsOf(session))
      } catch (error) {
        // The connections may be dead without an error: the next call opens new ones.
        const silent = admin
        admin = undefined
        void silent?.disconnect().catch(() => undefined)
        throw error
      }
    },
    close: async () => admin?.disconnect(),
  }
}
