import { loadFiles } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { type Topics, topicsByMessage } from '../../../config/topics.ts'
import { type PressureSignal, pressureWatch } from '../../../consumers/backpressure.ts'
import type { RedisGuard } from '../../../consumers/redis-guard.ts'
import { besideThoseOver } from '../../../consumers/tenant-shares.ts'
import { decisionsProducer } from '../../../producers/decision-producer.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { authorHashes } from '../../contracts/facts/author-hash.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { fences } from '../../contracts/facts/fence.ts'
import type { Answers, VerdictRequests } from '../../contracts/ports/answers.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { DecisionDesk } from '../../contracts/ports/decisions.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { PlacingWriter, TopicWriter } from '../../contracts/ports/topic.ts'
import { actionsRoute } from '../../door/actions.ts'
import { appealsRoute } from '../../door/appeals.ts'
import { type AuthorParts, authorRoutes } from '../../door/authors.ts'
import { decisionRate, tenantRate } from '../../door/decision-rate.ts'
import { decisionRoutes } from '../../door/decisions.ts'
import { discoveryRoute } from '../../door/discovery.ts'
import { door } from '../../door/door.ts'
import type { Dependency } from '../../door/in-time.ts'
import { debateOf, type JudgeParts, judgeRoutes } from '../../door/judge.ts'
import { messagesRoute } from '../../door/messages.ts'
import { moderationsRoute } from '../../door/moderations.ts'
import { perspectiveRoutes } from '../../door/perspective.ts'
import { unreadable } from '../../door/problem.ts'
import { type ReasonsParts, reasonsRoute } from '../../door/reasons.ts'
import { SCORE_PROMPTS, scorer, type TextScorer } from '../../door/scoring/score-text.ts'
import { sending } from '../../door/sending.ts'
import { serveDoor } from '../../door/server/door-server.ts'
import { openKeyFile } from '../../door/server/key-file.ts'
import { storiesRoute } from '../../door/stories.ts'
import { type SubjectParts, subjectsRoute } from '../../door/subjects.ts'
import { openAllDue } from '../../judging/engine/open.ts'
import { labelsForPeople, type Protocol } from '../../judging/engine/script.ts'
import { givenAround } from '../../judging/engine/surroundings.ts'
import { verdictRequests } from '../../judging/engine/verdict-requests.ts'
import { messageKeeper } from '../../judging/threads/kept.ts'
import { placeholders, threadRules } from '../../judging/threads/rules.ts'
import type { Gateway } from '../../models/gateway.ts'
import type { AnswerWatch } from '../../operations/answer-watch.ts'
import { closable, requestsDrain } from '../../operations/closable.ts'
import { kafkaWatch } from '../../operations/health.ts'
import type { Loops } from '../../operations/loop.ts'
import { version } from '../../platform/package-folder.js'
import { DECISION_FOLDER, decisionPrompt } from '../../protocols/decision-prompt.ts'
import { readPrompts } from '../../protocols/prompts.ts'
import { recordAt } from '../../record/record-store.ts'
import { DEFAULT_TENANT } from '../../shelves/names.ts'
import { groupAdmin } from '../../stream/group-admin.ts'
import { withTimeout } from '../../stream/with-timeout.ts'
import { refusalsPart } from './gate.ts'
import { type OpenerLoop, openerOf } from './intake.ts'
import { promptsOf } from './make-protocols.ts'
import type { ServiceParts } from './parts.ts'
import { readLimitsOf } from './read-limits.ts'
import { reasonsIn } from './statement-texts.ts'

/** How often the file of keys is looked at, and whether the backlog is too large, in ms. */
const [KEYS_MS, PRESSURE_MS] = [2_000, 500]
/** How often Redis and Kafka are asked whether they answer, in ms. */
const ANSWERS_MS = 500
/** How long the door waits for what comes of a decision, in ms. */
const DECISION_WAIT_MS = 15_000

/** The door of a service, on its Kafka and Redis, and the record of its machine. */
export function servedDoor(
  settings: Settings,
  parts: Omit<Parameters<typeof askingPart>[1], 'answers'> &
    Pick<Parameters<typeof doorPart>[1], 'signals'> &
    Pick<ServiceParts, 'redis' | 'kafka' | 'topics' | 'gateway' | 'gate'> & {
      redisAnswers: AnswerWatch
      opener: Pick<OpenerLoop, 'tenantsOverDue'>
      watch: Pick<RedisGuard, 'isScarce'>
      secret: string
    },
) {
  const { redis, redisAnswers, kafka, topics, signals, opener, gateway, gate, secret, ...judging } = parts
  const { threads, cases, loops, clock, report } = judging
  return closable(async (keep) => {
    const refusals = refusalsPart(settings, { gate, kafka, loops }, 'door-record')
    const writer = keep(refusals.writer(await kafkaWriter(kafka, settings.kafka.compression)))
    const asker = keep(groupAdmin(kafka))
    const kafkaAnswers = kafkaWatch(() => asker.ask((admin) => admin.fetchTopicMetadata({ topics: [topics.posts] })))
    const away = { redis: redisAnswers, kafka: kafkaAnswers }
    loops.start('door dependencies', ANSWERS_MS, () => Promise.all([redisAnswers.poll(), kafkaAnswers.poll()]))
    const { told } = redis.decisions
    const placing: PlacingWriter = {
      place: (record) => withTimeout(settings.door.produceTimeout, writer.place(record)),
    }
    const opened = keep(
      await doorPart(settings, {
        writer,
        topics,
        signals,
        tenantsOverDue: opener.tenantsOverDue,
        tenantsOverShare: async () =>
          judging.watch.isScarce ? threads.tenantsOver(judging.mostKept() ?? Number.POSITIVE_INFINITY, clock()) : [],
        loops,
        clock,
        report,
        isAway: (dependency) => away[dependency].away !== null,
        asking: askingPart(settings, {
          ...judging,
          answers: redis.answers,
        }),
        answers: redis.answers,
        scoring: scoringPart(settings, { gateway, secret, clock }),
        protocols: judging.protocols,
        subjects: { threads, cases, decisions: redis.decisions, record: keep(recordAt(settings)).now },
        authors: {
          erasures: redis.authorErasures,
          hashOf: authorHashes(secret),
          isPlaceholder: placeholders(settings.threads.placeholders),
        },
        decisionDesk: decisionsProducer({ writer: placing, topic: topics.decisions, told, waitMs: DECISION_WAIT_MS }),
      }),
    )
    return { doorPort: opened.doorPort, kafkaAnswers }
  })
}

/** The HTTP door. When closed, what was asked is answered. */
export function doorPart(
  settings: Settings,
  parts: {
    /** Takes messages for the topics. */
    writer: Pick<TopicWriter, 'send'>
    topics: Pick<Topics, 'posts' | 'comments' | 'counterspeech' | 'feedback' | 'decisions' | 'actions' | 'appeals'>
    /** What messages of the stream are refused for, and what questions are. */
    signals: Record<'messages' | 'door', readonly (() => Promise<PressureSignal>)[]>
    /** Who has more due than its share. */
    tenantsOverDue: () => Promise<readonly string[]>
    /** Who holds more than its share while Redis is short of memory. */
    tenantsOverShare: () => Promise<readonly string[]>
    /** Takes what is to be judged apart from the stream, and keeps the answers. */
    asking: VerdictRequests
    answers: Answers
    /** What is known of streamed subjects. */
    subjects: Omit<SubjectParts, 'report'> & Parameters<typeof storiesRoute>[0] & Pick<ReasonsParts, 'record'>
    /** Decides in a person's name; null where nobody carries that out. */
    decisionDesk: DecisionDesk | null
    /** Has all that a person wrote erased; null where nobody carries that out. */
    authors: Omit<AuthorParts, 'clock' | 'report'> | null
    /** Scores single texts. */
    scoring: ReturnType<typeof scoringPart>
    /** Those that are on. */
    protocols: readonly Protocol[]
    /** Whether this is known not to answer now. */
    isAway: (dependency: Dependency) => boolean
    loops: Loops
    clock: Clock
    report: Report
  },
) {
  const { writer, topics, signals, tenantsOverDue, tenantsOverShare, asking, answers, scoring, subjects, ...more } =
    parts
  const { decisionDesk, authors, protocols, isAway, ...running } = more
  const { loops, clock, report } = running
  return closable(async (keep) => {
    // Where nobody needs a key one may be made later all the same.
    const keys = openKeyFile(settings.door.keys, clock, { mayCome: settings.door.openOnLoopback, report })
    loops.start('keys', KEYS_MS, keys.poll)
    let over: { readonly due: readonly string[]; readonly share: readonly string[] } = { due: [], share: [] }
    const lookAtShares = async () => {
      const [due, share] = await Promise.all([tenantsOverDue(), tenantsOverShare()])
      over = { due, share }
    }
    const beside = besideThoseOver(() => over.share)
    const [pressure, messages] = [
      pressureWatch(signals.door.map(beside), settings.intake),
      pressureWatch(signals.messages.map(beside), settings.intake),
    ]
    loops.start('door backlog', PRESSURE_MS, () => Promise.all([pressure.poll(), messages.poll(), lookAtShares()]))
    const closing = new AbortController()
    const given = {
      sending: sending({ writer, timeoutMs: settings.door.produceTimeout, report }),
      topics: topicsByMessage(topics),
      limits: readLimitsOf(settings),
      items: settings.door.items,
      pressure: pressure.why,
      isOverDue: (tenant: string) => over.due.includes(tenant),
      isOverShare: (tenant: string) => over.share.includes(tenant),
      clock,
    }
    const { waiting, waitingPerTenant } = settings.door
    const withinMs = settings.door.produceTimeout + DECISION_WAIT_MS
    const kept = { ...messageKeeper(settings.threads), around: givenAround }
    const overDecided = decisionRate(settings.door.rate, clock)
    const rateOf = (what: Parameters<typeof tenantRate>[0]) => tenantRate(what, settings.door.rate, clock)
    const overFed = rateOf('words of feedback')
    const takesComments = protocols.some(({ name }) =>
      (entryOf(settings.routes, name) ?? []).some(({ subjects: of }) => of?.includes('comment')),
    )
    const judging: JudgeParts = { ...given, asking, answers, kept, waiting, waitingPerTenant, report }
    const { fetch } = door({
      settings: settings.door,
      routes: [
        messagesRoute({
          ...given,
          pressure: messages.why,
          overDecided,
          overFed,
          takesComments: () => takesComments,
          decisionsTopic: decisionDesk === null ? null : topics.decisions,
          labels: new Map(protocols.map((one) => [one.name, labelsForPeople(one)])),
        }),
        appealsRoute({ sending: given.sending, topic: topics.appeals, overRate: rateOf('appeals'), clock }),
        ...judgeRoutes(judging),
        subjectsRoute({ ...subjects, report }),
        reasonsRoute({ record: subjects.record, read: reasonsIn(settings) }),
        storiesRoute(subjects),
        ...(authors === null ? [] : authorRoutes({ ...authors, clock, report })),
        ...(decisionDesk === null
          ? []
          : decisionRoutes({ decisionDesk, withinMs, overDecided, clock, waiting, waitingPerTenant })),
        ...perspectiveRoutes({
          scorer: scoring.scorer,
          debate: debateOf(judging),
          sending: given.sending,
          feedbackTopic: topics.feedback,
          overFed,
          languages: settings.door.scores.languages,
          clock,
        }),
        moderationsRoute({ ...scoring, flagAt: settings.door.scores.flagAt }),
        actionsRoute({ sending: given.sending, topic: topics.actions, overRate: rateOf('actions'), clock }),
        discoveryRoute(),
      ],
      keys: () => keys.byId,
      openAs: settings.door.openOnLoopback ? DEFAULT_TENANT : null,
      isAway,
      closing: closing.signal,
      version: version(),
      clock,
      report,
    })
    const server = await serveDoor({ ...settings.door, forwarders: settings.forwarders }, { fetch, refuse: unreadable })
    keep({
      close() {
        closing.abort()
        return server.close(requestsDrain(settings.drain))
      },
    })
    if (settings.door.openOnLoopback && !server.isLoopback)
      throw new OperatorError(
        `door.openOnLoopback is true, and door.host (${settings.door.host}) is not loopback: anyone who reaches it could do everything. Set one of them.`,
      )
    report('door:opened', { host: settings.door.host, doorPort: server.port, keys: keys.byId.size })
    return { doorPort: server.port }
  })
}

/** Takes what clients ask to have judged apart from the stream, and opens its cases at once; other openers do so as well. */
export function askingPart(
  settings: Settings,
  parts: Parameters<typeof openerOf>[1] &
    Pick<ServiceParts, 'memo' | 'answers' | 'protocols' | 'samplingRank' | 'loops'> & {
      watch: Pick<RedisGuard, 'problem'>
      /** Bytes that the requests of one tenant may hold; null: no limit. */
      mostKept: () => number | null
    },
): VerdictRequests {
  const { memo, answers, protocols, samplingRank, watch, loops, mostKept, ...stream } = parts
  const opener = openerOf(settings, { ...stream, onlyAsked: true })
  const mayOpen = () => watch.problem === null
  const opening = loops.start('opener requests', settings.clock.poll, () => openAllDue(opener, mayOpen))
  const { threads, routes, clock } = stream
  return verdictRequests({
    threads,
    memo,
    answers,
    protocols,
    routes,
    clock,
    rules: threadRules(settings, samplingRank),
    settings: {
      keepAnswers: settings.door.keepAnswers,
      keepMemo: settings.memo.keep,
      maxReplies: settings.threads.maxReplies,
    },
    mostKept,
    wake: () => opening.wake(),
  })
}

/** Scores of single texts through this process's gateway, and the hash of the prompts that they are asked by. */
export function scoringPart(
  settings: Settings,
  { gateway, secret, clock }: { gateway: Pick<Gateway, 'ask'>; secret: string; clock: Clock },
): { readonly scorer: TextScorer; readonly promptsHash: string } {
  const prompts = readPrompts(promptsOf('score'), SCORE_PROMPTS)
  const isDecided = settings.door.scores.by === 'decider'
  const decided = isDecided ? decisionPrompt(loadFiles(DECISION_FOLDER), 'categories') : undefined
  const fence = fences(secret, settings.fences)
  return {
    scorer: scorer({
      gateway,
      prompts,
      decided,
      fence,
      settings: settings.door.scores,
      clock,
      maxChars: settings.fences.maxChars,
    }),
    promptsHash: decided === undefined ? prompts.hash : `${prompts.hash} ${decided.hash}`,
  }
}
