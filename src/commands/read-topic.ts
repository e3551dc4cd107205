import { randomUUID } from 'node:crypto'
import type { Kafka, KafkaMessage } from 'kafkajs'
import { onPassedOver } from '../adapters/kafka/passed-over.ts'
import { onceTopicSettled, SETTLED_WITHIN_MS } from '../adapters/kafka/settled.ts'
import { OperatorError } from '../domain/errors.ts'

export interface TopicRecord {
  readonly partition: number
  readonly message: KafkaMessage
}

export interface Reading {
  readonly follow: boolean
  readonly signal: AbortSignal
  /** Hears that the topic is waited for. */
  readonly say?: (line: string) => void
}

/** A record's value as JSON; undefined where it is none. */
export function jsonOf(message: KafkaMessage): unknown {
  try {
    return JSON.parse(message.value?.toString('utf8') ?? 'null')
  } catch {
    return undefined
  }
}

/**
 * Reads a topic from its beginning, outside any lasting group: to where it ended when the reading began, or on and on with
 * `follow`, until the signal is aborted. Waits for a topic that is just being made: with `follow` for as long as it takes,
 * else for some seconds. Throws an `OperatorError` if it is absent or can't be read by then.
 */
export async function readTopic(
  kafka: Kafka,
  topic: string,
  options: Reading,
  take: (record: TopicRecord) => void,
): Promise<void> {
  const { follow, signal } = options
  const patience = { ...options, withinMs: follow ? Number.POSITIVE_INFINITY : SETTLED_WITHIN_MS }
  const admin = kafka.admin({ retry: { retries: 3 } })
  const groupId = `gavel-read-${randomUUID()}`
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100, allowAutoTopicCreation: false })
  let joined = false
  try {
    if (signal.aborted) return
    await onceTopicSettled(topic, () => admin.connect(), patience)
    const offsets = await onceTopicSettled(topic, () => admin.fetchTopicOffsets(topic), patience)
    const wanted = new Map(
      offsets
        .filter(({ low, high }) => BigInt(high) > BigInt(low))
        .map(({ partition, high }) => [partition, BigInt(high)]),
    )
    if (wanted.size === 0 && !follow) return
    joined = true
    await onceTopicSettled(topic, () => consumer.connect(), patience)
    await onceTopicSettled(topic, () => consumer.subscribe({ topics: [topic], fromBeginning: true }), patience)
    await new Promise<void>((resolve, reject) => {
      const reached = (partition: number, next: bigint) => {
        if (next >= (wanted.get(partition) ?? next)) wanted.delete(partition)
        watchQuiet()
      }
      let quiet: NodeJS.Timeout | undefined
      const end = (settle: () => void) => {
        clearTimeout(quiet)
        settle()
      }
      const fail = (error: unknown) => end(() => reject(error))
      const watchQuiet = () => {
        clearTimeout(quiet)
        if (follow) return
        if (wanted.size === 0) return end(resolve)
        quiet = setTimeout(() => fail(new OperatorError(silence(topic, wanted.size))), QUIET_MS)
      }
      signal.addEventListener('abort', () => end(resolve), { once: true })
      if (signal.aborted) end(resolve)
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) fail(payload.error)
      })
      onPassedOver(consumer, ({ partition, next }) => reached(partition, BigInt(next)))
      watchQuiet()
      consumer
        .run({
          autoCommit: false,
          eachBatch: async ({ batch }) => {
            for (const message of batch.messages) take({ partition: batch.partition, message })
            reached(batch.partition, BigInt(batch.lastOffset()) + 1n)
          },
        })
        .catch(fail)
    })
  } catch (error) {
    // Told to stop while it waited: that is an end, and no failure.
    if (!signal.aborted) throw error
  } finally {
    await consumer.disconnect().catch(() => undefined)
    if (joined) await admin.deleteGroups([groupId]).catch(() => undefined)
    await admin.disconnect().catch(() => undefined)
  }
}

/** Nothing comes although something should, for longer than a group takes to form and a leader to be found, in ms. */
const QUIET_MS = 60_000

function silence(topic: string, left: number): string {
  return `Of the topic ${topic} nothing came for ${QUIET_MS / 1000} s, and ${left} of its partitions were not at their end. Try again when each of them has a leader.`
}
