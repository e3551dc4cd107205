import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { PROJECT } from '../../config/load.ts'
import { drawAll } from '../../grafana/code/pictures.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { inputsOf, topicsOf } from '../../src/composition/topics.ts'
import { startAlertmanager } from '../../src/tools/stack/servers/alertmanager.ts'
import { startKafka } from '../../src/tools/stack/servers/kafka.ts'
import { freePort, temporaryFolder } from '../../src/tools/stack/servers/local-server.ts'
import { startPrometheus } from '../../src/tools/stack/servers/prometheus.ts'
import { startRedis } from '../../src/tools/stack/servers/redis.ts'
import { startUnderstudy } from '../../src/tools/understudy/server.ts'
import { sendCorruptBatch } from '../support/corrupt-batch.ts'
import { clientOf, environmentOn, eventually, type Service, settingsOf, startService } from '../support/pipeline.ts'
import { DRILLS, type Drill, LATENCY_MS, MODELS, type World } from './drills.ts'
import { type Notification, startWebhook } from './webhook.ts'

const HELP = `Usage: npm run drill -- [options]

Breaks a running Gavel on real servers (Apache Kafka, Redis, Prometheus, Alertmanager), one fault after the other, and
says who was told of it and when. Ends with 1 if a drill went otherwise than its table says (docs/drills.md).

Options:
  --only <a,b>  these drills alone: ${DRILLS.map(({ name }) => name).join(', ')}
  --pictures <folder>  draws the dashboards over all drills there
  --json        one JSON object a drill
  -h, --help    display help
`

const REPLICAS = 2
const RULES = join(PROJECT, 'config', 'prometheus')
/** A page must come within this after its fault, in s. */
const PAGE_WITHIN_S = 180
/** A ticket must come within this, in s: its alert waits for five minutes. */
const TICKET_WITHIN_S = 480
/** How long nothing may come where nothing should, and what follows an alert is waited for, in s. */
const QUIET_S = 90
/** An alert must have ended, and its end been told, within this after the fault, in s. */
const RESOLVED_WITHIN_S = 1_500
/** Posts are this far apart in the stream's time, so that the next makes the last due, in ms. */
const APART_MS = 20 * 60_000

export interface Outcome {
  readonly drill: string
  readonly expected: string
  readonly toldAfterS: number | null
  /** How many notifications of something that fires came, and of which alerts. */
  readonly notifications: number
  readonly alerts: readonly string[]
  /** Each of them as it came. */
  readonly told: readonly { readonly afterS: number; readonly to: string; readonly alerts: readonly string[] }[]
  readonly resolvedAfterS: number | null
  readonly ok: boolean
}

type Closing = (() => Promise<unknown>)[]

async function startWorld(say: (line: string) => void, closing: Closing) {
  const keep = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
    closing.push(() => part.close())
    return part
  }
  const redis = keep(await startRedis({ say }))
  const kafka = keep(await startKafka({ prefer: 'apache', say }))
  if (kafka.kind !== 'apache') throw new Error('The drills need Apache Kafka, which can be killed: install Java 17.')
  const understudy = keep(await startUnderstudy({ latencyMs: LATENCY_MS }))
  const stack = { settings: { ...redis.settings, ...kafka.settings, ...understudy.settings }, kafka, understudy }
  const shared = environmentOn(
    { ...stack, close: async () => {} },
    { GAVEL_LOG_LEVEL: 'info', GAVEL_MODELS_ROLES_DEFAULT: MODELS.join() },
  )
  const ports = await Promise.all(Array.from({ length: REPLICAS }, () => freePort()))
  const services: Service[] = []
  const changed: { readonly variables: Readonly<Record<string, string>>; readonly args: readonly string[] }[] = []
  const start = async (replica: number) => {
    const { variables, args } = changed[replica] ?? { variables: {}, args: [] }
    const own = { ...shared, ...variables, GAVEL_HTTP_PORT: String(ports[replica]) }
    services[replica] = await startService(own, 'intake,judge,publish', undefined, ['--wait-for-dependencies', ...args])
  }
  const end = async (replica: number, signal: NodeJS.Signals = 'SIGTERM') => services[replica]?.kill(signal)
  closing.push(() => Promise.all(services.map((service) => service.kill('SIGKILL'))))
  for (let replica = 0; replica < REPLICAS; replica++) await start(replica)

  const webhook = keep(await startWebhook())
  const routes = readFileSync(join(RULES, 'alertmanager.yml'), 'utf8')
  const configFile = join(await temporaryFolder('drill'), 'alertmanager.yml')
  writeFileSync(configFile, routes.replaceAll('http://127.0.0.1:9095', webhook.url))
  const alertmanager = keep(await startAlertmanager({ say, configFile }))
  const prometheus = keep(
    await startPrometheus({
      say,
      scrape: ports.map((port) => `127.0.0.1:${port}`),
      scrapeIntervalSeconds: 5,
      ruleFiles: ['alerts.yml', 'objectives.yml'].map((file) => join(RULES, file)),
      alertmanagers: [alertmanager.settings.ALERTMANAGER_ADDRESS ?? ''],
    }),
  )
  const { send, post, start: startPosts } = keep(await producer(shared))
  startPosts()
  const world: World = {
    ...{ send, post, sendCorrupt: () => sendCorrupt(shared), idleMember: () => idleMember(shared) },
    redis: Object.assign(redis, { url: redis.settings.REDIS_URL ?? '' }),
    ...{ kafka, understudy, replicas: REPLICAS, start, end },
    async restart(replica, signal) {
      await end(replica, signal)
      await start(replica)
    },
    async restartWith(variables, { only, settings } = {}) {
      const file = join(await temporaryFolder('drill'), 'settings.yaml')
      writeFileSync(file, JSON.stringify(settings ?? {}))
      for (let replica = 0; replica < REPLICAS; replica++) {
        if (only !== undefined && replica !== only) continue
        changed[replica] = { variables, args: settings === undefined ? [] : ['--config', file] }
        await end(replica)
        await start(replica)
      }
    },
  }
  return { world, webhook, prometheusUrl: prometheus.settings.PROMETHEUS_URL ?? '' }
}

/** The platform: posts, two a second in the stream's own time; what Kafka does not take is not sent again. */
async function producer(environment: Record<string, string>) {
  const settings = settingsOf(environment)
  const writer = await kafkaWriter(clientOf(environment), settings.kafka.compression)
  const topic = topicsOf(settings).posts
  const from = Date.now() - 120 * 24 * 3_600_000
  let count = 0
  let busy = false
  let timer: NodeJS.Timeout | undefined
  const send: World['send'] = (posts) => writer.send(posts.map(({ id, value }) => ({ topic, key: id, value })))
  const post: World['post'] = (id, tenant = 'default') => {
    const createdAt = new Date(from + count * APART_MS).toISOString()
    return JSON.stringify({ type: 'post', id, tenant, text: `The bridge is closed, says sign ${id}.`, createdAt })
  }
  return {
    send,
    post,
    start() {
      timer = setInterval(() => {
        if (busy) return
        busy = true
        const id = `drill-${count++}`
        void send([{ id, value: post(id) }])
          .catch(() => undefined)
          .finally(() => {
            busy = false
          })
      }, 500)
    },
    async close() {
      clearInterval(timer)
      await writer.close()
    },
  }
}

/** Twenty posts in a batch that nobody can unpack. */
function sendCorrupt(environment: Record<string, string>): Promise<void> {
  const topic = topicsOf(settingsOf(environment)).posts
  const messages = Array.from({ length: 20 }, (_, at) => ({ key: 'corrupt', value: `{"id":"corrupt-${at}"}` }))
  return sendCorruptBatch(clientOf(environment), topic, messages, Buffer.from('no gzip'))
}

/** A member of the service's group that is given partitions, sends heartbeats and reads nothing. */
async function idleMember(environment: Record<string, string>): Promise<() => Promise<void>> {
  const settings = settingsOf(environment)
  const consumer = clientOf(environment).consumer({ groupId: settings.kafka.group, sessionTimeout: 10_000 })
  const ended = Promise.withResolvers<void>()
  await consumer.connect()
  await consumer.subscribe({ topics: inputsOf(topicsOf(settings)) })
  await consumer.run({
    autoCommit: false,
    async eachBatch({ heartbeat }) {
      const timer = setInterval(() => void heartbeat().catch(() => undefined), 2_000)
      await ended.promise
      clearInterval(timer)
    },
  })
  return async () => {
    ended.resolve()
    await consumer.disconnect()
  }
}

async function run(drill: Drill, world: World, heard: readonly Notification[], signal: AbortSignal): Promise<Outcome> {
  const from = heard.length
  const began = Date.now()
  const since = (at: number | undefined) => (at === undefined ? null : Math.round((at - began) / 1000))
  const firing = () => heard.slice(from).filter(({ status }) => status === 'firing')
  const pause = (s: number) => sleep(s * 1000, undefined, { signal })
  const staged = drill.stage(world)
  const { expects } = drill
  const withinS = expects?.to === 'ticket' ? TICKET_WITHIN_S : PAGE_WITHIN_S
  const isIt = ({ to, alerts }: Notification) => to === expects?.to && alerts.includes(expects.alert)
  if (expects !== null) await eventually(async () => firing().some(isIt), (withinS + 120) * 1000).catch(() => undefined)
  await staged
  await pause(expects === null ? QUIET_S : 30)
  await drill.heal(world)
  const isOver = () =>
    heard.slice(from).find(({ status, alerts }) => status === 'resolved' && alerts.includes(expects?.alert ?? ''))
  if (firing().some(isIt)) {
    const left = RESOLVED_WITHIN_S * 1000 - (Date.now() - began)
    await eventually(async () => isOver() !== undefined, left).catch(() => undefined)
  }
  await pause(QUIET_S)
  const told = firing().find(isIt)
  const mine = expects === null ? firing() : firing().filter(({ to }) => to === expects.to)
  const inTime = told !== undefined && (since(told.at) ?? Infinity) <= withinS
  return {
    drill: drill.name,
    expected: expects === null ? 'silence' : `${expects.to}: ${expects.alert}`,
    toldAfterS: since(told?.at),
    notifications: firing().length,
    alerts: [...new Set(firing().flatMap(({ to, alerts }) => alerts.map((alert) => `${alert} (${to})`)))],
    told: firing().map(({ at, to, alerts }) => ({ afterS: Math.round((at - began) / 1000), to, alerts })),
    resolvedAfterS: since(isOver()?.at),
    ok: expects === null ? firing().length === 0 : inTime && mine.length === 1 && isOver() !== undefined,
  }
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    pictures: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const names = values.only?.split(',') ?? DRILLS.map(({ name }) => name)
const unknown = names.filter((name) => DRILLS.every((drill) => drill.name !== name))
if (unknown.length > 0) {
  process.stderr.write(`There is no drill ${unknown.join(', ')}.\n${HELP}`)
  process.exit(2)
}
const say = (line: string) => void process.stderr.write(`${line}\n`)
const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
const closing: Closing = []
const outcomes: Outcome[] = []
let skipped = 0
try {
  const began = Date.now() / 1000
  const { world, webhook, prometheusUrl } = await startWorld(say, closing)
  say('Two replicas run; a minute of quiet first.')
  await sleep(60_000, undefined, { signal: stop.signal })
  for (const drill of DRILLS.filter(({ name }) => names.includes(name))) {
    if (drill.needs !== undefined && !existsSync(drill.needs.file)) {
      say(`SKIPPED ${drill.name}: it needs ${drill.needs.file}, of Debian's package ${drill.needs.package}`)
      skipped++
      continue
    }
    say(`${drill.name}: ${drill.says}`)
    const outcome = await run(drill, world, webhook.heard, stop.signal)
    outcomes.push(outcome)
    say(JSON.stringify(outcome))
    if (values.json) process.stdout.write(`${JSON.stringify(outcome)}\n`)
  }
  if (values.pictures !== undefined)
    for (const file of await drawAll(prometheusUrl, { from: began, to: Date.now() / 1000 }, values.pictures)) say(file)
} catch (error) {
  if (!stop.signal.aborted) throw error
} finally {
  for (const close of closing.reverse()) await close().catch((error: unknown) => say(String(error)))
}
if (!values.json) {
  const table = new Table({
    head: ['drill', 'expected', 'told after', 'notifications', 'alerts', 'resolved after', ''],
  })
  const seconds = (s: number | null) => (s === null ? 'never' : `${s} s`)
  for (const { drill, expected, toldAfterS, notifications, alerts, resolvedAfterS, ok } of outcomes)
    table.push([
      ...[drill, expected, expected === 'silence' ? '' : seconds(toldAfterS), notifications, alerts.join('\n')],
      ...[expected === 'silence' ? '' : seconds(resolvedAfterS), ok ? 'as it should' : 'NOT as it should'],
    ])
  process.stdout.write(`${table}\n`)
}
process.exitCode = outcomes.length + skipped < names.length ? 130 : outcomes.every(({ ok }) => ok) ? 0 : 1
