import { modelsInUse, unpricedRefusal } from '../../../config/models.ts'
import type { Settings } from '../../../config/schema.ts'
import { inputsOf, topicsOf } from '../../../config/topics.ts'
import { ageOfOldestDue, backlogSignals } from '../../../consumers/backpressure.ts'
import { redisGuard } from '../../../consumers/redis-guard.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { LoadImage } from '../../contracts/ports/images.ts'
import type { Model } from '../../contracts/ports/model.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Listener, Report } from '../../contracts/ports/report.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import type { Gateway } from '../../models/gateway.ts'
import { embedderRoles, lookupsOf } from '../../models/lookups.ts'
import { endpointOf } from '../../models/openai/models-of-endpoints.ts'
import { shortDrain } from '../../models/time-limits.ts'
import { broadcast } from '../../operations/broadcast.ts'
import { boundSettings, configuredBounds, usedCapacity } from '../../operations/capacity.ts'
import { CERTIFICATES_MS, certificateWatch } from '../../operations/certificates.ts'
import { type Closable, type ClosableRegistrar, closable, sideBySide } from '../../operations/closable.ts'
import { healthOf, redisWatch } from '../../operations/health.ts'
import { identityOf, needsSecret, type ProcessRole } from '../../operations/identity.ts'
import { liveSecrets } from '../../operations/live-secrets.ts'
import { logListener } from '../../operations/log.ts'
import { activity, type Loops, namedLoops } from '../../operations/loop.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { prometheusMetrics } from '../../operations/metrics/metrics.ts'
import { behindReport } from '../../operations/overdue.ts'
import { REDIS_SETTINGS_MS, redisSettingsWatch, SENTINELS_MS, sentinelReport } from '../../operations/redis-faults.ts'
import type { ReloadOutcome } from '../../operations/reload-socket.ts'
import { reloading } from '../../operations/reloading.ts'
import { stateReport } from '../../operations/state-report.ts'
import { exposure, serveHttp, withForwarders } from '../../platform/http.ts'
import { libraryOf } from '../../shelves/lancedb/library.ts'
import { EXPORTER_LEASE_MS } from '../../store/redis/exporter.ts'
import { memoryUse, pauseShare, stopShare } from '../../store/redis/memory.ts'
import { whyItWaits } from '../../store/redis/refusals.ts'
import { keptImages } from '../../store/thread/redis.ts'
import { redisLookedAt } from '../../store/veto/redis.ts'
import { checkBrokers, kafkaClient } from '../../stream/client.ts'
import { groupProgress, hasHeldRecords, positionsOf } from '../../stream/offsets.ts'
import { watchPartitions } from '../../stream/partitions.ts'
import { boundedDeliveries } from './bounded-deliveries.ts'
import { boundedNow } from './fresh-budget.ts'
import { gatePart } from './gate.ts'
import { gatewayOf } from './gateway.ts'
import { decisionsPart, intakePart, openerOf, reachPart } from './intake.ts'
import { queuesPart, startErasing, startJudging } from './judging.ts'
import { replacedSettings } from './overload.ts'
import { protocolsOf } from './protocols.ts'
import { publicationPart } from './publication.ts'
import { type RedisPart, redisGatewayStores, redisPart } from './redis.ts'
import { partsOfRoles } from './role-parts.ts'
import { sourceReading } from './sources.ts'
import { tenantShare } from './tenant-share.ts'
import { type VetoPart, vetoPart } from './vetoes.ts'
import { watchLag } from './watched-lag.ts'

/** Parts that a test or the bench may replace; production passes nothing. */
export interface Overrides {
  readonly model?: Model
  /** In place of the fetcher of public addresses. */
  readonly loadImage?: LoadImage
  readonly listeners?: readonly Listener[]
}

export interface App {
  readonly httpPort: number
  readonly gateway: Gateway
  readonly gate: PublicationGate
  /** Takes what can be replaced of the settings and prompts as they are now; what came of it is reported, too. */
  reload(): Promise<ReloadOutcome>
  /** The current settings. */
  settings(): Settings
  /** Those of the start, in which secrets are the current ones. */
  readonly live: Settings
  /**
   * Stops intake, lets calls in flight end within the drain time, and closes everything, last opened first. `by`: what asked for it,
   * for the log.
   */
  stop(by?: string): Promise<void>
  /** Tells that the process ends before all of it is closed. */
  cutOff(): void
}

/**
 * The service: intake → cases and stages → publication, for the given roles. Throws an `OperatorError`, with nothing
 * left open, if Kafka or Redis is not reachable.
 */
export async function startApp(
  first: Settings,
  roles: readonly ProcessRole[],
  overrides: Overrides = {},
  /** Reads the settings anew. Throws an `OperatorError` that names every fault. */
  read: () => Settings = () => first,
): Promise<App> {
  const secrets = liveSecrets(first)
  const { settings } = secrets
  const refusal = roles.includes('judge') ? unpricedRefusal(settings) : null
  if (refusal !== null) throw new OperatorError(refusal)
  const form = { traced: settings.traces.endpoint !== '', subjects: settings.log.subjects }
  const log = logListener(settings.log.level, Date.now, identityOf(settings, roles), form)
  const listeners: Listener[] = [log, ...(overrides.listeners ?? [])]
  const report = broadcast(listeners, (error) => log('error', { where: 'listener', error }))
  let stoppingSince: number | null = null
  const { httpPort, gateway, gate, inForce, vetoes, close } = await closable((keep) =>
    assemble(
      settings,
      roles,
      {
        model: overrides.model,
        loadImage: overrides.loadImage,
        report,
        read,
        taken: secrets.take,
        stoppingSince: () => stoppingSince,
        listen: (one) => void listeners.push(one),
      },
      keep,
    ),
  )
  inForce.tellUnpriced()
  const exposed = exposure(settings.http)
  if (exposed !== null) report('service:exposed', exposed)
  const short = roles.includes('judge') ? shortDrain(settings) : null
  if (short !== null) report('service:short-drain', short)
  for (const [setting, now] of replacedSettings(settings)) report('settings:replaced', { setting, now })
  report('service:started', { roles, httpPort })
  return {
    httpPort,
    gateway,
    gate,
    settings: inForce.now,
    live: settings,
    async reload() {
      const result = inForce.reload()
      const refusal = await vetoes?.reload(inForce.now())
      return refusal && result.outcome === 'reloaded' ? { outcome: 'refused', ...refusal } : result
    },
    async stop(by) {
      stoppingSince = performance.now()
      report('service:stopping', { reason: by === undefined ? 'stop requested' : `stop requested: ${by}` })
      // Loops have ended: calls that end are still to be seen.
      const drain = setInterval(() => report('slots:counted', gateway.load()), DRAIN_LOOK_MS)
      await close().finally(() => clearInterval(drain))
      report('service:stopped', {})
    },
    cutOff: () => report('service:cut-off', { calls: gateway.load().busy, advice: CUT_OFF }),
  }
}

const CUT_OFF =
  'the stop took longer than drain allows: calls in flight are lost, and made again elsewhere once their locks expire; nothing else is. Raise drain, or see why the machine is slow'
/** How often calls in flight are counted during a drain, in ms. */
const DRAIN_LOOK_MS = 1_000
/** How often the shared state is exported while nothing happens here, in ms: twice within the lease. */
const QUIET_EXPORT_MS = EXPORTER_LEASE_MS / 2

/** How often it is read how `gavel doctor` has met models, in ms. */
const DIALECTS_MS = 5_000
/** How often Kafka is asked for the current partitions: a topic may have been recreated, or got more of them. */
const PARTITIONS_MS = 5_000

interface AssembleParts {
  readonly model: Model | undefined
  readonly loadImage: LoadImage | undefined
  readonly report: Report
  readonly read: () => Settings
  readonly taken: (next: Settings) => void
  readonly listen: (listener: Listener) => void
  readonly stoppingSince: () => number | null
}

/** The gateway, whose load counts lookups as of now. */
function ticking(gateway: Pick<Gateway, 'load'>, lookups: ReturnType<typeof lookupsOf> | undefined) {
  return {
    load() {
      lookups?.tick()
      return gateway.load()
    },
  }
}

/**
 * Opens the parts in reverse order of a post's path, so that verdicts are still published while the rest stops. Metrics
 * need the protocols, the protocols a secret, and the secret Redis: events before that only reach the log.
 */
async function assemble(
  settings: Settings,
  roles: readonly ProcessRole[],
  { model, report, read, taken, listen, stoppingSince, ...given }: AssembleParts,
  keep: ClosableRegistrar,
) {
  let page: Closable | null = null
  // First, so that it closes last: a stop can be watched to its end.
  keep({ close: async () => page?.close() })
  const redis = keep(await redisPart(settings, report))
  const { threads, marks, cases, outbox, erasures, incarnation, time } = redis
  const clock = time.now
  const { client: kafka, topics, progress, published } = await openKafka(settings, report)
  await incarnation.begin(positionsOf(progress), progress.alone, published)

  const secret = needsSecret(roles) ? await redis.secret() : ''
  const inForce = reloading(settings, (one) => protocolsOf(one, secret), {
    read,
    taken,
    judges: roles.includes('judge'),
    report,
  })
  const { protocols, samplingRank, routes } = inForce
  const now = await boundedNow(inForce.now, roles, { redis, published, positions: positionsOf(progress), report })
  const metrics = prometheusMetrics({
    protocols,
    topics: inputsOf(topics),
    sources: sourceReading(settings)?.topics ?? [],
    models: modelsInUse(settings),
    roles: { ...settings.models.roles, ...embedderRoles(settings) },
    bounds: () => configuredBounds(now()),
    identity: identityOf(settings, roles),
    prompts: inForce.prompts(),
    objectiveSeconds: settings.objectives.latency / 1000,
    endpointOf: (name) => endpointOf(settings, name).baseUrl,
  })
  listen(metrics.listen)
  listen(behindReport(report, clock))
  const library = keep(libraryOf(settings, clock, erasures))
  const lookups = lookupsOf(settings, { clock, report })
  const happening = activity()
  listen(happening.listen)
  const loops = namedLoops(report, happening)
  const { watch, redisAnswers, redisSettings, sentinels } = startRedisWatches(settings, { redis, loops, report })
  const stores = redisGatewayStores(settings, redis, now, () => watch.isFilling)
  const parts = { ...given, redis, protocols, stores, secret, model, now, loops, clock, report }
  const { gateway, vetoes } = await gatewayPart(settings, roles, parts, keep)
  const mostKept = await tenantShare(settings, { redis, loops })
  const deliveries = boundedDeliveries(settings.webhooks.to, { webhooks: redis.webhooks, mostKept, watch, report })
  const publishing = { redis, kafka, topics, deliveries, loops, clock, report }
  const gate = await gatePart(settings, publishing, { publishes: roles.includes('publish') })
  if (roles.includes('publish')) keep(await publicationPart(settings, { ...publishing, protocols, gate }))
  const { queues } = keep(queuesPart(settings, { redis, protocols, stoppingSince, clock, report }))
  const partitions = await watchPartitions(kafka, [topics.posts, topics.comments])
  const stream = { threads, marks, cases, queues, clock, report, partitions: partitions.now }
  const opener = openerOf(settings, { routes, links: redis.links, gate, samplingRank, ...stream })

  startLooks(settings, { loops, time, partitions, clock, report })
  const { memo } = stores
  if (roles.includes('judge')) {
    const judging = { protocols, cases, gateway, vetoes, library, queues, gate, loops, clock, report }
    startJudging(settings, { ...judging, ...(lookups && { lookups }), samplingRank, answers: redis.answers })
    startErasing(settings, { ...judging, threads, erasures, memo })
  }

  const ofDue = { threads, streamNow: opener.now, maxOpen: settings.cases.maxOpen, clock }
  let downSince = (): number | null => null
  const state = keep(
    stateReport({
      redis,
      protocols,
      queues,
      opener,
      clock,
      report,
      gateway: ticking(gateway, lookups),
      oldestDueAgeMs: ageOfOldestDue(ofDue),
      objectiveMs: settings.objectives.latency,
      usedCapacity: usedCapacity({ ...stores, models: modelsInUse(settings), settings: boundSettings(settings, now) }),
      downSince: () => downSince(),
    }),
  )
  const store = [watch.pressure, redisSettings.pressure]
  const signals = backlogSignals({ countDue: opener.countDue, outbox, store, clock, settings: settings.intake })
  if (roles.includes('intake')) {
    const keepReader = sideBySide(keep)
    keepReader(await reachPart(settings, { redis, kafka, topics, watch, mostKept, clock, report }))
    keepReader(await decisionsPart(settings, { redis, kafka, topics, protocols, routes, watch, clock, report }))
    const subjects = { threads, cases, queues, protocols, routes, outbox, memo, samplingRank, links: redis.links }
    const reading = { redis, secret, kafka, topics, marks, opener, watch, signals, mostKept, loops, clock, report }
    downSince = keepReader(await intakePart(settings, { ...subjects, ...reading })).downSince
  }
  const judging = { ...stream, routes, protocols, samplingRank, memo, watch, loops, mostKept, opener }
  const { servedDoor, jetstreamPart, recordPart } = await partsOfRoles(roles)
  const doorParts = { ...judging, redis, redisAnswers, kafka, topics, signals, gateway, gate, secret }
  const door = servedDoor === undefined ? null : keep(await servedDoor(settings, doorParts))
  if (jetstreamPart !== undefined) keep(await jetstreamPart(settings, { ...publishing, signals, secret }))
  const record = recordPart === undefined ? null : keep(await recordPart(settings, { ...publishing, protocols }))
  loops.start('backlog', 1_000, state.poll, QUIET_EXPORT_MS)
  watchLag(settings, { kafka, topics, watches: state.watchesKafka, loops, clock, report }, keep)
  keep(loops)

  const http = await serveHttp(withForwarders(settings), {
    metrics: metrics.page,
    ...healthOf({
      redis: redisAnswers,
      loops,
      clock,
      process: inForce.identity(roles),
      isStopping: () => stoppingSince() !== null,
      ...(door === null ? {} : { kafka: door.kafkaAnswers }),
      downSince: () => downSince(),
      publication: () => gate.closed,
      problem: () => watch.problem ?? sentinels.problem ?? redisSettings.problem,
      ...(record === null ? {} : { record: record.problem }),
      risk: () => redisSettings.risk,
    }),
  })
  page = http
  // Not at the next request, which may come much later.
  listen((name) => void (name === 'settings:reloaded' && http.tokenTaken()))
  return { httpPort: http.port, gateway, gate, inForce, vetoes }
}

/**
 * Kafka for the service, with the group's progress and whether a verdict was ever published; missing topics are created.
 * Throws an `OperatorError` if Kafka is not reachable.
 */
async function openKafka(settings: Settings, report: Report) {
  const client = kafkaClient(settings.kafka, settings.kafka.clientId, report)
  await checkBrokers(settings.kafka)
  await makeTopics(client, settings, { waiting: (topics) => report('topics:waiting', { topics }) })
  const topics = topicsOf(settings)
  const [progress, published] = await Promise.all([
    groupProgress(client, settings.kafka.group, inputsOf(topics)),
    hasHeldRecords(client, topics.verdicts),
  ])
  return { client, topics, progress, published }
}

/**
 * The gateway to models, as the settings have them, and as `gavel doctor` has met them; and what no model is asked about, by the
 * settings' lists.
 */
async function gatewayPart(
  settings: Settings,
  roles: readonly ProcessRole[],
  {
    redis,
    loops,
    protocols,
    loadImage,
    ...parts
  }: Omit<Parameters<typeof gatewayOf>[1], 'met' | 'defersInOutage'> & {
    redis: RedisPart
    loops: Loops
    protocols: readonly Protocol[]
  },
  keep: ClosableRegistrar,
): Promise<{ gateway: Gateway; vetoes: VetoPart | undefined }> {
  const { dialects, working, keys } = redis
  let known = await dialects.read()
  loops.start('dialects', DIALECTS_MS, async () => {
    known = await dialects.read()
  })
  const asks = roles.includes('judge') || roles.includes('door')
  const labelsOf = (name: string) => protocols.find((one) => one.name === name)?.labels
  const stores = { looked: redisLookedAt(working, keys), keptImage: keptImages(working, keys) }
  const vetoes = asks ? await vetoPart(settings, { ...parts, ...stores, loadImage, labelsOf }) : undefined
  if (vetoes !== undefined) keep(vetoes)
  const loading = vetoes?.loadImage ?? loadImage
  const met = (place: string) => known.get(place)
  return { gateway: gatewayOf(settings, { ...parts, loadImage: loading, defersInOutage: true, met }), vetoes }
}

/** Looks ever again at the time, the topics' partitions, and certificates. */
function startLooks(
  settings: Settings,
  parts: Pick<RedisPart, 'time'> & {
    loops: Loops
    partitions: Awaited<ReturnType<typeof watchPartitions>>
    clock: () => number
    report: Report
  },
): void {
  const { loops, time, partitions } = parts
  loops.start('clock', 1_000, time.sync)
  loops.start('partitions', PARTITIONS_MS, partitions.poll)
  loops.start('certificates', CERTIFICATES_MS, certificateWatch(settings, parts).poll)
}

/** Looks ever again at what Redis holds, how it is set, and at its sentinels. */
function startRedisWatches(
  settings: Settings,
  { redis, loops, report }: { redis: RedisPart; loops: Loops; report: Report },
) {
  const watch = redisGuard({
    incarnation: redis.incarnation,
    memoryUse: () => memoryUse(redis.failFast),
    whyItWaits: () => whyItWaits(redis.failFast),
    pauseAt({ most }) {
      const pause = pauseShare(settings.intake.pauseAtMemory, most)
      return { pause, stop: stopShare(settings.intake.stopAtMemory, pause) }
    },
    report,
  })
  loops.start('store watch', 1_000, watch.poll)
  const redisSettings = redisSettingsWatch({ find: redis.find, first: redis.findings, report })
  loops.start('redis settings', REDIS_SETTINGS_MS, redisSettings.poll)
  const { sentinelSilence: silenceMs } = settings.redis
  const sentinels = sentinelReport({ sentinels: redis.sentinels, silenceMs, report })
  if (settings.redis.sentinels.length > 0) loops.start('redis sentinels', SENTINELS_MS, sentinels.poll)
  const redisAnswers = redisWatch(redis.failFast, () => watch.refusal)
  return { watch, redisAnswers, redisSettings, sentinels }
}
