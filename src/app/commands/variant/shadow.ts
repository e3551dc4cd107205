import { InvalidArgumentError, Option } from 'commander'
import { loadSettings } from '../../../../config/load.ts'
import type { Settings } from '../../../../config/schema.ts'
import { groupsOf, topicsOf } from '../../../../config/topics.ts'
import { groupReader } from '../../../../consumers/group-reader.ts'
import { kafkaWriter } from '../../../../producers/kafka-writer.ts'
import type { Command, Invocation } from '../../../cli/command.ts'
import { durationMs, notNegative, port, positiveWhole, protocolName } from '../../../cli/options.ts'
import { counted, printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { variantName } from '../../../contracts/facts/shadow-verdict.ts'
import type { ThreadRef } from '../../../contracts/facts/thread.ts'
import { isOfVariant } from '../../../contracts/facts/variant-draw.ts'
import type { Budgets } from '../../../contracts/ports/budgets.ts'
import type { Report } from '../../../contracts/ports/report.ts'
import { type Protocol, stagesOf } from '../../../judging/engine/script.ts'
import { modelsOfEndpoints } from '../../../models/openai/models-of-endpoints.ts'
import { budgetSettings } from '../../../operations/capacity.ts'
import { type ClosableRegistrar, closable } from '../../../operations/closable.ts'
import { makeTopics } from '../../../operations/make-topics.ts'
import { shadowMetrics } from '../../../operations/metrics/metrics.ts'
import { serveReload } from '../../../operations/reload-socket.ts'
import { serveHttp, withForwarders } from '../../../platform/http.ts'
import { libraryOf } from '../../../shelves/lancedb/library.ts'
import { redisBudgets } from '../../../store/budget/redis.ts'
import { bullQueues } from '../../../store/queue/workers.ts'
import { knownSecretOf } from '../../../store/redis/shared-key.ts'
import { topicHistory } from '../../../stream/bounded-reader.ts'
import { withoutVariants } from '../../composition/make-protocols.ts'
import { protocolsOf } from '../../composition/protocols.ts'
import { commandRedis, redisGatewayStores } from '../../composition/redis.ts'
import { readingClient } from '../reading-client.ts'
import { reloadInWords } from '../reload.ts'
import { withModel } from '../with-model.ts'
import { inPercent, percentIn } from './set-ramp.ts'
import { type ShadowCounts, shadowing } from './shadow-follow.ts'
import { type JudgedSnapshot, judgedIn, type ShadowParts, shadowOf } from './shadow-judge.ts'
import { reloadableSecrets } from './shadow-secrets.ts'
import { shadowVerdictsOf } from './shadow-verdicts.ts'

interface ShadowOptions {
  readonly protocol: string
  readonly settings: string
  readonly share: number
  readonly budget: number
  readonly atOnce: number
  readonly behind: number
  readonly httpPort?: number
}

const HOUR_MS = 3_600_000

/** `gavel variant shadow`: judges what the service has judged once more, under other settings, and publishes no verdict. */
export const command: Command<ShadowOptions, ShadowCounts> = {
  options: [
    new Option('--protocol <name>', 'the protocol whose cases are judged once more')
      .argParser(protocolName)
      .makeOptionMandatory(),
    new Option('--settings <file>', "the variant's settings, laid over the shipped ones").makeOptionMandatory(),
    new Option('--share <percent>', 'the part of subjects that it judges, as 10%')
      .argParser(sharePercent)
      .default(0.1, '10%'),
    new Option('--budget <usd>', 'US dollars a day (UTC); then it waits').argParser(notNegative).makeOptionMandatory(),
    new Option('--at-once <cases>', 'most cases at once').argParser(positiveWhole).default(1),
    new Option('--behind <duration>', 'pass over what was judged longer ago')
      .argParser(durationMs)
      .default(HOUR_MS, '1h'),
    new Option('--http-port <port>', 'serve its metrics there, on the host of http.host').argParser(port),
  ],
  json: true,
  help: 'It runs until it is stopped. One process runs a variant. It begins nothing while a question or a due thread of the service waits. See docs/policies.md.\n\nExample:\n  $ gavel variant shadow stricter --protocol hate --settings stricter.yaml --share 10% --budget 5',
  async run(invocation) {
    const { args, options, settings: read, reread, environment, misused } = invocation
    const name = variantName.safeParse(args[0])
    if (!name.success) return misused(`A variant's name has ${name.error.issues[0]?.message ?? 'another form'}.`)
    const now = reread ?? read
    const secrets = reloadableSecrets(() => ({ live: now(), own: loadSettings(environment, options.settings) }))
    return withModel(secrets.own, invocation, async (settings) => {
      const given = { ...secrets, settings }
      const running = await closable((keep) => shadowRun(keep, name.data, given, invocation))
      await invocation.stopped
      await running.close()
      return running.counts()
    })
  },
  print({ sent, passedOver }, { json, terminal }) {
    if (json) terminal.out(JSON.stringify({ sent, passedOver }))
    else terminal.out(`${counted(sent, 'shadow verdict')} sent, ${counted(passedOver, 'case')} passed over.`)
  },
}

function sharePercent(text: string): number {
  const share = percentIn(text)
  if (share === null || share === 0) throw new InvalidArgumentError('must be a percentage above 0, as 10%')
  return share
}

/** How often is looked whether the service needs its models, in ms. */
const LOOK_MS = 1_000

async function shadowRun(
  keep: ClosableRegistrar,
  variant: string,
  {
    live,
    settings,
    reload,
  }: Pick<ReturnType<typeof reloadableSecrets>, 'live' | 'reload'> & { readonly settings: Settings },
  { options, terminal, signal, onHangup }: Invocation<ShadowOptions>,
) {
  const { protocol: name, share, budget, atOnce, behind: behindMs, httpPort } = options
  const say = (why: string) => terminal.say(printable(why, 400))
  const metrics = shadowMetrics(live.name)
  const report: Report = (event, of) => {
    metrics.listen(event, of)
    if (event === 'error' && 'error' in of && !signal.aborted) say(`${of.where}: ${String(of.error)}`)
  }
  const redis = keep(await commandRedis(live))
  const clock = redis.time.now
  const secret = await knownSecretOf(redis.client, redis.keys, live.fences.key)
  const running = protocolsOf(live, secret)
  const own = { ...settings, protocols: withoutVariants(settings.protocols) }
  const judging = protocolsOf(own, secret).protocols.find((one) => one.name === name)
  if (judging === undefined) throw new OperatorError(`${options.settings} switches ${name} off.`)
  const kafka = await readingClient(live, terminal)
  await makeTopics(kafka, live)
  const writer = keep(await kafkaWriter(kafka, live.kafka.compression))
  const topics = topicsOf(live)
  const since = Math.min(clock() - 2 * behindMs, new Date(clock()).setUTCHours(0, 0, 0, 0))
  const history = topicHistory(kafka, { signal, say: terminal.say })
  const before = await shadowVerdictsOf(history, live, { variant, since })
  const money = shadowBudget(variant, redis, settings)
  const isDeleted = async (ref: ThreadRef) => (await redis.threads.statusOf(ref)) === 'deleted'
  const judge = shadowJudge(keep, live, {
    variant,
    settings,
    protocol: judging,
    samplingRank: running.samplingRank,
    secret,
    redis,
    money,
    isDeleted,
    report,
    now: clock,
  })
  const following = shadowing({
    variant,
    bounds: { atOnce, budget, behindMs },
    read(value) {
      const judged = judgedIn(value, judging)
      const drawing = { share, rank: running.samplingRank }
      return judged !== null && isOfVariant(variant, name, judged.ref, drawing) ? judged : null
    },
    judge,
    send: (one) =>
      writer.send([{ topic: topics.shadowVerdicts, key: one.subjectId, value: JSON.stringify(one), headers: {} }]),
    isDeleted,
    spentUsd: async () => (await money.total())?.used.usd ?? 0,
    isNeeded: serviceNeeds(keep, live, { redis, protocols: running.protocols, clock, report }),
    signal,
    clock,
    failed: say,
    judged: ({ protocol, asked }) => asked && report('shadow:judged', { protocol, variant, asked }),
    waited: (seconds) => report('shadow:waited', { protocol: name, variant, seconds }),
    before,
    lookMs: LOOK_MS,
  })
  const reading = { ...live.kafka, group: groupsOf(live).shadow(variant), topics: [topics.transcripts] }
  const reader = groupReader({ kafka, settings: reading, clock, report })
  await reader.start(following.handle)
  keep(reader)
  let tokenTaken = () => {}
  const reloaded = async () => {
    const result = reload()
    tokenTaken()
    say(reloadInWords(result))
    return result
  }
  onHangup?.(() => void reloaded())
  const roles = [`shadow ${variant}`]
  const socket = await serveReload({ name: live.name, roles, pid: process.pid }, reloaded).catch((error: unknown) => {
    say(`"gavel reload" does not reach this process: ${String(error)}`)
    return null
  })
  if (socket !== null) keep(socket)
  if (httpPort !== undefined) {
    const ok = async () => ({ ok: true, checks: {} })
    const parts = { metrics: metrics.page, live: ok, ready: ok }
    const http = keep(await serveHttp(withForwarders(live, httpPort), parts))
    tokenTaken = http.tokenTaken
    terminal.say(`Metrics: port ${http.port}, /metrics.`)
  }
  terminal.say(`${variant} judges ${inPercent(share)} of what ${name} has judged, for at most $${budget} a day.`)
  return { counts: following.counts }
}

const DAY_MS = 86_400_000

/**
 * What a variant spends in a day (UTC), by every call that was or may have been charged for, also one whose case could not be judged.
 * It refuses none: whether anything is left is looked at between cases.
 */
export function shadowBudget(
  variant: string,
  { client, keys }: Pick<Redis, 'client' | 'keys'>,
  settings: Settings,
): Budgets {
  const none = { tokens: null, usd: null }
  return redisBudgets(client, (name) => keys.under(`shadow:${variant}:${name}`), {
    ...budgetSettings(settings),
    tenant: { ...none, per: DAY_MS },
    tenants: {},
    total: { tokens: null, usd: MOST_USD, per: DAY_MS },
  })
}
/** More than anybody spends, and counted exactly. */
const MOST_USD = 1_000_000

/** Judges a case by the variant. Limits of models are the service's, so that they are not exceeded; all else of a case is in memory. */
function shadowJudge(
  keep: ClosableRegistrar,
  live: Settings,
  {
    redis,
    money,
    ...given
  }: Omit<ShadowParts, 'stores' | 'model' | 'library'> & { readonly redis: Redis; readonly money: Budgets },
) {
  const { settings, now } = given
  const { limits } = redisGatewayStores(live, { working: redis.client, keys: redis.keys })
  let library: ReturnType<typeof libraryOf> | null = null
  keep({ close: async () => library?.close() })
  const parts: ShadowParts = {
    ...given,
    stores: { limits, budgets: money },
    model: modelsOfEndpoints(settings),
    library() {
      library ??= libraryOf(settings, now)
      return library
    },
  }
  return (one: JudgedSnapshot, ended: AbortSignal) => shadowOf(one, parts, ended)
}

type Redis = Awaited<ReturnType<typeof commandRedis>>

/** Whether a question or a due thread of the service waits. */
function serviceNeeds(
  keep: ClosableRegistrar,
  { shares: classes, stages, queues: held, cases }: Settings,
  {
    redis,
    protocols,
    clock,
    report,
  }: {
    readonly redis: Redis
    readonly protocols: readonly Protocol[]
    readonly clock: () => number
    readonly report: Report
  },
) {
  const queues = bullQueues({
    connection: redis.client,
    stages: stagesOf(protocols),
    settings: { prefix: redis.keys.queues, cases, classes, stages, queues: held },
    clock,
    report,
  })
  keep({ close: () => queues.close(0) })
  return async () => {
    const [waiting, due] = await Promise.all([queues.backlog(), redis.threads.countDue(clock())])
    return due > 0 || waiting.some(({ states }) => states.waiting > 0)
  }
}
