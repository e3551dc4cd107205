import type { Kafka } from 'kafkajs'
import type { GroupProgress } from '../contracts/ports/topic.ts'
import { committedIn, ofEach } from './known-offsets.ts'
import { onceTopicSettled, STARTED_WITHIN_MS } from './settled.ts'

/** How far a group has read these topics. */
export async function groupProgress(kafka: Kafka, group: string, topics: readonly string[]): Promise<GroupProgress> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    // A group's coordinator needs time to load after its broker has started, and may move; kafkajs does not retry this
    // itself.
    const offsets = await ofEach(topics, (topic) =>
      onceTopicSettled(topic, () => committedIn(admin, group, topic), { withinMs: STARTED_WITHIN_MS }),
    )
    const committed = new Map(
      [...offsets].map(([topic, partitions]) => [
        topic,
        new Map(
          partitions.flatMap(({ partition, offset }): [number, bigint][] =>
            BigInt(offset) < 0n ? [] : [[partition, BigInt(offset)]],
          ),
        ),
      ]),
    )
    // If a broker does not answer, the group may have members.
    const groups = await admin.describeGroups([group]).then(
      (described) => described.groups,
      () => null,
    )
    return { committed, alone: groups?.every(({ members }) => members.length === 0) ?? false }
  } finally {
    await admin.disconnect()
  }
}

/** Whether a topic has ever held a record, those that have expired included. */
export async function hasHeldRecords(kafka: Kafka, topic: string): Promise<boolean> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    const partitions = await onceTopicSettled(topic, () => admin.fetchTopicOffsets(topic), {
      withinMs: STARTED_WITHIN_MS,
    })
    return partitions.some(({ high }) => BigInt(high) > 0n)
  } finally {
    await admin.disconnect()
  }
}

/** Where these topics end: the next offset of each partition. */
async function endsOf(kafka: Kafka, topics: readonly string[]): Promise<GroupProgress['committed']> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    return await ofEach(topics, async (topic) => {
      const partitions = await onceTopicSettled(topic, () => admin.fetchTopicOffsets(topic), {
        withinMs: STARTED_WITHIN_MS,
      })
      return new Map(partitions.map(({ partition, high }) => [partition, BigInt(high)]))
    })
  } finally {
    await admin.disconnect()
  }
}

/**
 * Sets the offsets of a group that has no members. Kafka takes them from nobody else while it has some: rejects then.
 */
export async function setOffsets(kafka: Kafka, group: string, { committed }: Pick<GroupProgress, 'committed'>) {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    for (const [topic, partitions] of committed) {
      const offsets = [...partitions].map(([partition, offset]) => ({ partition, offset: String(offset) }))
      if (offsets.length > 0) await admin.setOffsets({ groupId: group, topic, partitions: offsets })
    }
  } finally {
    await admin.disconnect()
  }
}

/** A group that has never read begins with what comes now; one that has goes on where it was. */
export async function beginAtEnds(kafka: Kafka, group: string, topics: readonly string[]): Promise<void> {
  const { committed, alone } = await groupProgress(kafka, group, topics)
  const unread = topics.filter((topic) => (committed.get(topic)?.size ?? 0) === 0)
  if (!alone || unread.length === 0) return
  try {
    await setOffsets(kafka, group, { committed: await endsOf(kafka, unread) })
  } catch (error) {
    // Another process may have begun meanwhile: Kafka takes no offsets then.
    if ((await groupProgress(kafka, group, topics)).alone) throw error
  }
}

/** A group's progress in the store's form: next offsets by `topic/partition`. */
export function positionsOf({ committed }: GroupProgress): Map<string, string> {
  return new Map(
    [...committed].flatMap(([topic, partitions]) =>
      [...partitions].map(([partition, offset]) => [`${topic}/${partition}`, String(offset)] as const),
    ),
  )
}
