import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import { onPassedOver, type PassedOver } from '../src/adapters/kafka/passed-over.ts'
import { incomingOf } from '../src/adapters/kafka/record.ts'
import { entryOf } from '../src/domain/entry-of.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Report } from '../src/ports/report.ts'
import type { Position, TopicReader } from '../src/ports/topic.ts'

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
/**
 * A consumer whose group has not answered for this long, or one fetch of it, is dead, whatever it says itself. Longer than a
 * group may take to form again; short enough that every death is noticed within 30 s.
 */
const SILENT_MS = 20_000
/** Silence is counted in ticks, so that neither a jump of the clock nor a process that stood still looks like one. */
const TICK_MS = 1_000
/** What has been handled is committed this often: each commit is a request, and a batch may be a single message. */
const COMMIT_EVERY_MS = 250
/** Wait before a commit that failed is tried again. */
const COMMIT_AGAIN_MS = 1_000
/** Partitions that a topic gets while it is read are known after this at the latest. */
const METADATA_MS = 30_000
/** Longest wait for a consumer to say goodbye. */
const GOODBYE_MS = 5_000
/** Longest wait for the group's positions. */
const POSITIONS_MS = 5_000

type Handle = Parameters<TopicReader['start']>[0]

/** One consumer, from its making until it is replaced. */
interface Life {
  readonly consumer: Consumer
  readonly replace: (error: unknown) => void
  assigned: Record<string, number[]>
  /** How often the group has given it partitions. */
  generation: number
  /** Next offset by topic and partition: handled in this generation, and not yet known to be committed. */
  readonly handled: Map<string, { topic: string; partition: number; offset: string }>
  readonly handling: Set<Promise<void>>
  /** By topic and partition: what holds no record and is being noted. Its next batch waits for it, and gives the sign of life. */
  readonly passing: Map<string, { done: Promise<void>; alive: () => Promise<void> }>
  commitTimer: NodeJS.Timeout | undefined
  committing: Promise<void>
  /** Ticks since the group last answered. */
  silent: number
  /** By broker: ticks since a fetch from it began that has not ended. */
  readonly fetching: Map<string, number>
}

/**
 * Reads topics as a member of a Kafka group. kafkajs consumers can die for good while their process lives: by an event (CRASH
 * without restart), by a promise that rejects, or in silence, on a connection that takes everything and answers nothing. Each
 * death is noticed, the last kind because no heartbeat is answered or a fetch does not end, and the consumer is replaced by a
 * new one with connections of its own, for as long as it takes.
 */
export function groupReader(deps: {
  kafka: Kafka
  settings: ReaderSettings
  clock: Clock
  report: Report
}): TopicReader {
  const { kafka, settings, clock, report } = deps
  const rebalanceMs = Math.max(settings.sessionTimeoutMs, 10_000)
  const silentTicks = Math.max(SILENT_MS, 2 * rebalanceMs) / TICK_MS
  let life: Life | undefined
  let admin: Admin | undefined
  let paused = false
  let closing = false
  let downSince: number | null = clock()
  let watchdog: NodeJS.Timeout | undefined
  /** Batches in work of every consumer that there was. */
  const handling = new Set<Promise<void>>()

  function applyPause(): void {
    const topics = settings.topics.map((topic) => ({ topic }))
    if (life === undefined || downSince !== null) return
    try {
      if (paused || closing) life.consumer.pause(topics)
      else life.consumer.resume(topics)
    } catch {
      // It has just ended by itself: there is nothing to pause, and its end is told.
    }
  }

  async function begin(handle: Handle, reviveMs: number): Promise<void> {
    if (closing) return
    const consumer = kafka.consumer({
      groupId: settings.group,
      sessionTimeout: settings.sessionTimeoutMs,
      rebalanceTimeout: rebalanceMs,
      heartbeatInterval: Math.floor(settings.sessionTimeoutMs / 3),
      maxBytesPerPartition: settings.maxBytesPerPartition,
      minBytes: settings.fetchBytes,
      maxWaitTimeInMs: settings.fetchWaitMs,
      metadataMaxAge: METADATA_MS,
      allowAutoTopicCreation: false,
      retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000, restartOnFailure: async () => false },
    })
    let wait = reviveMs
    const letGo = () => void consumer.disconnect().catch(() => undefined)
    const own: Life = {
      consumer,
      assigned: {},
      generation: 0,
      handled: new Map(),
      handling: new Set(),
      passing: new Map(),
      commitTimer: undefined,
      committing: Promise.resolve(),
      silent: 0,
      fetching: new Map(),
      replace(error) {
        if (closing || life !== own) return
        life = undefined
        clearTimeout(own.commitTimer)
        downSince ??= clock()
        report('trouble:met', { where: 'kafka consumer', error })
        letGo()
        setTimeout(() => {
          void begin(handle, Math.min(wait * 2, REVIVE_MS.most))
        }, wait)
      },
    }
    life = own
    const isOver = () => closing || life !== own
    const { events } = consumer
    consumer.on(events.CRASH, ({ payload }) => own.replace(payload.error))
    consumer.on(events.GROUP_JOIN, ({ payload }) => {
      // Given up while it was joining: it must not hold partitions that nobody reads.
      if (isOver()) return letGo()
      own.assigned = payload.memberAssignment
      own.generation++
      // Others may have come further meanwhile: to commit what was handled before would take the group back. What was not
      // committed is read again.
      own.handled.clear()
      own.fetching.clear()
      own.silent = 0
      downSince = null
      wait = REVIVE_MS.first
      // A new consumer knows nothing of what was paused.
      applyPause()
    })
    consumer.on(events.HEARTBEAT, () => {
      own.silent = 0
      if (life === own) downSince = null
    })
    onPassedOver(consumer, (passed) => passOver(passed, handle, own))
    consumer.on(events.FETCH_START, ({ payload }) => void own.fetching.set(String(payload.nodeId), 0))
    consumer.on(events.FETCH, ({ payload }) => void own.fetching.delete(String(payload.nodeId)))
    try {
      const steps = [
        () => consumer.connect(),
        () => consumer.subscribe({ topics: [...settings.topics], fromBeginning: true }),
        () =>
          consumer.run({
            autoCommit: false,
            eachBatchAutoResolve: false,
            partitionsConsumedConcurrently: settings.partitionsAtOnce,
            eachBatch: (payload) => consume(payload, handle, own),
          }),
      ]
      for (const step of steps) {
        await step()
        if (isOver()) return letGo()
      }
    } catch (error) {
      own.replace(error)
    }
  }

  /** One tick of the watch over the consumer that there is. */
  function watch(): void {
    const own = life
    if (own === undefined) return
    own.silent++
    for (const [node, ticks] of own.fetching) own.fetching.set(node, ticks + 1)
    if (own.silent < silentTicks && [...own.fetching.values()].every((ticks) => ticks < silentTicks)) return
    downSince ??= clock() - silentTicks * TICK_MS
    // Batches that hang outside Kafka would hang again: one consumer's worth of them in memory is enough.
    if (handling.size === own.handling.size)
      own.replace(new Error(`no heartbeat or fetch was answered for ${(silentTicks * TICK_MS) / 1000} s`))
  }

  async function consume(payload: EachBatchPayload, handle: Handle, own: Life): Promise<void> {
    const { batch, heartbeat, isRunning, isStale, resolveOffset } = payload
    const { topic, partition } = batch
    const passing = own.passing.get(`${topic}/${partition}`)
    if (passing !== undefined) {
      passing.alive = heartbeat
      await passing.done
    }
    const last = batch.messages.at(-1)
    if (last === undefined || closing || life !== own || !isRunning() || isStale()) return
    const { generation } = own
    const messages = batch.messages.map((message) => incomingOf(topic, partition, message))
    const next = BigInt(batch.lastOffset()) + 1n
    const work = async () => {
      await handle(
        { topic, partition, messages, next: String(next), atEnd: next >= BigInt(batch.highWatermark) },
        heartbeat,
      )
      // Whoever reads the partition now has begun where the commits ended.
      if (life !== own || generation !== own.generation) return
      resolveOffset(last.offset)
      handledUpTo(own, { topic, partition, offset: String(next) })
    }
    await inWork(own, work())
  }

  /** What holds no record is handled as a batch without messages: otherwise the end of its partition is never reached. */
  function passOver({ topic, partition, next, atEnd }: PassedOver, handle: Handle, own: Life): void {
    if (closing || life !== own) return
    const key = `${topic}/${partition}`
    const { generation } = own
    const before = own.passing.get(key)?.done
    const passing = { done: Promise.resolve(), alive: async () => {} }
    const work = async () => {
      await before
      await handle({ topic, partition, messages: [], next, atEnd }, () => passing.alive())
      if (life !== own || generation !== own.generation) return
      handledUpTo(own, { topic, partition, offset: next })
    }
    passing.done = inWork(own, work())
      // As after a batch that could not be handled: the next consumer comes to it again.
      .catch((error) => own.replace(error))
      .finally(() => {
        if (own.passing.get(key) === passing) own.passing.delete(key)
      })
    own.passing.set(key, passing)
  }

  async function inWork(own: Life, working: Promise<void>): Promise<void> {
    for (const all of [handling, own.handling]) all.add(working)
    try {
      await working
    } finally {
      for (const all of [handling, own.handling]) all.delete(working)
    }
  }

  function handledUpTo(own: Life, at: { topic: string; partition: number; offset: string }): void {
    own.handled.set(`${at.topic}/${at.partition}`, at)
    commitSoon(own, COMMIT_EVERY_MS)
  }

  function commitSoon(own: Life, ms: number): void {
    own.commitTimer ??= setTimeout(() => void commit(own), ms)
  }

  /** Commits what has been handled, one commit after the other: a later one must not be overtaken by an earlier one. */
  function commit(own: Life): Promise<void> {
    clearTimeout(own.commitTimer)
    own.commitTimer = undefined
    own.committing = own.committing.then(async () => {
      const offsets = [...own.handled]
      if (offsets.length === 0 || life !== own) return
      try {
        await own.consumer.commitOffsets(offsets.map(([, offset]) => offset))
        for (const [key, offset] of offsets) if (own.handled.get(key) === offset) own.handled.delete(key)
      } catch (error) {
        report('trouble:met', { where: 'kafka commit', error })
        if (!closing) commitSoon(own, COMMIT_AGAIN_MS)
      }
    })
    return own.committing
  }

  async function offsets(): Promise<Admin> {
    if (admin === undefined) {
      const fresh = kafka.admin({ retry: { retries: 2 } })
      await fresh.connect()
      admin = fresh
    }
    return admin
  }

  /** What is left up to the last stable offset: what an open transaction holds back can't be worked off. */
  async function positionsOf(own: Life): Promise<Position[]> {
    const { assigned } = own
    const topics = Object.keys(assigned)
    if (topics.length === 0) return []
    // As it was before the ends are asked for: what is handled meanwhile may lie behind them.
    const handled = new Map(own.handled)
    const ask = await offsets()
    const committed = await ask.fetchOffsets({ groupId: settings.group, topics })
    const ends = await Promise.all(topics.map((topic) => ask.fetchTopicOffsets(topic)))
    return topics.flatMap((topic, index): Position[] => {
      const come = new Map(
        committed.find((entry) => entry.topic === topic)?.partitions.map((at) => [at.partition, Number(at.offset)]),
      )
      return (ends[index] ?? [])
        .filter(({ partition }) => entryOf(assigned, topic)?.includes(partition))
        .map(({ partition, high, low }) => {
          const at = Number(handled.get(`${topic}/${partition}`)?.offset ?? come.get(partition) ?? -1)
          // Behind the end: the topic was made anew, and is read from its beginning.
          const next = at > Number(high) ? Number(low) : Math.max(at, Number(low))
          return { topic, partition, lag: Number(high) - next }
        })
    })
  }

  return {
    start(handle) {
      watchdog ??= setInterval(watch, TICK_MS)
      return begin(handle, REVIVE_MS.first)
    },
    async positions() {
      if (life === undefined) return []
      try {
        return await within(POSITIONS_MS, positionsOf(life))
      } catch (error) {
        // Its connections may be dead without knowing: the next one makes its own.
        const silent = admin
        admin = undefined
        void silent?.disconnect().catch(() => undefined)
        throw error
      }
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
      clearInterval(watchdog)
      applyPause()
      const leave = async () => {
        if (life !== undefined) {
          // What is in work is finished and committed first: once a consumer has begun to stop, it commits nothing.
          await Promise.allSettled(life.handling)
          await commit(life)
        }
        await Promise.all([life?.consumer.disconnect(), admin?.disconnect()])
      }
      await Promise.race([leave(), new Promise((resolve) => setTimeout(resolve, GOODBYE_MS).unref())])
    },
  }
}

/** Rejects if the promise has not settled after so many ms. */
async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
