import type { Kafka } from 'kafkajs'
import type { GroupProgress } from '../../ports/topic.ts'
import { onceTopicSettled, SETTLED_WITHIN_MS } from './settled.ts'

/** How far a group has read these topics. */
export async function groupProgress(kafka: Kafka, group: string, topics: readonly string[]): Promise<GroupProgress> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    // A group's coordinator needs time to load after its broker has started, and may move; kafkajs does not retry this
    // itself.
    const offsets = topics.map((topic) =>
      onceTopicSettled(topic, () => admin.fetchOffsets({ groupId: group, topics: [topic] }), {
        withinMs: SETTLED_WITHIN_MS,
      }),
    )
    const committed = new Map(
      (await Promise.all(offsets))
        .flat()
        .map(({ topic, partitions }) => [
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

/** The same in the store's form: next offsets by `topic/partition`. */
export function positionsOf({ committed }: GroupProgress): Map<string, string> {
  return new Map(
    [...committed].flatMap(([topic, partitions]) =>
      [...partitions].map(([partition, offset]) => [`${topic}/${partition}`, String(offset)] as const),
    ),
  )
}
