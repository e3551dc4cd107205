import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs'
import type { Report } from '../src/contracts/ports/report.ts'
import type { BackgroundRunner, HandleBatch, Heartbeat, MessageBatch } from '../src/contracts/ports/topic.ts'
import { type EmptyRange, incomingOf, onPassedOver, partitionKey, partsOf } from '../src/stream/record.ts'
import { HeldPartitions } from './held-partitions.ts'

/** As in the settings' `kafka`, and the topics. */
export interface ReaderSettings {
  readonly group: string
  readonly topics: readonly string[]
  /** ms */
  readonly sessionTimeout: number
  readonly maxBytesPerPartition: number
  /**
   * A fetch returns when this many bytes are available or this much time, in ms, has passed: a few large batches cost less
   * than many small ones.
   */
  readonly fetchBytes: number
  readonly fetchWait: number
  /** So many are read side by side. */
  readonly partitions: number
  /** How long a partition's messages are handled before others have their turn, in ms; absent: until those that were fetched are. */
  readonly turn?: number
}

/** What a consumer works with, and whom it tells. */
interface ConsumerContext {
  readonly kafka: Kafka
  readonly settings: ReaderSettings
  readonly handle: HandleBatch
  readonly report: Report
  /** Unfinished batches of all consumers so far; this one adds its own. */
  readonly inWorkOfAll: Set<Promise<void>>
  /** The group has assigned it partitions. A new consumer does not know what was paused. */
  readonly joined: () => void
  /** The group has answered a heartbeat. */
  readonly answered: () => void
  readonly died: (error: unknown) => void
}

/** New partitions of a topic are noticed within this time. */
const METADATA_MS = 30_000
/** Handled offsets are committed this often: each commit is a request, and a batch may be a single message. */
const COMMIT_EVERY_MS = 250
/** Messages that are handled before it is looked whether the turn is over. */
const IN_TURN = 200
/** Wait before a failed commit is retried. */
const COMMIT_AGAIN_MS = 1_000

/** Longest time that a rebalance may take, in ms. */
export function rebalanceMs({ sessionTimeout }: ReaderSettings): number {
  return Math.max(sessionTimeout, 10_000)
}

/**
 * One consumer, from its creation until it dies: it passes batches to `handle` and commits what has been handled, soon, one
 * commit at a time. Never reused after a failure; calls `died` exactly once, after it has given up its partitions.
 */
export class GroupConsumer {
  /** Unfinished batches; they may outlive the consumer. */
  readonly inWork: ReadonlySet<Promise<void>>
  readonly #context: ConsumerContext
  readonly #consumer: Consumer
  #state: 'current' | 'closing' | 'dead' = 'current'
  #assigned: Readonly<Record<string, number[]>> = {}
  /** How often the group has assigned partitions to the consumer. */
  #assignments = 0
  readonly #inWork = new Set<Promise<void>>()
  /** By partition: the work of handled batches that their commit waits for, in order. */
  readonly #uncommitted = new Map<string, Promise<void>>()
  /** By partition: a range without records that is being noted. The next batch waits for it, and sends heartbeats. */
  readonly #passing = new Map<string, { done: Promise<void>; heartbeat: Heartbeat }>()
  readonly #held = new HeldPartitions()
  /** Next offset by partition: handled since they were assigned, and not yet known to be committed. */
  readonly #handled = new Map<string, { topic: string; partition: number; offset: string }>()
  #commitTimer: NodeJS.Timeout | undefined
  #committing = Promise.resolve()
  /** Ticks since the last response to a heartbeat and, by broker, since the start of a fetch that is still pending. */
  #unanswered = 0
  readonly #fetching = new Map<string, number>()

  constructor(context: ConsumerContext) {
    this.#context = context
    this.inWork = this.#inWork
    this.#consumer = consumerOf(context.kafka, context.settings)
    const { events } = this.#consumer
    this.#consumer.on(events.CRASH, ({ payload }) => this.fail(payload.error))
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => this.#join(payload.memberAssignment))
    this.#consumer.on(events.HEARTBEAT, () => {
      this.#unanswered = 0
      if (this.#state !== 'dead') context.answered()
    })
    this.#consumer.on(events.FETCH_START, ({ payload }) => void this.#fetching.set(String(payload.nodeId), 0))
    this.#consumer.on(events.FETCH, ({ payload }) => void this.#fetching.delete(String(payload.nodeId)))
    onPassedOver(this.#consumer, (range) => this.#passOver(range))
  }

  /** Resolves when it runs, or has died in the attempt. */
  async start(): Promise<void> {
    const { topics, partitions } = this.#context.settings
    const steps = [
      () => this.#consumer.connect(),
      () => this.#consumer.subscribe({ topics: [...topics], fromBeginning: true }),
      () =>
        this.#consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: partitions,
          eachBatch: (payload) => this.#consume(payload),
        }),
    ]
    try {
      for (const step of steps) {
        await step()
        if (this.#state !== 'current') return this.#disconnect()
      }
    } catch (error) {
      this.fail(error)
    }
  }

  /** Its assigned partitions, by topic. */
  get assigned(): Readonly<Record<string, number[]>> {
    return this.#assigned
  }

  /** A copy of the next offsets by `topic/partition` that are handled and not yet known to be committed. */
  handled(): ReadonlyMap<string, string> {
    return new Map([...this.#handled].map(([key, { offset }]) => [key, offset]))
  }

  setPaused(paused: boolean): void {
    this.#held.isPaused = paused
    const topics = this.#context.settings.topics.map((topic) => ({ topic }))
    try {
      if (paused) this.#consumer.pause(topics)
      else this.#consumer.resume(topics)
    } catch {
      // The consumer has just stopped by itself: there is nothing to pause, and its death is reported elsewhere.
    }
  }

  /** Call it at each tick; returns the number of ticks since the last response to a heartbeat or fetch. */
  tick(): number {
    this.#unanswered++
    for (const [node, ticks] of this.#fetching) this.#fetching.set(node, ticks + 1)
    return Math.max(this.#unanswered, ...this.#fetching.values())
  }

  /** It is dead: it takes no more batches, and commits nothing more. */
  fail(error: unknown): void {
    if (this.#state !== 'current') return
    this.#state = 'dead'
    clearTimeout(this.#commitTimer)
    this.#disconnect()
    this.#context.died(error)
  }

  /** Accepts no more batches, finishes and commits the current ones, and leaves the group. */
  async close(): Promise<void> {
    if (this.#state === 'current') this.#state = 'closing'
    // A consumer that has begun to stop can't commit any more.
    await Promise.allSettled(this.#inWork)
    await this.#commit()
    await this.#consumer.disconnect()
  }

  #disconnect(): void {
    void this.#consumer.disconnect().catch(() => undefined)
  }

  /**
   * The group has reassigned partitions. Other members may have read further meanwhile, and a commit of earlier work would
   * move the group back. What was not committed is read again.
   */
  #join(assigned: Readonly<Record<string, number[]>>): void {
    // It was discarded while joining: it must not keep partitions that nobody reads.
    if (this.#state !== 'current') {
      this.#disconnect()
      return
    }
    this.#assigned = assigned
    this.#assignments++
    this.#handled.clear()
    this.#unanswered = 0
    this.#fetching.clear()
    this.#context.joined()
  }

  async #consume(payload: EachBatchPayload): Promise<void> {
    const { batch, heartbeat, isRunning, isStale, resolveOffset } = payload
    const { topic, partition } = batch
    if (this.#held.holds(payload)) return
    const before = this.#passing.get(partitionKey(batch))
    if (before !== undefined) {
      before.heartbeat = heartbeat
      await before.done
    }
    const end = BigInt(batch.lastOffset()) + 1n
    let asked = askedFrom(batch)
    const assignment = this.#assignments
    const hold = (work: Promise<unknown>) => this.#held.hold(payload, work)
    const { turn } = this.#context.settings
    const until = performance.now() + (turn ?? Number.POSITIVE_INFINITY)
    for (const part of partsOf(batch.messages, turn === undefined ? Number.POSITIVE_INFINITY : IN_TURN)) {
      if (this.#state !== 'current' || assignment !== this.#assignments || !isRunning() || isStale()) return
      // kafkajs fetches nothing of any topic until all that it fetched is handled; what is left is fetched again with what others have.
      if (this.#held.holds(payload) || performance.now() >= until) return
      const last = part[part.length - 1]?.offset ?? ''
      const messages = part.map((message) => incomingOf(topic, partition, message))
      const next = last === batch.messages.at(-1)?.offset ? end : BigInt(last) + 1n
      const atEnd = next === end && end >= BigInt(batch.highWatermark)
      const read = { topic, partition, messages, ...asked, next: String(next), atEnd }
      await this.#noted(this.#handle(read, heartbeat, { resolved: () => resolveOffset(last), hold }))
      asked = { from: String(next) }
    }
  }

  /** Handles a range without records as a batch without messages; otherwise the partition's end is never reached. */
  #passOver(range: EmptyRange): void {
    if (this.#state !== 'current') return
    const key = partitionKey(range)
    const before = this.#passing.get(key)?.done
    const current = { done: Promise.resolve(), heartbeat: async () => {} }
    const { topic, partition, next, atEnd } = range
    const read = { topic, partition, messages: [], next, atEnd }
    const heartbeat = () => current.heartbeat()
    current.done = this.#noted(this.#handle(read, heartbeat, { resolved() {}, hold() {} }, before))
      // As after a batch that failed: the next consumer reads these offsets again.
      .catch((error) => this.fail(error))
      .finally(() => {
        if (this.#passing.get(key) === current) this.#passing.delete(key)
      })
    this.#passing.set(key, current)
  }

  /** Has the batch handled, and its offset committed once all that was begun for later has ended too. */
  async #handle(
    batch: MessageBatch,
    heartbeat: Heartbeat,
    { resolved, hold }: { resolved: () => void; hold: (work: Promise<unknown>) => void },
    before?: Promise<void>,
  ): Promise<void> {
    const assignment = this.#assignments
    await before
    const working: Promise<unknown>[] = []
    let isLeft = false
    const isOurs = () => {
      isLeft ||= this.#state !== 'current' || !this.#mayCommit(assignment)
      return !isLeft
    }
    const runInBackground: BackgroundRunner = (start, options) => {
      const begun = start()
      // Whether it rejects is seen when all that the commit waits for is.
      begun.catch(() => {})
      working.push(begun)
      if (options?.holdsPartition) hold(begun)
    }
    await this.#context.handle({ ...batch, isOurs }, heartbeat, runInBackground)
    if (!this.#mayCommit(assignment)) return
    resolved()
    this.#commitAfter(working, batch, () => !isLeft && this.#mayCommit(assignment))
  }

  /** Notes the offset for the next commit when its own work, and that of the batches before it, has ended. */
  #commitAfter(working: readonly Promise<unknown>[], batch: MessageBatch, mayCommit: () => boolean): void {
    const key = partitionKey(batch)
    const handledUpTo = () => {
      if (!mayCommit()) return
      this.#handled.set(key, { topic: batch.topic, partition: batch.partition, offset: batch.next })
      this.#commitSoon(COMMIT_EVERY_MS)
    }
    const before = this.#uncommitted.get(key)
    if (before === undefined && working.length === 0) {
      handledUpTo()
      return
    }
    const current = this.#noted(Promise.all([before, ...working]).then(handledUpTo))
    current.then(
      () => {
        if (this.#uncommitted.get(key) === current) this.#uncommitted.delete(key)
      },
      // It stays: nothing behind it is committed. As after a batch that failed, the next consumer reads these offsets again.
      (error) => this.fail(error),
    )
    this.#uncommitted.set(key, current)
  }

  async #noted(working: Promise<void>): Promise<void> {
    const all = [this.#inWork, this.#context.inWorkOfAll]
    for (const one of all) one.add(working)
    try {
      await working
    } finally {
      for (const one of all) one.delete(working)
    }
  }

  /**
   * Whether work begun under this assignment may still be committed; if not, the new owner started from an earlier offset and
   * re-reads it.
   */
  #mayCommit(assignment: number): boolean {
    return this.#state !== 'dead' && assignment === this.#assignments
  }

  #commitSoon(ms: number): void {
    this.#commitTimer ??= setTimeout(() => void this.#commit(), ms)
  }

  /** A later commit must not be overtaken by an earlier one. */
  #commit(): Promise<void> {
    clearTimeout(this.#commitTimer)
    this.#commitTimer = undefined
    this.#committing = this.#committing.then(async () => {
      const offsets = [...this.#handled]
      if (offsets.length === 0 || this.#state === 'dead') return
      try {
        await this.#consumer.commitOffsets(offsets.map(([, offset]) => offset))
        for (const [key, offset] of offsets) if (this.#handled.get(key) === offset) this.#handled.delete(key)
      } catch (error) {
        this.#context.report('error', { where: 'kafka commit', error })
        if (this.#state === 'current') this.#commitSoon(COMMIT_AGAIN_MS)
      }
    })
    return this.#committing
  }
}

/** kafkajs' types don't name it. */
function askedFrom(batch: object): { from?: string } {
  return 'fetchedOffset' in batch ? { from: String(batch.fetchedOffset) } : {}
}

function consumerOf(kafka: Kafka, settings: ReaderSettings): Consumer {
  return kafka.consumer({
    groupId: settings.group,
    sessionTimeout: settings.sessionTimeout,
    rebalanceTimeout: rebalanceMs(settings),
    heartbeatInterval: Math.floor(settings.sessionTimeout / 3),
    maxBytesPerPartition: settings.maxBytesPerPartition,
    minBytes: settings.fetchBytes,
    maxWaitTimeInMs: settings.fetchWait,
    metadataMaxAge: METADATA_MS,
    allowAutoTopicCreation: false,
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000, restartOnFailure: async () => false },
  })
}
