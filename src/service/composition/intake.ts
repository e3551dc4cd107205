import type { Settings } from '../../../config/schema.ts'
import { inputsOf, type Topics } from '../../../config/topics.ts'
import { ageOfNextDue, backlogSignals, backpressure } from '../../../consumers/backpressure.ts'
import { comments } from '../../../consumers/comments.ts'
import { counterspeech } from '../../../consumers/counterspeech.ts'
import { groupReader } from '../../../consumers/group-reader.ts'
import { type Input, intake, type TopicHandler } from '../../../consumers/intake.ts'
import { laterErasures } from '../../../consumers/later-erasures.ts'
import { posts } from '../../../consumers/posts.ts'
import type { StoreWatch } from '../../../consumers/store-watch.ts'
import { orphanLetters } from '../../../producers/dead-letter.ts'
import type { KafkaClient } from '../adapters/kafka/client.ts'
import { placeholders } from '../domain/placeholders.ts'
import { type SamplingRank, samplingKeyVersion } from '../domain/sampling-rank.ts'
import type { ThreadRef } from '../domain/thread.ts'
import { commentEraser } from '../engine/erase.ts'
import { type OpenerSettings, opener } from '../engine/open.ts'
import type { OpenedCases } from '../engine/opened-cases.ts'
import { retractionOf } from '../engine/retraction.ts'
import type { Router } from '../engine/routes.ts'
import type { Protocol } from '../engine/script.ts'
import { closable } from '../operations/closable.ts'
import type { Loops } from '../operations/loop.ts'
import type { redisSettingsWatch } from '../operations/redis-settings.ts'
import type { CaseStore, Outbox } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'
import type { Memo } from '../ports/memo.ts'
import type { StageBacklog, StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { Routes } from '../ports/routes.ts'
import type { StreamMarks, ThreadRules, ThreadStore } from '../ports/threads.ts'
import type { TraceLinks } from '../ports/traces.ts'
import type { RedisPart } from './redis.ts'

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
    redis: Pick<RedisPart, 'outbox' | 'marks' | 'links'>
    kafka: KafkaClient
    topics: Topics
    opener: Opener
    watch: StoreWatch
    redisSettings: Pick<ReturnType<typeof redisSettingsWatch>, 'pressure'>
    loops: Loops
    /** The stage queues, as of the last look. */
    backlog: () => readonly StageBacklog[]
    clock: Clock
    report: Report
  },
) {
  const { redis, kafka, topics, opener, watch, loops, threads, protocols, clock, report } = parts
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
    const reader = groupReader({ kafka, settings: { ...settings.kafka, topics: inputsOf(topics) }, clock, report })
    const input = inputOf(settings, topics, { ...parts, links: redis.links })
    const taking = intake({ reader, ...input, marks: redis.marks, store: watch, handled: opening.wake })
    await taking.start()
    keep(taking)
    // A partition's end must be confirmed anew before the partition can count as idle.
    loops.start('stream marks', MARKS_MS, taking.noteEnds, Math.max(MARKS_MS, Math.min(QUIET_MARKS_MS, idleAfter / 2)))
    const signals = pressureSignals(settings, parts)
    const press = backpressure({ reader, signals, settings: settings.intake, report })
    loops.start('backpressure', PRESSURE_MS, press, QUIET_PRESSURE_MS)
    return { downSince: () => taking.downSince }
  })
}

/** What intake pauses by: depths and ages of the backlog, Redis's memory, and what is wrong with Redis's settings. */
export function pressureSignals(
  { cases, intake: limits }: Settings,
  parts: {
    threads: ThreadStore
    redis: Pick<RedisPart, 'outbox'>
    opener: Opener
    watch: Pick<StoreWatch, 'pressure'>
    redisSettings: Pick<ReturnType<typeof redisSettingsWatch>, 'pressure'>
    backlog: () => readonly StageBacklog[]
    clock: Clock
  },
) {
  const { threads, redis, opener, watch, redisSettings, backlog, clock } = parts
  const signals = backlogSignals({
    countDue: opener.countDue,
    nextDueAgeMs: ageOfNextDue({ threads, streamNow: opener.now, maxOpen: cases.maxOpen, clock }),
    outbox: redis.outbox,
    stages: backlog,
    clock,
    settings: limits,
  })
  return [...signals, watch.pressure, redisSettings.pressure]
}

/** The stores that the input is written to and the parts that are asked about it. */
export interface IntakeParts {
  readonly threads: ThreadStore
  readonly protocols: readonly Protocol[]
  readonly routes: Routes
  readonly memo: Pick<Memo, 'forget'>
  readonly samplingRank: SamplingRank
  readonly clock: Clock
  readonly report: Report
  readonly cases: CaseStore
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  /** Null if giving a case its job is left to the reconciler. */
  readonly queues: Pick<StageQueues, 'push'> | null
  /** Where traces are sent. */
  readonly links?: TraceLinks | undefined
  /** Only for posts from a data set: what a vision model saw in their images. */
  readonly descriptions?: (post: ThreadRef) => readonly string[]
}

/** A handler for each input topic, and what they work with. */
export function inputOf(
  settings: Settings,
  topics: Pick<Topics, 'posts' | 'comments' | 'counterspeech'>,
  parts: IntakeParts,
): Input {
  const {
    threads,
    cases,
    outbox,
    queues,
    protocols,
    routes,
    memo,
    samplingRank,
    clock,
    report,
    descriptions = () => [],
    links,
  } = parts
  const { checkpoints } = settings
  const retract = retractionOf(protocols, clock)
  const eraseComments = commentEraser({
    ...{ threads, cases, memo, queues, protocols, clock },
    settings: { checkpoints, caseDeadlineMs: settings.cases.deadline },
  })
  return {
    handlers: new Map<string, TopicHandler>([
      [topics.posts, posts],
      [topics.comments, comments],
      [topics.counterspeech, counterspeech],
    ]),
    context: {
      ...{ threads, outbox, routes, checkpoints, descriptions, links, clock, report },
      rules: threadRules(settings, samplingRank),
      limits: settings.intake,
      maxReplies: settings.threads.maxReplies,
      async erase(ref) {
        // Also for a repeated deletion: the first may have been interrupted between the two steps.
        await memo.forget(ref, settings.memo.keep)
        await links?.forget(ref)
        return threads.deletePost(ref, (...of) => retract(ref, ...of))
      },
      async eraseRequest(ref) {
        await memo.forget(ref, settings.memo.keep)
        await threads.dropAsked(ref)
      },
      erasures: laterErasures(eraseComments),
    },
  }
}

/** The rules by which threads take comments. */
export function threadRules({ checkpoints, threads }: Settings, samplingRank: SamplingRank): ThreadRules {
  return {
    ...checkpoints,
    ...threads,
    isPlaceholder: placeholders(threads.placeholders),
    samplingKeyVersion: samplingKeyVersion(samplingRank),
    rank: ({ tenant, kind, postId }, id) => samplingRank(`sample ${tenant}/${kind}:${postId}`, id),
  }
}

/** Opens cases for threads that become due. The settings' `clock` may be replaced if there is no stream. */
export function openerOf(
  settings: Settings,
  parts: {
    routes: Router
    threads: ThreadStore
    marks: StreamMarks
    cases: CaseStore
    queues: StageQueues
    clock: Clock
    report: Report
    /** The partitions that drive the stream's clock; null: all that have been seen. */
    partitions: OpenerSettings['partitions']
    streamClock?: OpenerSettings['clock']
    opened?: OpenedCases
    links?: Pick<TraceLinks, 'read'> | undefined
    /** Leaves the stream to other openers. */
    onlyAsked?: boolean
  },
) {
  const { partitions, streamClock = settings.clock, onlyAsked = false, ...given } = parts
  return opener({
    ...given,
    settings: {
      checkpoints: settings.checkpoints,
      clock: streamClock,
      maxOpen: settings.cases.maxOpen,
      overloadedAtDue: settings.cases.overloadedAtDue,
      caseDeadlineMs: settings.cases.deadline,
      partitions,
      onlyAsked,
    },
    orphanLetter: orphanLetters(parts.report),
  })
}
export type Opener = ReturnType<typeof openerOf>
