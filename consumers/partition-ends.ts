import type { Admin } from 'kafkajs'
import { committedIn, ofEach } from '../src/stream/known-offsets.ts'

/** How far a group has come in one partition, and where the partition ends. */
export interface PartitionEnd {
  readonly topic: string
  readonly partition: number
  /** The next offset that the group will read. */
  readonly next: number
  /** The offset behind the last message that can be read: messages of an open transaction don't count. */
  readonly end: number
}

/**
 * The state of every partition of these topics, whichever process reads it. `handled`, by `topic/partition`, goes before what the
 * group has committed.
 */
export async function partitionEnds(
  admin: Admin,
  group: string,
  topics: readonly string[],
  handled: ReadonlyMap<string, string> = new Map(),
): Promise<PartitionEnd[]> {
  const committed = await ofEach(topics, (topic) => committedIn(admin, group, topic))
  const ends = await ofEach(topics, (topic) => admin.fetchTopicOffsets(topic))
  return topics.flatMap((topic) => {
    const come = new Map(committed.get(topic)?.map((at) => [at.partition, Number(at.offset)]))
    return (ends.get(topic) ?? []).map(({ partition, high, low }) => {
      const at = Number(handled.get(`${topic}/${partition}`) ?? come.get(partition) ?? -1)
      // Beyond the end: the topic was recreated, and is read from its beginning.
      const next = at > Number(high) ? Number(low) : Math.max(at, Number(low))
      return { topic, partition, next, end: Number(high) }
    })
  })
}
