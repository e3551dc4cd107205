import type { Kafka } from 'kafkajs'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { ErrorPlace, Report } from '../src/contracts/ports/report.ts'
import type { BackgroundRunner, HandleBatch, Position, TopicReader } from '../src/contracts/ports/topic.ts'
import { groupAdmin } from '../src/stream/group-admin.ts'
import { GroupConsumer, type ReaderSettings, rebalanceMs } from './group-consumer.ts'
import { partitionEnds } from './partition-ends.ts'

/** Wait before a dead consumer is replaced, in ms: doubles with each death in a row, up to `max`. */
const RESTART_BACKOFF_MS = { initial: 500, max: 10_000 }
/**
 * A consumer counts as dead, whatever it reports, when no heartbeat or fetch has been answered for this long. Longer
 * than a rebalance may take; short enough that every death is noticed within 30 s.
 */
const SILENT_MS = 20_000
/** Silence is counted in ticks, so that neither a clock jump nor a suspended process looks like silence. */
const TICK_MS = 1_000
/** Longest wait for a consumer to finish its work and leave its group. */
const CLOSE_TIMEOUT_MS = 5_000

/**
 * Reads topics as a member of a Kafka group. A kafkajs consumer can die for good while its process lives: by an event
 * (CRASH without restart), by a rejected promise, or silently, on a connection that accepts everything and answers
 * nothing. Each death is noticed (the silent kind by a heartbeat or fetch without an answer), and the consumer is
 * replaced by a new one on new connections, as often as needed. It reports a success, as loops do, when a batch has been
 * handled, and when the group answers while there is nothing to handle.
 */
export function groupReader(deps: {
  kafka: Kafka
  settings: ReaderSettings
  clock: Clock
  report: Report
}): TopicReader {
  const { kafka, settings, clock, report } = deps
  const silentTicks = Math.max(SILENT_MS, 2 * rebalanceMs(settings)) / TICK_MS
  const admin = groupAdmin(kafka)
  let consumer: GroupConsumer | undefined
  let paused = false
  let closing = false
  let downSince: number | null = clock()
  let watchdog: NodeJS.Timeout | undefined
  /** Unfinished batches of all consumers so far. */
  const inWork = new Set<Promise<void>>()
  /** Partitions whose last batch could not be handled. */
  const failing = new Set<string>()
  const succeeded = () => report('loop:succeeded', { loop: 'kafka consumer' })
  const assigned = (all: Readonly<Record<string, readonly number[]>>) => {
    const partitions = Object.entries(all).flatMap(([topic, own]) => own.map((partition) => ({ topic, partition })))
    report('partitions:assigned', { partitions })
    return partitions
  }

  /** A consumer that answers heartbeats over a batch that hangs or fails does not succeed. */
  function watched(handle: HandleBatch): HandleBatch {
    return async (batch, heartbeat, runInBackground) => {
      const partition = `${batch.topic}/${batch.partition}`
      const working: Promise<unknown>[] = []
      const begin: BackgroundRunner = (work, options) =>
        runInBackground(() => {
          const begun = work()
          working.push(begun)
          return begun
        }, options)
      const ended = () => {
        failing.delete(partition)
        succeeded()
      }
      try {
        await handle(batch, heartbeat, begin)
      } catch (error) {
        failing.add(partition)
        throw error
      }
      if (working.length === 0) return ended()
      // Who began it hears of its failure too.
      void Promise.all(working).then(ended, () => failing.add(partition))
    }
  }

  function applyPause(): void {
    if (downSince === null) consumer?.setPaused(paused || closing)
  }

  async function begin(handle: HandleBatch, backoffMs: number): Promise<void> {
    if (closing) return
    let wait = backoffMs
    consumer = new GroupConsumer({
      kafka,
      settings,
      handle,
      report,
      inWorkOfAll: inWork,
      joined() {
        downSince = null
        wait = RESTART_BACKOFF_MS.initial
        // What another member reads now, it succeeds or fails with.
        const own = new Set(assigned(consumer?.assigned ?? {}).map(({ topic, partition }) => `${topic}/${partition}`))
        for (const partition of failing) if (!own.has(partition)) failing.delete(partition)
        applyPause()
      },
      answered() {
        if (downSince !== null) {
          downSince = null
          applyPause()
        }
        if (failing.size === 0 && inWork.size === 0) succeeded()
      },
      died(error) {
        consumer = undefined
        downSince ??= clock()
        assigned({})
        report('error', { where: 'kafka consumer', error })
        setTimeout(() => {
          void begin(handle, Math.min(wait * 2, RESTART_BACKOFF_MS.max))
        }, wait)
      },
    })
    await consumer.start()
  }

  /** Replaces a consumer that has been silent for too long. */
  function watch(): void {
    if (consumer === undefined || consumer.tick() < silentTicks) return
    downSince ??= clock() - silentTicks * TICK_MS
    // Batches that hang outside Kafka would hang again: keep at most one consumer's worth of them in memory.
    if (inWork.size === consumer.inWork.size)
      consumer.fail(new Error(`no heartbeat or fetch was answered for ${(silentTicks * TICK_MS) / 1000} s`))
  }

  return {
    start(handle) {
      watchdog ??= setInterval(watch, TICK_MS)
      // One that never succeeds is as old as its start.
      succeeded()
      return begin(watched(handle), RESTART_BACKOFF_MS.initial)
    },
    positions: async () => (consumer === undefined ? [] : positionsOf(consumer, admin, settings.group)),
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
        try {
          await consumer?.close()
        } finally {
          await admin.close()
        }
      }
      await Promise.race([leave(), new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref())])
    },
  }
}

/**
 * What is left of the consumer's partitions up to their last stable offset: messages of an open transaction can't be
 * processed yet, so they don't count.
 */
async function positionsOf(
  consumer: GroupConsumer,
  admin: ReturnType<typeof groupAdmin>,
  group: string,
): Promise<Position[]> {
  const { assigned } = consumer
  const topics = Object.keys(assigned)
  if (topics.length === 0) return []
  // Read before the ends are fetched: messages handled meanwhile may lie beyond those ends.
  const handled = consumer.handled()
  const all = await admin.ask((asked) => partitionEnds(asked, group, topics, handled))
  return all
    .filter(({ topic, partition }) => entryOf(assigned, topic)?.includes(partition))
    .map(({ topic, partition, next, end }) => ({ topic, partition, lag: end - next }))
}

/**
 * What a reader of a group of its own tells. The partitions that are assigned, and the loop of the Kafka consumer, are the intake's:
 * reported for another group too, they would hide that nobody reads one of the intake's.
 */
export function besideIntake(report: Report, loop?: ErrorPlace): Report {
  return (name, event) => {
    if (name === 'partitions:assigned') return
    if (name !== 'loop:succeeded') report(name, event)
    else if (loop !== undefined) report('loop:succeeded', { loop })
  }
}
