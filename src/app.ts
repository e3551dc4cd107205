import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Settings } from '../config/schema.ts'
import { ageOfNextDue, backlogSignals, backpressure } from '../consumers/backpressure.ts'
import { groupReader } from '../consumers/group-reader.ts'
import { intake } from '../consumers/intake.ts'
import { kafkaWriter } from '../producers/kafka-writer.ts'
import { publisher } from '../producers/publisher.ts'
import { bullQueues } from './adapters/bullmq/queues.ts'
import { exposure, type Health, serveHttp } from './adapters/http.ts'
import { imageLoader } from './adapters/images.ts'
import { checkBrokers, ensureTopics, kafkaClient } from './adapters/kafka/client.ts'
import { groupProgress, positionsOf } from './adapters/kafka/offsets.ts'
import { partitionsOf } from './adapters/kafka/partitions.ts'
import { logListener } from './adapters/log.ts'
import { openAiModel } from './adapters/openai/model.ts'
import { prometheusMetrics } from './adapters/prometheus/metrics.ts'
import { redisBudgets } from './adapters/redis/budgets.ts'
import { redisCases, redisOutbox } from './adapters/redis/cases.ts'
import { redisClock } from './adapters/redis/clock.ts'
import { checkRedis, connect } from './adapters/redis/connect.ts'
import { keysUnder } from './adapters/redis/keys.ts'
import { redisLimits } from './adapters/redis/limits.ts'
import { type Lineage, redisLineage } from './adapters/redis/lineage.ts'
import { redisMemo } from './adapters/redis/memo.ts'
import { memoryShare } from './adapters/redis/memory.ts'
import { secretOf } from './adapters/redis/shared-key.ts'
import { redisMarks, redisThreads } from './adapters/redis/threads.ts'
import {
  budgetSettings,
  gatewaySettings,
  imageSettings,
  intakesOf,
  judgeSettings,
  libraryOf,
  limitLeaseMs,
  openerSettings,
  orphanLetter,
  topicsOf,
} from './assembly.ts'
import { fences } from './domain/fence.ts'
import { lots } from './domain/lot.ts'
import { judge } from './engine/judge.ts'
import { opener } from './engine/open.ts'
import { reconciler } from './engine/reconcile.ts'
import { router } from './engine/routes.ts'
import { unworkedCases } from './engine/unworked.ts'
import { type Gateway, gateway } from './gateway/gateway.ts'
import { every, type Loop } from './loop.ts'
import type { Outbox, OutboxEntry } from './ports/cases.ts'
import type { Model } from './ports/model.ts'
import type { StageBacklog } from './ports/queues.ts'
import { broadcast, type ErrorPlace, type Listener, type Report } from './ports/report.ts'
import { makeProtocols } from './protocols/make.ts'
import { storeWatch } from './store-watch.ts'

export const ROLES = ['intake', 'judge', 'publish'] as const
export type Role = (typeof ROLES)[number]

/** What a test or the bench may put in place of a part; production passes nothing. */
export interface Overrides {
  readonly model?: Model
  readonly listeners?: readonly Listener[]
}

export interface App {
  readonly httpPort: number
  readonly gateway: Gateway
  /** Stops intake, lets calls in flight end within the drain time, and closes everything, last opened first. */
  stop(): Promise<void>
}

/**
 * The service: intake → cases and stages → publication, for the roles given. Throws an `OperatorError`, with nothing left
 * open, if Kafka or Redis is not there.
 */
export async function startApp(settings: Settings, roles: readonly Role[], overrides: Overrides = {}): Promise<App> {
  const opened: (() => Promise<unknown>)[] = []
  const later = (close: () => Promise<unknown>) => opened.push(close)
  const closeAll = async () => {
    for (const close of opened.reverse()) await close()
    opened.length = 0
  }
  try {
    return await assemble(settings, roles, overrides, later, closeAll)
  } catch (error) {
    await closeAll()
    throw error
  }
}

async function assemble(
  settings: Settings,
  roles: readonly Role[],
  overrides: Overrides,
  later: (close: () => Promise<unknown>) => void,
  closeAll: () => Promise<void>,
): Promise<App> {
  const wallClock = Date.now
  const topics = topicsOf(settings)
  const inputs = [topics.posts, topics.comments, topics.counterspeech]
  const log = logListener(settings.log.level, wallClock)
  // The metrics need the protocols, the protocols a fence, the fence Redis: events before that reach the log alone.
  const listeners: Listener[] = [log, ...(overrides.listeners ?? [])]
  const report: Report = (name, event) =>
    broadcast(listeners, (error) => log('error', { where: 'listener', error }))(name, event)

  // Redis: one connection that fails fast for intake, a patient one for everything that works off what was accepted.
  const keys = keysUnder(settings.redis.prefix)
  const open = (kind: 'patient' | 'impatient') => {
    const client = connect(settings.redis, report, kind)
    later(async () => client.disconnect())
    return client
  }
  const [intakeRedis, workRedis, outboxRedis] = [open('impatient'), open('patient'), open('patient')]
  await checkRedis(intakeRedis, settings.redis)
  const time = redisClock(intakeRedis)
  await time.sync()
  const clock = time.now
  const lineage = redisLineage(intakeRedis, keys)
  const keepTimes = { keepTombstoneMs: settings.threads.keepTombstone, keepThreadMs: settings.threads.keepAfterFinal }
  const threads = redisThreads(intakeRedis, keys, keepTimes, lineage.stamp)
  const marks = redisMarks(intakeRedis, keys)
  const cases = redisCases(workRedis, keys, clock, lineage.stamp)
  const outbox = redisOutbox(workRedis, outboxRedis, keys, {
    keepJournalMs: settings.cases.keepJournal,
    keepThreadMs: settings.threads.keepAfterFinal,
    keepRevisionsMs: settings.threads.keepTombstone,
    clock,
  })

  // Kafka, with the topics made where they are absent.
  const kafka = kafkaClient(settings.kafka, settings.kafka.clientId, report)
  await checkBrokers(settings.kafka)
  await makeTopics(kafka, settings)
  const progress = await groupProgress(kafka, settings.kafka.group, inputs)
  await lineage.begin(positionsOf(progress), progress.alone)

  // Protocols, and the gateway between their asks and the model.
  const secret = await secretOf(intakeRedis, keys, settings.fences.key, report)
  const lot = lots(secret)
  const protocols = makeProtocols(settings.protocols, fences(secret, settings.fences), lot)
  const metrics = prometheusMetrics({
    protocols,
    topics: inputs,
    models: [...new Set(Object.values(settings.models.roles).flat())],
  })
  listeners.push(metrics.listen)
  const routes = router(protocols, settings.routes, lot)
  const memo = redisMemo(workRedis, keys.under)
  const library = libraryOf(settings, clock)
  later(() => library.close())
  const calls = gateway({
    model: overrides.model ?? openAiModel(settings.openai),
    loadImage: imageLoader(imageSettings(settings)),
    memo,
    limits: redisLimits(workRedis, (name) => keys.under(`limits:${name}`), { leaseMs: limitLeaseMs(settings) }),
    budgets: redisBudgets(workRedis, keys.under, budgetSettings(settings)),
    settings: gatewaySettings(settings, secret),
    clock,
    report,
  })

  // Publication comes up first and goes down last: what is decided leaves even while the rest stops.
  if (roles.includes('publish')) {
    const writer = await kafkaWriter(kafka, settings.kafka.compression)
    later(() => writer.close())
    const name = `${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`
    const publishing = publisher({ outbox: noted(outbox, lineage), writer, clock, report, settings: { name, topics } })
    publishing.start()
    later(() => publishing.close())
  }

  const queues = bullQueues({
    connection: workRedis,
    stages: protocols.flatMap(({ name, stages }) => stages.map((stage) => ({ protocol: name, stage }))),
    settings: {
      prefix: keys.queues,
      caseConcurrency: settings.cases.concurrency,
      stages: Object.fromEntries(
        Object.entries(settings.stages).map(([name, { backoff, ...own }]) => [name, { ...own, backoffMs: backoff }]),
      ),
      lockMs: settings.queues.lock,
      stalledCheckMs: settings.queues.stalledCheck,
    },
    clock,
    report,
  })
  later(() => queues.close(settings.drain - closingMs(settings.drain)))

  const partitions = await partitionsOf(kafka, [topics.posts, topics.comments])
  const dueCases = opener({
    routes,
    threads,
    marks,
    cases,
    queues,
    clock,
    report,
    settings: openerSettings(settings, partitions.now),
    orphanLetter: orphanLetter(report),
  })

  const loops = new Map<ErrorPlace, Loop>()
  const loop = (name: ErrorPlace, ms: number, task: () => Promise<unknown>) => {
    const started = every(ms, task, (error) => report('error', { where: name, error }))
    loops.set(name, started)
    return started
  }

  const watch = storeWatch({
    lineage,
    memoryShare: () => memoryShare(intakeRedis),
    pauseAtMemory: settings.intake.pauseAtMemory,
    report,
  })
  loop('store watch', 1_000, watch.look)
  loop('clock', 1_000, time.sync)
  loop('partitions', PARTITIONS_MS, partitions.look)

  if (roles.includes('judge')) {
    queues.work(
      judge({
        protocols: new Map(protocols.map((protocol) => [protocol.name, protocol])),
        cases,
        gateway: calls,
        library,
        clock,
        report,
        settings: judgeSettings(settings),
      }),
    )
    const reconcile = reconciler({ cases, queues, report, idleMs: settings.cases.reconcileAfter })
    loop('reconciler', Math.max(500, settings.cases.reconcileAfter / 3), reconcile)
    const worked = protocols.map(({ name }) => name)
    const unworked = unworkedCases({
      protocols: worked,
      cases,
      queues,
      clock,
      report,
      settings: judgeSettings(settings),
    })
    loop('unworked cases', Math.max(500, settings.cases.reconcileAfter / 3), unworked)
  }

  // What changed while a protocol was off everywhere is due for it now.
  const wake = async () => {
    const paused = await threads.paused()
    for (const { name } of protocols) if (!paused.has(name)) await threads.wake(name, clock())
  }

  let downSince = (): number | null => null
  let stages: readonly StageBacklog[] = []
  if (roles.includes('intake')) {
    const opening = loop('opener', settings.clock.poll, async () => {
      while (watch.trouble === null && (await dueCases.openDue()) > 0);
    })
    loop('protocols that were off', WAKE_MS, wake)
    const group = groupReader({
      kafka,
      settings: {
        group: settings.kafka.group,
        topics: inputs,
        sessionTimeoutMs: settings.kafka.sessionTimeout,
        maxBytesPerPartition: settings.kafka.maxBytesPerPartition,
        fetchBytes: settings.kafka.fetchBytes,
        fetchWaitMs: settings.kafka.fetchWait,
        partitionsAtOnce: settings.kafka.partitions,
      },
      clock,
      report,
    })
    const reader = watch.over(group)
    downSince = () => reader.downSince
    const taking = intake({
      reader,
      intakes: intakesOf(topics, { settings, threads, cases, queues, protocols, routes, library, memo, lot, clock }),
      outbox,
      marks,
      limits: { maxBytes: settings.intake.maxMessageBytes, maxAheadMs: settings.intake.maxAhead },
      taken: opening.wake,
      clock,
      report,
    })
    await taking.start()
    later(() => reader.close())
    loop('stream marks', 1_000, taking.watch)
    const signals = backlogSignals({
      countDue: dueCases.countDue,
      nextDueAgeMs: ageOfNextDue({ threads, streamNow: dueCases.now, maxOpen: settings.cases.maxOpen, clock }),
      outbox,
      stages: () => stages,
      clock,
      settings: settings.intake,
    })
    signals.push(watch.pressure)
    loop('backpressure', 500, backpressure({ reader, signals, settings: settings.intake, report }))
  }

  loop('backlog', 1_000, async () => {
    stages = await queues.backlog()
    for (const stage of stages) report('stage:backlog', stage)
    const paused = await threads.paused()
    for (const { name } of protocols) report('protocol:watched', { protocol: name, paused: paused.has(name) })
    const [openCases, size, due, streamNow] = await Promise.all([
      cases.countOpen(),
      outbox.size(),
      dueCases.countDue(),
      dueCases.now(),
    ])
    const clockLagSeconds = streamNow === Number.NEGATIVE_INFINITY ? null : Math.max(0, clock() - streamNow) / 1000
    const down = downSince()
    report('consumer:watched', { downSeconds: down === null ? 0 : (clock() - down) / 1000 })
    report('slots:counted', { busy: calls.busy, waiting: calls.waiting })
    report('state:counted', { openCases, outbox: size, due, clockLagSeconds })
  })
  // A run that hangs keeps nobody from finishing what is in flight; it is told of and left behind.
  later(async () => {
    const running = new Set(loops.keys())
    const ended = [...loops].map(([name, each]) => each.stop().then(() => running.delete(name)))
    await Promise.race([Promise.all(ended), sleep(LOOP_ENDS_MS, undefined, { ref: false })])
    for (const name of running) report('error', { where: name, error: new Error('it does not end') })
  })

  const http = await serveHttp(settings.http, {
    metrics: metrics.text,
    metricsType: metrics.contentType,
    live: () => liveness(downSince(), clock()),
    ready: () => readiness(intakeRedis, downSince(), watch.trouble),
  })
  later(() => http.close())
  const exposed = exposure(settings.http)
  if (exposed !== null) report('service:exposed', exposed)
  report('service:started', { roles, httpPort: http.port })

  return {
    httpPort: http.port,
    gateway: calls,
    async stop() {
      report('service:stopping', { reason: 'asked to' })
      await closeAll()
      report('service:stopped', {})
    },
  }
}

export async function makeTopics(kafka: ReturnType<typeof kafkaClient>, settings: Settings): Promise<void> {
  const { partitions, retention, replication } = settings.kafka
  const admin = kafka.admin({ retry: { retries: 3 } })
  await admin.connect()
  try {
    const plans = Object.values(topicsOf(settings)).map((name) => ({ name, partitions, retentionMs: retention }))
    await ensureTopics(kafka, admin, plans, replication)
  } finally {
    await admin.disconnect()
  }
}

/**
 * The outbox, whose entries are handed out once the lineage has a beat from after them: should Redis lose the step that put
 * them there, this process knows. None are while Redis has lost something, or has only just started and may have.
 */
function noted(outbox: Outbox, lineage: Lineage): Outbox {
  async function standsStill(): Promise<boolean> {
    if (lineage.quiet) await lineage.beat()
    return lineage.quiet || lineage.lost !== null
  }
  const handOut = async (waitMs: number, read: () => Promise<OutboxEntry[]>) => {
    if (await standsStill()) {
      await sleep(Math.min(waitMs, STILL_LOOK_MS))
      return []
    }
    const entries = await read()
    if (entries.length > 0) await lineage.beat()
    while (entries.length > 0 && lineage.quiet) {
      await sleep(STILL_LOOK_MS)
      await lineage.beat()
    }
    // They stay with this publisher's name on them, and are adopted when all is well.
    return lineage.lost === null ? entries : []
  }
  return {
    ...outbox,
    next: (publisher, limit, waitMs) => handOut(waitMs, () => outbox.next(publisher, limit, waitMs)),
    adopt: (publisher, limit, idleMs) => handOut(0, () => outbox.adopt(publisher, limit, idleMs)),
  }
}

/** How often is looked whether Redis no longer stands still, in ms. */
const STILL_LOOK_MS = 200

/** How often Kafka is asked which partitions there are: a topic may have been made anew, or got more of them. */
const PARTITIONS_MS = 5_000

/** How often threads are looked for that were due for a protocol while it was off, in ms. */
const WAKE_MS = 5_000

/** How long what runs again and again may take to come to its end, in ms. */
const LOOP_ENDS_MS = 500

/** Of the time to drain, what is left for writing down and closing once calls in flight have been cut off, in ms. */
function closingMs(drain: number): number {
  return Math.min(3_000, drain / 3)
}

/** A process whose Kafka consumer has been gone for this long should be started again by whoever watches it. */
const DEAD_AFTER_MS = 30_000

function liveness(downSince: number | null, now: number): Health {
  const down = downSince === null ? 0 : now - downSince
  const consumer = down === 0 ? 'consuming' : `without a consumer for ${Math.round(down / 1000)} s`
  return { ok: down < DEAD_AFTER_MS, checks: { consumer } }
}

/** Whoever asks a health page gives up soon; how long Redis may take to say that it is there, in ms. */
const READY_WITHIN_MS = 1_000

async function readiness(
  redis: { ping(): Promise<string> },
  downSince: number | null,
  trouble: string | null,
): Promise<Health> {
  const answered = await Promise.race([
    redis.ping().then(
      () => true,
      () => false,
    ),
    sleep(READY_WITHIN_MS, false, { ref: false }),
  ])
  return {
    ok: answered && trouble === null && downSince === null,
    checks: {
      redis: answered ? (trouble ?? 'answers') : 'does not answer',
      consumer: downSince === null ? 'consuming' : 'joining',
    },
  }
}
