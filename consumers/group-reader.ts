import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { Clock } from '../src/ports/clock.ts'
import type { Report } from '../src/ports/report.ts'
import type { Incoming, Position, TopicReader } from '../src/ports/topic.ts'

export interface ReaderSettings {
  readonly group: string
  readonly topics: readonly string[]
  readonly sessionTimeoutMs: number
  readonly maxBytesPerPartition: number
  /** A fetch returns when this many bytes are there or this much time has passed: many small batches cost more than few. */
  readonly fetchBytes: number
  readonly fetchWaitMs: number
  readonly partitionsAtOnce: number
}

/** A dead consumer is replaced after this, and then after as long again each time up to the most. */
const REVIVE_MS = { first: 500, most: 10_000 }
/** What has been handled is committed this often: each commit is a request, and a batch may be a single message. */
const COMMIT_EVERY_MS = 250
/** Longest wait for a consumer to say goodbye. */
const GOODBYE_MS = 5_000

/**
 * Reads topics as a member of a Kafka group. kafkajs consumers can die for good while their process lives (CRASH without
 * restart): each death is noticed by its event and the consumer replaced by a new one, for as long as it takes.
 */
export function groupReader(deps: {
  kafka: Kafka
  settings: ReaderSettings
  clock: Clock
  report: Report
}): TopicReader {
  const { kafka, settings, clock, report } = deps
  let consumer: Consumer | undefined
  let admin: Admin | undefined
  let assigned: Record<string, number[]> = {}
  let paused = false
  let closing = false
  let downSince: number | null = clock()
  /** Next offset by topic and partition: handled, and not yet committed. */
  const handled = new Map<string, { topic: string; partition: number; offset: string }>()
  let committing: NodeJS.Timeout | undefined

  function applyPause(): void {
    const topics = settings.topics.map((topic) => ({ topic }))
    if (consumer === undefined || downSince !== null) return
    if (paused) consumer.pause(topics)
    else consumer.resume(topics)
  }

  type Handle = Parameters<TopicReader['start']>[0]

  async function begin(handle: Handle, reviveMs: number): Promise<void> {
    if (closing) return
    const fresh = kafka.consumer({
      groupId: settings.group,
      sessionTimeout: settings.sessionTimeoutMs,
      rebalanceTimeout: Math.max(settings.sessionTimeoutMs, 10_000),
      heartbeatInterval: Math.floor(settings.sessionTimeoutMs / 3),
      maxBytesPerPartition: settings.maxBytesPerPartition,
      minBytes: settings.fetchBytes,
      maxWaitTimeInMs: settings.fetchWaitMs,
      allowAutoTopicCreation: false,
      retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000, restartOnFailure: async () => false },
    })
    let wait = reviveMs
    const revive = (error: unknown) => {
      if (closing || consumer !== fresh) return
      consumer = undefined
      assigned = {}
      downSince ??= clock()
      report('trouble:met', { where: 'kafka consumer', error })
      void fresh.disconnect().catch(() => undefined)
      setTimeout(() => {
        void begin(handle, Math.min(wait * 2, REVIVE_MS.most))
      }, wait)
    }
    consumer = fresh
    fresh.on(fresh.events.CRASH, ({ payload }) => revive(payload.error))
    fresh.on(fresh.events.GROUP_JOIN, ({ payload }) => {
      assigned = payload.memberAssignment
      downSince = null
      wait = REVIVE_MS.first
      // A rebalance forgets what was paused.
      applyPause()
    })
    try {
      await fresh.connect()
      await fresh.subscribe({ topics: [...settings.topics], fromBeginning: true })
      await fresh.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: settings.partitionsAtOnce,
        eachBatch: (payload) => consume(payload, handle, fresh),
      })
    } catch (error) {
      revive(error)
    }
  }

  async function consume(
    { batch, heartbeat, isRunning, isStale, resolveOffset }: EachBatchPayload,
    handle: Handle,
    from: Consumer,
  ) {
    const last = batch.messages.at(-1)
    if (last === undefined || !isRunning() || isStale()) return
    const { topic, partition } = batch
    const messages = batch.messages.map(
      (message): Incoming => ({
        topic,
        partition,
        offset: message.offset,
        key: message.key === null ? null : message.key.toString('utf8'),
        value: message.value,
        headers: textHeaders(message.headers ?? {}),
        timestamp: Number(message.timestamp),
      }),
    )
    const next = BigInt(batch.lastOffset()) + 1n
    await handle({ topic, partition, messages, atEnd: next >= BigInt(batch.highWatermark) }, heartbeat)
    resolveOffset(last.offset)
    handled.set(`${topic}/${partition}`, { topic, partition, offset: String(next) })
    if (closing) await commit(from)
    else committing ??= setTimeout(() => void commit(from), COMMIT_EVERY_MS)
  }

  /** Commits what has been handled. What can't be committed, after a rebalance, is read again by whoever has it now. */
  async function commit(by: Consumer): Promise<void> {
    clearTimeout(committing)
    committing = undefined
    const offsets = [...handled.values()]
    handled.clear()
    if (offsets.length === 0 || consumer !== by) return
    await by.commitOffsets(offsets).catch((error: unknown) => report('trouble:met', { where: 'kafka commit', error }))
  }

  async function offsets(): Promise<Admin> {
    if (admin === undefined) {
      const fresh = kafka.admin({ retry: { retries: 2 } })
      await fresh.connect()
      admin = fresh
    }
    return admin
  }

  return {
    start: (handle) => begin(handle, REVIVE_MS.first),
    async positions() {
      const held = assigned
      const topics = Object.keys(held)
      if (topics.length === 0) return []
      const ask = await offsets()
      const committed = await ask.fetchOffsets({ groupId: settings.group, topics })
      const ends = await Promise.all(topics.map((topic) => ask.fetchTopicOffsets(topic)))
      return topics.flatMap((topic, index): Position[] => {
        const come = new Map(
          committed.find((entry) => entry.topic === topic)?.partitions.map((at) => [at.partition, Number(at.offset)]),
        )
        return (ends[index] ?? [])
          .filter(({ partition }) => held[topic]?.includes(partition))
          .map(({ partition, high, low }) => {
            const at = Number(handled.get(`${topic}/${partition}`)?.offset ?? come.get(partition) ?? -1)
            return { topic, partition, lag: Math.max(0, Number(high) - (at < 0 ? Number(low) : at)) }
          })
      })
    },
    setPaused(value) {
      if (value === paused) return
      paused = value
      applyPause()
    },
    get downSince() {
      return downSince
    },
    async close() {
      closing = true
      const leave = async () => {
        if (consumer !== undefined) await commit(consumer)
        await Promise.all([consumer?.disconnect(), admin?.disconnect()])
      }
      await Promise.race([leave(), new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref())])
    },
  }
}

function textHeaders(
  headers: NonNullable<EachBatchPayload['batch']['messages'][number]['headers']>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(String).join(', ') : String(value ?? ''),
    ]),
  )
}
