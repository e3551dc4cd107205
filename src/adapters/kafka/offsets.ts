import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Kafka } from 'kafkajs'

export interface Progress {
  /** The next offset to be read by the group, by topic and partition; only of partitions where it has committed one. */
  readonly committed: ReadonlyMap<string, ReadonlyMap<number, bigint>>
  /** Nobody is a member of the group now, as far as the brokers say. */
  readonly alone: boolean
}

/** How far a group has come in these topics. */
export async function groupProgress(kafka: Kafka, group: string, topics: readonly string[]): Promise<Progress> {
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    const offsets = await patiently(() => admin.fetchOffsets({ groupId: group, topics: [...topics] }))
    const committed = new Map(
      offsets.map(({ topic, partitions }) => [
        topic,
        new Map(
          partitions.flatMap(({ partition, offset }): [number, bigint][] =>
            BigInt(offset) < 0n ? [] : [[partition, BigInt(offset)]],
          ),
        ),
      ]),
    )
    // A broker that does not say may well have members.
    const groups = await admin.describeGroups([group]).then(
      (described) => described.groups,
      () => null,
    )
    return { committed, alone: groups?.every(({ members }) => members.length === 0) ?? false }
  } finally {
    await admin.disconnect()
  }
}

/** A group's coordinator loads for a while after its broker has started, and may move; kafkajs does not ask it again by itself. */
const COORDINATOR_MS = 15_000
const ASK_AGAIN_MS = 250

async function patiently<Value>(ask: () => Promise<Value>): Promise<Value> {
  const deadline = performance.now() + COORDINATOR_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const temporary = error instanceof kafkajs.KafkaJSError && error.retriable
      if (!temporary || performance.now() > deadline) throw error
      await sleep(ASK_AGAIN_MS)
    }
  }
}

/** The same as the store's lineage keeps it. */
export function positionsOf({ committed }: Progress): Map<string, string> {
  return new Map(
    [...committed].flatMap(([topic, partitions]) =>
      [...partitions].map(([partition, offset]) => [`${topic}/${partition}`, String(offset)] as const),
    ),
  )
}
