import type { Settings } from '../../config/schema.ts'
import { ageOfNextDue, backlogSignals, backpressure } from '../../consumers/backpressure.ts'
import { groupReader } from '../../consumers/group-reader.ts'
import { intake } from '../../consumers/intake.ts'
import type { storeWatch } from '../../consumers/store-watch.ts'
import type { Clock } from '../ports/clock.ts'
import type { StageBacklog } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import { closable } from './closable.ts'
import { type IntakeParts, intakesOf, readLimits } from './intakes.ts'
import type { KafkaClient } from './kafka.ts'
import type { Loops } from './loop.ts'
import type { Opener } from './opening.ts'
import type { RedisPart } from './redis.ts'
import type { redisSettingsWatch } from './redis-settings.ts'
import { inputsOf, type Topics } from './topics.ts'

/** How often to look for threads that became due for a protocol while it was off, in ms. */
const WAKE_MS = 5_000
/** While nothing happens in this process, due times are looked at once in so many polls… */
const QUIET_POLLS = 5
/** …the ends of partitions so often instead of so often, in ms… */
const [MARKS_MS, QUIET_MARKS_MS] = [1_000, 2_500]
/** …and so, in ms, whether the backlog is too large. */
const [PRESSURE_MS, QUIET_PRESSURE_MS] = [500, 2_000]

/**
 * Reads messages, opens what is due, and pauses while the backlog is too large. When closed, it has committed what was
 * handled.
 */
export function intakePart(
  settings: Settings,
  parts: IntakeParts & {
    redis: Pick<RedisPart, 'outbox' | 'marks'>
    kafka: KafkaClient
    topics: Topics
    opener: Opener
    watch: ReturnType<typeof storeWatch>
    redisSettings: Pick<ReturnType<typeof redisSettingsWatch>, 'pressure'>
    loops: Loops
    /** The stage queues, as of the last look. */
    backlog: () => readonly StageBacklog[]
    clock: Clock
    report: Report
  },
) {
  const { redis, kafka, topics, opener, watch, redisSettings, loops, backlog, threads, protocols, clock, report } =
    parts
  return closable(async (keep) => {
    const { poll, idleAfter } = settings.clock
    // What is taken here wakes it; what comes due by the clock alone, or elsewhere, waits a moment longer in a quiet time.
    const opening = loops.start(
      'opener',
      poll,
      async () => {
        while (watch.problem === null && (await opener.openDue()) > 0);
      },
      QUIET_POLLS * poll,
    )
    // Threads that changed while a protocol was off everywhere are due for it now.
    loops.start('protocols that were off', WAKE_MS, async () => {
      const paused = await threads.paused()
      for (const { name } of protocols) if (!paused.has(name)) await threads.wake(name, clock())
    })
    const reader = watch.over(
      groupReader({ kafka, settings: readerSettings(settings, inputsOf(topics)), clock, report }),
    )
    const taking = intake({
      reader,
      intakes: intakesOf(settings, topics, parts),
      outbox: redis.outbox,
      marks: redis.marks,
      limits: readLimits(settings),
      taken: opening.wake,
      clock,
      report,
    })
    await taking.start()
    keep(reader)
    // A partition's end must be confirmed anew before the partition can count as idle.
    loops.start('stream marks', MARKS_MS, taking.watch, Math.max(MARKS_MS, Math.min(QUIET_MARKS_MS, idleAfter / 2)))
    const signals = backlogSignals({
      countDue: opener.countDue,
      nextDueAgeMs: ageOfNextDue({ threads, streamNow: opener.now, maxOpen: settings.cases.maxOpen, clock }),
      outbox: redis.outbox,
      stages: backlog,
      clock,
      settings: settings.intake,
    })
    signals.push(watch.pressure, redisSettings.pressure)
    const press = backpressure({ reader, signals, settings: settings.intake, report })
    loops.start('backpressure', PRESSURE_MS, press, QUIET_PRESSURE_MS)
    return { downSince: () => reader.downSince }
  })
}

function readerSettings({ kafka }: Settings, topics: readonly string[]) {
  return {
    group: kafka.group,
    topics,
    sessionTimeoutMs: kafka.sessionTimeout,
    maxBytesPerPartition: kafka.maxBytesPerPartition,
    fetchBytes: kafka.fetchBytes,
    fetchWaitMs: kafka.fetchWait,
    partitionsAtOnce: kafka.partitions,
  }
}
