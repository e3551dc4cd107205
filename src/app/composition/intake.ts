import type { Settings } from '../../../config/schema.ts'
import { groupsOf, inputsOf, type Topics } from '../../../config/topics.ts'
import { actionsConsumer } from '../../../consumers/actions.ts'
import { authorNotes } from '../../../consumers/authors.ts'
import { backgroundErasures } from '../../../consumers/background-erasures.ts'
import { backpressure, openingGate, type PressureSignal } from '../../../consumers/backpressure.ts'
import { comments } from '../../../consumers/comments.ts'
import { counterspeech } from '../../../consumers/counterspeech.ts'
import { decisionsConsumer } from '../../../consumers/decision-consumer.ts'
import { besideIntake, groupReader } from '../../../consumers/group-reader.ts'
import { type IntakeContext, type IntakeInput, intake, type TopicHandler } from '../../../consumers/intake.ts'
import { commentPace } from '../../../consumers/judged-comments.ts'
import { posts } from '../../../consumers/posts.ts'
import { reachConsumer } from '../../../consumers/reach.ts'
import { othersUnread, tenantShares } from '../../../consumers/tenant-shares.ts'
import { orphanLetters } from '../../../producers/dead-letter.ts'
import { authorHashes } from '../../contracts/facts/author-hash.ts'
import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import { commentEraser } from '../../judging/engine/comment-erasure.ts'
import { decisionHandler } from '../../judging/engine/decision-handler.ts'
import { type OpenerSettings, openAllDue, opener, wakeUnpaused } from '../../judging/engine/open.ts'
import { subjectEraser } from '../../judging/engine/retraction.ts'
import { threadRules } from '../../judging/threads/rules.ts'
import { storyIds } from '../../judging/threads/story-id.ts'
import { closable } from '../../operations/closable.ts'
import { storyWords } from '../../protocols/same-words.ts'
import { topicHistory } from '../../stream/bounded-reader.ts'
import { groupProgress } from '../../stream/offsets.ts'
import { authorErasurePart } from './author-erasures.ts'
import { overloadSteps } from './overload.ts'
import type { ServiceParts } from './parts.ts'
import { readLimitsOf } from './read-limits.ts'
import { sourceReading, sourcesPart } from './sources.ts'
import { verdictForm } from './verdict-form.ts'

/** How often to look for threads that became due for a protocol while it was off, in ms. */
const WAKE_MS = 5_000
/** While nothing happens in this process, due times are looked at once in so many polls… */
const QUIET_POLLS = 5
/** …the ends of partitions so often instead of so often, in ms… */
const [MARKS_MS, QUIET_MARKS_MS] = [1_000, 2_500]
/** How often tenants that have too much are looked for while intake would pause for it, in ms. */
const SHARES_MS = 2_000
/** …and so, in ms, whether the backlog is too large. */
const [PRESSURE_MS, QUIET_PRESSURE_MS] = [500, 2_000]

/**
 * Reads messages, opens what is due, and pauses while the backlog is too large. When closed, it has committed what was
 * handled.
 */
export function intakePart(
  settings: Settings,
  parts: IntakeParts &
    Pick<ServiceParts, 'redis' | 'marks' | 'kafka' | 'topics' | 'watch' | 'loops'> & {
      /** Authors are noted by hashes under it. */
      secret: string
      opener: OpenerLoop
      /** Bytes that one tenant may hold; null: no limit is known. */
      mostKept: () => number | null
      /** What intake is paused by, and what the opening of cases waits for. */
      signals: Record<'intake' | 'opening', readonly (() => Promise<PressureSignal>)[]>
    },
) {
  const { redis, secret, marks, kafka, topics, opener, watch, signals, loops, threads, protocols, clock, report } =
    parts
  const noteAuthors = authorNotes(redis.authors, authorHashes(secret))
  return closable(async (keep) => {
    const { poll, idleAfter } = settings.clock
    // What is taken here wakes it; what comes due by the clock alone, or elsewhere, waits a moment longer in a quiet time.
    const gate = openingGate({ signals: signals.opening, settings: settings.intake, report })
    const opening = loops.start(
      'opener',
      poll,
      () => openAllDue(opener, () => watch.problem === null && gate.mayOpen()),
      QUIET_POLLS * poll,
    )
    loops.start('protocols that were off', WAKE_MS, wakeUnpaused({ threads, protocols, clock }))
    const reader = groupReader({ kafka, settings: { ...settings.kafka, topics: inputsOf(topics) }, clock, report })
    const shares = keep(sharesPart(settings, parts))
    const input = inputOf(settings, topics, { ...parts, noteAuthors, mostHeld: shares.mostHeld })
    const taking = intake({ reader, ...input, marks, guard: watch, handled: opening.wake })
    await taking.start()
    keep(taking)
    keep(await actionsPart(settings, { redis, kafka, topics, watch, clock, report }))
    const mapped = sourceReading(settings)
    const sources = mapped && keep(await sourcesPart(settings, { kafka, topics, clock, report }, mapped))
    keep(
      await authorErasurePart(settings, { redis, kafka, topics, watch, streamNow: opener.now, loops, clock, report }),
    )
    // A partition's end must be confirmed anew before the partition can count as idle.
    loops.start('stream marks', MARKS_MS, taking.noteEnds, Math.max(MARKS_MS, Math.min(QUIET_MARKS_MS, idleAfter / 2)))
    const pausing = signals.intake.map(shares.beside)
    // What is not mapped yet waits where it is.
    const both = {
      setPaused(paused: boolean) {
        reader.setPaused(paused)
        sources?.setPaused(paused)
      },
    }
    const press = backpressure({ reader: both, signals: pausing, settings: settings.intake, report })
    const look = () => Promise.all([press(), gate.poll()])
    loops.start('backpressure', PRESSURE_MS, look, QUIET_PRESSURE_MS)
    return { downSince: () => earliest(taking.downSince, sources?.downSince() ?? null) }
  })
}

/** Since when one of two is down; null while none is. */
function earliest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}

/** Keeps the shares of tenants while Redis is short of memory, or more is due than may be. */
function sharesPart(
  settings: Settings,
  parts: Pick<
    Parameters<typeof intakePart>[1],
    'kafka' | 'topics' | 'opener' | 'watch' | 'mostKept' | 'loops' | 'threads' | 'clock' | 'report'
  >,
) {
  const { kafka, topics, opener, watch, mostKept, loops, threads, clock, report } = parts
  const leaving = new AbortController()
  const inputs = inputsOf(topics)
  const unread = () =>
    othersUnread({
      topics: inputs,
      history: topicHistory(kafka, { signal: leaving.signal }),
      committed: async () => (await groupProgress(kafka, settings.kafka.group, inputs)).committed,
    })
  const ofMemory = tenantShares({
    by: 'store-full',
    isScarce: () => watch.isScarce && mostKept() !== null,
    tenantsOver: async () => threads.tenantsOver(mostKept() ?? Number.POSITIVE_INFINITY, clock()),
    othersUnread: unread(),
    // What is beyond a share is refused.
    othersShare: async () => 0,
    report,
  })
  const { pauseAtDue, resumeAtShare } = settings.intake
  let isMuchDue = false
  const ofDue = tenantShares({
    by: 'due-depth',
    isScarce: () => isMuchDue,
    tenantsOver: opener.tenantsOverDue,
    othersUnread: unread(),
    othersShare: async () => (await opener.countDue(mostDueOf(settings))) / pauseAtDue,
    report,
  })
  const noteDue = (measure: () => Promise<PressureSignal>) => async () => {
    const signal = await measure()
    if (signal.by === 'due-depth') isMuchDue = signal.share > (isMuchDue ? resumeAtShare : 1)
    return signal
  }
  // What is unread may be much to look through: no loop hangs for it.
  loops.start('store shares', SHARES_MS, async () => {
    for (const shares of [ofMemory, ofDue])
      void shares.poll().catch((error: unknown) => {
        if (!leaving.signal.aborted) report('error', { where: 'store shares', error })
      })
  })
  return {
    mostHeld: () => (ofMemory.isInForce() ? mostKept() : null),
    beside: (measure: () => Promise<PressureSignal>) => ofMemory.beside(ofDue.beside(noteDue(measure))),
    close: async () => leaving.abort(),
  }
}

/** The threads of one tenant that may be due. */
function mostDueOf({ shares, intake: { pauseAtDue } }: Settings): number {
  return shares.tenant * pauseAtDue
}

type EraserParts = Omit<Parameters<typeof commentEraser>[0], 'settings'>

/** The stores that the input is written to and the parts that are asked about it. */
export interface IntakeParts
  extends EraserParts,
    Pick<IntakeContext, 'outbox' | 'routes' | 'links' | 'noteAuthors' | 'report'> {
  readonly samplingRank: SamplingRank
  /** Bytes that a tenant may hold with what it sends now; absent: there is no limit. */
  readonly mostHeld?: IntakeContext['mostHeld']
  /** How verdicts are written; absent: by the settings. */
  readonly writes?: VerdictForm
  /** Only for posts from a data set: what a vision model saw in their images. */
  readonly descriptions?: ((post: ThreadRef) => readonly string[]) | undefined
}

/** A handler for each input topic, and what they work with. */
export function inputOf(
  settings: Settings,
  topics: Pick<Topics, 'posts' | 'comments' | 'counterspeech'>,
  parts: IntakeParts,
): IntakeInput {
  const { threads, outbox, routes, samplingRank, clock, report, descriptions = () => [], links, noteAuthors } = parts
  const { mostHeld = () => null } = parts
  const { writes = verdictForm(settings) } = parts
  const { erase, eraseAsked } = subjectEraser({ ...parts, keepMemo: settings.memo.keep, writes })
  return {
    handlers: new Map<string, TopicHandler>([
      [topics.posts, posts],
      [topics.comments, comments],
      [topics.counterspeech, counterspeech],
    ]),
    context: {
      threads,
      outbox,
      routes,
      storyOf: storyIds(samplingRank, storyWords),
      erase,
      eraseAsked,
      descriptions,
      links,
      noteAuthors,
      clock,
      report,
      erasures: backgroundErasures(commentEraser({ ...parts, settings })),
      checkpoints: settings.checkpoints,
      rules: threadRules(settings, samplingRank),
      limits: readLimitsOf(settings),
      maxReplies: settings.threads.maxReplies,
      commentPace: commentPace(clock),
      mostHeld,
    },
  }
}

/** Opens cases for threads that become due. The settings' `clock` may be replaced if there is no stream. */
export function openerOf(
  settings: Settings,
  {
    partitions,
    streamClock = settings.clock,
    onlyAsked = false,
    gate,
    samplingRank,
    ...parts
  }: Omit<Parameters<typeof opener>[0], 'settings' | 'orphanLetter' | 'drawing'> &
    Pick<OpenerSettings, 'partitions' | 'onlyAsked' | 'gate'> & {
      streamClock?: OpenerSettings['clock'] | undefined
      samplingRank?: SamplingRank
    },
) {
  const { checkpoints, shares } = settings
  const cases = { ...settings.cases, maxWaiting: Math.ceil(settings.cases.maxOpen * shares.waiting) }
  const { maxReplies } = settings.threads
  return opener({
    ...parts,
    ...(samplingRank && { drawing: { rank: samplingRank, maxReplies } }),
    settings: {
      checkpoints,
      cases: { ...cases, overload: overloadSteps(cases) },
      clock: streamClock,
      mostLetters: settings.intake.pauseAtOutbox,
      mostDue: mostDueOf(settings),
      partitions,
      onlyAsked,
      gate,
    },
    orphanLetter: orphanLetters(parts.report),
  })
}
export type OpenerLoop = ReturnType<typeof openerOf>

/** Reads how far posts reach. */
export function reachPart(
  settings: Settings,
  parts: Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'watch' | 'clock' | 'report'> &
    Pick<Parameters<typeof intakePart>[1], 'mostKept'>,
) {
  const { redis, kafka, topics, watch, mostKept, clock, report } = parts
  return closable(async (keep) => {
    const reading = { ...settings.kafka, group: groupsOf(settings).reach, topics: [topics.reach] }
    const consumer = reachConsumer({
      threads: redis.threads,
      outbox: redis.outbox,
      limits: settings.intake,
      keepMs: settings.threads.orphanWait,
      mostHeld: () => (watch.isScarce ? mostKept() : null),
      clock,
      report,
      store: watch,
      reader: groupReader({ kafka, settings: reading, clock, report: besideIntake(report) }),
    })
    await consumer.start()
    keep(consumer)
    return {}
  })
}

/** Reads what was done about subjects: what is no action becomes a dead letter. */
function actionsPart(
  settings: Settings,
  {
    redis,
    kafka,
    topics,
    watch,
    clock,
    report,
  }: Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'watch' | 'clock' | 'report'>,
) {
  return closable(async (keep) => {
    const reading = { ...settings.kafka, group: groupsOf(settings).actions, topics: [topics.actions] }
    const reader = groupReader({ kafka, settings: reading, clock, report: besideIntake(report) })
    const { outbox } = redis
    const consumer = actionsConsumer({ outbox, limits: settings.intake, clock, report, store: watch, reader })
    await consumer.start()
    keep(consumer)
    return {}
  })
}

/** Reads what people decide, and carries it out. */
export function decisionsPart(
  settings: Settings,
  parts: Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'protocols' | 'routes' | 'watch' | 'clock' | 'report'>,
) {
  const { redis, kafka, topics, protocols, routes, watch, clock, report } = parts
  return closable(async (keep) => {
    const reading = { ...settings.kafka, group: groupsOf(settings).decisions, topics: [topics.decisions] }
    const { decisions, threads, outbox } = redis
    const consumer = decisionsConsumer({
      decisions,
      outbox,
      limits: settings.intake,
      clock,
      report,
      store: watch,
      decide: decisionHandler({ decisions, threads, protocols, routes, clock, report, writes: verdictForm(settings) }),
      reader: groupReader({ kafka, settings: reading, clock, report: besideIntake(report, 'decisions') }),
    })
    await consumer.start()
    keep(consumer)
    return {}
  })
}
