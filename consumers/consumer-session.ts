import type { Consumer, EachBatchHandler, Kafka } from 'kafkajs'
import { onPassedOver } from '../src/service/adapters/kafka/passed-over.ts'
import type { Report } from '../src/service/ports/report.ts'
import { batchWork, type Handle } from './batch-work.ts'
import { offsetCommits } from './offset-commits.ts'

export interface ReaderSettings {
  readonly group: string
  readonly topics: readonly string[]
  readonly sessionTimeoutMs: number
  readonly maxBytesPerPartition: number
  /**
   * A fetch returns when this many bytes are available or this much time has passed: a few large batches cost less than
   * many small ones.
   */
  readonly fetchBytes: number
  readonly fetchWaitMs: number
  readonly partitionsAtOnce: number
}

/** New partitions of a topic are noticed within this time. */
const METADATA_MS = 30_000

export type ConsumerSession = ReturnType<typeof consumerSession>

/** Longest time that a rebalance may take, in ms. */
export function rebalanceMs({ sessionTimeoutMs }: ReaderSettings): number {
  return Math.max(sessionTimeoutMs, 10_000)
}

/**
 * One consumer, from its creation until it dies: it passes batches to `handle` and commits what has been handled. Never
 * reused after a failure; calls `died` exactly once, after it has given up its partitions.
 */
export function consumerSession(deps: {
  kafka: Kafka
  settings: ReaderSettings
  handle: Handle
  report: Report
  /** Unfinished batches of all consumers so far; this one adds its own. */
  inWorkOfAll: Set<Promise<void>>
  /** The group has assigned it partitions. A new consumer does not know what was paused. */
  joined: () => void
  /** The group has answered a heartbeat. */
  answered: () => void
  died: (error: unknown) => void
}) {
  const { settings } = deps
  const consumer = consumerOf(deps.kafka, settings)
  const { events } = consumer
  const topics = settings.topics.map((topic) => ({ topic }))
  let state: 'current' | 'closing' | 'dead' = 'current'
  let assigned: Readonly<Record<string, number[]>> = {}
  const silence = silenceOf(consumer)
  const commits = offsetCommits(consumer, deps.report)
  const batches = batchWork({
    handle: deps.handle,
    commits,
    takesBatches: () => state === 'current',
    failed: fail,
    inWorkOfAll: deps.inWorkOfAll,
  })

  function fail(error: unknown): void {
    if (state !== 'current') return
    state = 'dead'
    commits.end()
    disconnect()
    deps.died(error)
  }

  function disconnect(): void {
    void consumer.disconnect().catch(() => undefined)
  }

  consumer.on(events.CRASH, ({ payload }) => fail(payload.error))
  consumer.on(events.GROUP_JOIN, ({ payload }) => {
    // It was discarded while joining: it must not keep partitions that nobody reads.
    if (state !== 'current') return disconnect()
    assigned = payload.memberAssignment
    commits.beginGeneration()
    silence.end()
    deps.joined()
  })
  consumer.on(events.HEARTBEAT, () => {
    silence.heartbeat()
    if (state !== 'dead') deps.answered()
  })
  onPassedOver(consumer, batches.passOver)

  return {
    inWork: batches.inWork,
    /** Its assigned partitions, by topic. */
    get assigned() {
      return assigned
    },
    handled: commits.handled,
    /** Resolves when it runs, or has died in the attempt. */
    async start(): Promise<void> {
      try {
        for (const step of stepsOf(consumer, settings, batches.consume)) {
          await step()
          if (state !== 'current') return disconnect()
        }
      } catch (error) {
        fail(error)
      }
    },
    setPaused(paused: boolean): void {
      try {
        if (paused) consumer.pause(topics)
        else consumer.resume(topics)
      } catch {
        // The consumer has just stopped by itself: there is nothing to pause, and its death is reported elsewhere.
      }
    },
    /** Call it at each tick; returns the number of ticks since the last response to a heartbeat or fetch. */
    tick: silence.tick,
    fail,
    /** Accepts no more batches, finishes and commits the current ones, and leaves the group. */
    async close(): Promise<void> {
      if (state === 'current') state = 'closing'
      // A consumer that has begun to stop can't commit any more.
      await Promise.allSettled(batches.inWork)
      await commits.close()
      await consumer.disconnect()
    },
  }
}

/** The steps that start a consumer, in order. */
function stepsOf(
  consumer: Consumer,
  { topics, partitionsAtOnce }: ReaderSettings,
  eachBatch: EachBatchHandler,
): readonly (() => Promise<void>)[] {
  return [
    () => consumer.connect(),
    () => consumer.subscribe({ topics: [...topics], fromBeginning: true }),
    () =>
      consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: partitionsAtOnce,
        eachBatch,
      }),
  ]
}

/** Counts ticks since the last heartbeat response and, by broker, since the start of a fetch that is still pending. */
function silenceOf(consumer: Consumer) {
  const { FETCH_START, FETCH } = consumer.events
  let unanswered = 0
  const fetching = new Map<string, number>()
  consumer.on(FETCH_START, ({ payload }) => void fetching.set(String(payload.nodeId), 0))
  consumer.on(FETCH, ({ payload }) => void fetching.delete(String(payload.nodeId)))
  return {
    heartbeat(): void {
      unanswered = 0
    },
    end(): void {
      unanswered = 0
      fetching.clear()
    },
    tick(): number {
      unanswered++
      for (const [node, ticks] of fetching) fetching.set(node, ticks + 1)
      return Math.max(unanswered, ...fetching.values())
    },
  }
}

function consumerOf(kafka: Kafka, settings: ReaderSettings): Consumer {
  return kafka.consumer({
    groupId: settings.group,
    sessionTimeout: settings.sessionTimeoutMs,
    rebalanceTimeout: rebalanceMs(settings),
    heartbeatInterval: Math.floor(settings.sessionTimeoutMs / 3),
    maxBytesPerPartition: settings.maxBytesPerPartition,
    minBytes: settings.fetchBytes,
    maxWaitTimeInMs: settings.fetchWaitMs,
    metadataMaxAge: METADATA_MS,
    allowAutoTopicCreation: false,
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000, restartOnFailure: async () => false },
  })
}
