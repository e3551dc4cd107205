import type { Kafka } from 'kafkajs'
import { rangesOf, readRanges } from '../../src/stream/bounded-reader.ts'
import { type Cluster, clusterOf } from '../../src/stream/own-requests.ts'

/** What was read of a topic, over a connection that stays open for what comes. */
interface FollowedTopic {
  readonly cluster: Cluster
  /** Of each partition, what comes next. */
  readonly next: Map<number, bigint>
  readonly records: string[]
}

const AT_ONCE = { maxWaitTime: 10_000, minBytes: 0 }

/** By brokers and topic: the last reading, which the next one waits for. */
const followed = new Map<string, Promise<FollowedTopic | null>>()

/** All records of a topic. Tests ask again and again: only what is new is read, by one request and without a group. */
export async function followedRecords(kafka: Kafka, brokers: readonly string[], topic: string): Promise<string[]> {
  const key = `${brokers} ${topic}`
  const before = followed.get(key) ?? Promise.resolve(null)
  const reading = before.then((known) => readOn(kafka, topic, known))
  followed.set(key, reading)
  const read = await reading
  return read === null ? wholeTopic(kafka, topic) : [...read.records]
}

/** Reads what is new of a topic; null where that can't be told: it has been made anew, or there is none yet, or no broker. */
async function readOn(kafka: Kafka, topic: string, known: FollowedTopic | null): Promise<FollowedTopic | null> {
  const cluster = known?.cluster ?? clusterOf(kafka)
  try {
    const { next, records } = known ?? (await begun(cluster, topic))
    for (let left = [...next.keys()]; left.length > 0; ) left = await fetched(cluster, topic, left, { next, records })
    return { cluster, next, records }
  } catch {
    await cluster.disconnect().catch(() => undefined)
    return null
  }
}

async function begun(cluster: Cluster, topic: string): Promise<Pick<FollowedTopic, 'next' | 'records'>> {
  await cluster.connect()
  await cluster.addMultipleTargetTopics([topic])
  const partitions = cluster.findTopicPartitionMetadata(topic)
  return { next: new Map(partitions.map(({ partitionId }) => [partitionId, 0n])), records: [] }
}

/** Fetches once from these partitions; returns those that hold more. */
async function fetched(
  cluster: Cluster,
  topic: string,
  partitions: readonly number[],
  { next, records }: Pick<FollowedTopic, 'next' | 'records'>,
): Promise<number[]> {
  const more: number[] = []
  let isStuck = true
  for (const [nodeId, own] of Object.entries(cluster.findLeaderForPartitions(topic, partitions))) {
    const broker = await cluster.findBroker({ nodeId })
    const asked = own.map((partition) => ({ partition, fetchOffset: String(next.get(partition)), maxBytes: 2 ** 20 }))
    // It answers at once with what there is; kafkajs waits for an answer as long as for the first byte.
    const { responses } = await broker.fetch({ ...AT_ONCE, topics: [{ topic, partitions: asked }] })
    for (const part of responses.flatMap((one) => one.partitions)) {
      const { partition, messages, highWatermark, lastStableOffset, lastStartOffset = '0' } = part
      const from = next.get(partition) ?? 0n
      if (BigInt(lastStartOffset) > 0n) throw new Error('its first records are gone')
      // A compressed batch is sent whole, though it begins before what was asked for.
      const fresh = messages.filter(({ offset }) => BigInt(offset) >= from)
      for (const { value, isControlRecord } of fresh) if (!isControlRecord) records.push(value?.toString('utf8') ?? '')
      const reached = fresh.length === 0 ? from : BigInt(fresh.at(-1)?.offset ?? 0) + 1n
      next.set(partition, reached)
      isStuck &&= reached === from
      const stable = BigInt(lastStableOffset)
      const end = stable < 0n || stable > BigInt(highWatermark) ? BigInt(highWatermark) : stable
      if (reached < end) more.push(partition)
    }
  }
  if (isStuck && more.length > 0) throw new Error('what it holds does not come')
  return more
}

/** Reads it from its beginning, as a command of Gavel's does: it waits for a topic that is being made. */
async function wholeTopic(kafka: Kafka, topic: string): Promise<string[]> {
  const waiting = { signal: new AbortController().signal }
  const records: string[] = []
  await readRanges(kafka, topic, await rangesOf(kafka, topic, null, waiting), waiting, (_, messages) => {
    records.push(...messages.map(({ value }) => value?.toString('utf8') ?? ''))
  })
  return records
}
