import { randomUUID } from 'node:crypto'
import type { Kafka, KafkaMessage } from 'kafkajs'
import { onPassedOver } from '../adapters/kafka/passed-over.ts'
import { onceTopicSettled, SETTLED_WITHIN_MS } from '../adapters/kafka/settled.ts'

/** Offsets to read of a partition: from the first, up to and without the second. */
export interface Range {
  readonly from: bigint
  readonly to: bigint
}

/**
 * How far a topic's partitions reach. Waits some seconds for one that is just being made; throws an `OperatorError` if it is
 * absent or can't be read by then.
 */
export async function rangesOf(
  kafka: Kafka,
  topic: string,
  since: number | null,
  waiting: { readonly signal: AbortSignal; readonly say: (line: string) => void },
): Promise<Map<number, Range>> {
  const settled = <Value>(ask: () => Promise<Value>) =>
    onceTopicSettled(topic, ask, { ...waiting, withinMs: SETTLED_WITHIN_MS })
  const admin = kafka.admin({ retry: { retries: 3 } })
  try {
    await settled(() => admin.connect())
    const whole = await settled(() => admin.fetchTopicOffsets(topic))
    const starts = since === null ? [] : await settled(() => admin.fetchTopicOffsetsByTimestamp(topic, since))
    return new Map(
      whole.map(({ partition, low, high }) => {
        const start = starts.find((one) => one.partition === partition)?.offset
        const from = BigInt(start ?? low)
        return [partition, { from: from < 0n ? BigInt(high) : from, to: BigInt(high) }]
      }),
    )
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/**
 * Reads these parts of a topic in order, outside any lasting group. A batch is read when the one before it in its partition
 * has been taken, so that no more than one of each is in memory. Rejects with what `take` rejected with, and with
 * the signal's reason.
 */
export async function readRanges(
  kafka: Kafka,
  topic: string,
  ranges: ReadonlyMap<number, Range>,
  signal: AbortSignal,
  take: (partition: number, messages: readonly KafkaMessage[]) => Promise<void>,
): Promise<void> {
  const wanted = new Map([...ranges].filter(([, { from, to }]) => from < to))
  if (wanted.size === 0) return
  const groupId = `gavel-read-${randomUUID()}`
  const consumer = kafka.consumer({
    groupId,
    maxWaitTimeInMs: 100,
    sessionTimeout: SESSION_MS,
    allowAutoTopicCreation: false,
  })
  try {
    const settled = { signal, withinMs: SETTLED_WITHIN_MS }
    await onceTopicSettled(topic, () => consumer.connect(), settled)
    await onceTopicSettled(topic, () => consumer.subscribe({ topics: [topic], fromBeginning: true }), settled)
    await new Promise<void>((resolve, reject) => {
      const stop = () => reject(signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) reject(payload.error)
      })
      const reached = (partition: number, next: bigint) => {
        if (next >= (wanted.get(partition)?.to ?? next)) wanted.delete(partition)
        if (wanted.size === 0) resolve()
      }
      onPassedOver(consumer, ({ partition, next }) => reached(partition, BigInt(next)))
      consumer
        .run({
          autoCommit: false,
          partitionsConsumedConcurrently: wanted.size,
          eachBatch: async ({ batch, heartbeat }) => {
            const { partition } = batch
            const range = wanted.get(partition)
            if (range === undefined || signal.aborted) return
            const within = batch.messages.filter(({ offset }) => {
              const at = BigInt(offset)
              return at >= range.from && at < range.to
            })
            try {
              for (let start = 0; start < within.length; start += TAKEN_AT_ONCE) {
                await take(partition, within.slice(start, start + TAKEN_AT_ONCE))
                await heartbeat()
              }
            } catch (error) {
              reject(error)
              return
            }
            reached(partition, BigInt(batch.lastOffset()) + 1n)
          },
        })
        .catch(reject)
      for (const [partition, { from }] of wanted) consumer.seek({ topic, partition, offset: String(from) })
    })
  } finally {
    await consumer.disconnect().catch(() => undefined)
    await forget(kafka, groupId)
  }
}

const SESSION_MS = 30_000
/** Messages handed over between two signs of life to the group. */
const TAKEN_AT_ONCE = 1_000

/** The group was there for one reading. A broker forgets it by itself as well. */
async function forget(kafka: Kafka, groupId: string): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 1 } })
  await admin
    .connect()
    .then(() => admin.deleteGroups([groupId]))
    .catch(() => undefined)
  await admin.disconnect().catch(() => undefined)
}
