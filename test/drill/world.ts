import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PROJECT } from '../../config/load.ts'
import { inputsOf, topicsOf } from '../../config/topics.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { startAlertmanager } from '../../src/kit/stack/servers/alertmanager.ts'
import { startKafka } from '../../src/kit/stack/servers/kafka.ts'
import { freePort, type SayLine, temporaryFolder } from '../../src/kit/stack/servers/local-server.ts'
import { startPrometheus } from '../../src/kit/stack/servers/prometheus.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { startUnderstudy } from '../../src/kit/understudy/server.ts'
import { clientOf, environmentOn, recordsOf, type Service, settingsOf, startService } from '../support/pipeline.ts'
import { sendSpoiltBatch } from '../support/spoilt-batch.ts'
import { LATENCY_MS, MODELS, type World } from './drills.ts'
import { startWebhook } from './webhook.ts'

const REPLICAS = 2
const RULES = join(PROJECT, 'config', 'prometheus')
/** Posts are this far apart in the stream's time, so that the next makes the last due, in ms. */
const APART_MS = 20 * 60_000

/** Ends the parts of a world, in the order in which they were started. */
export type Closing = (() => Promise<unknown>)[]

/**
 * Starts a Kafka, a Redis, the understudy, two replicas, Prometheus and Alertmanager that nobody else uses, and sends posts.
 * What it starts it puts on `closing` at once, also if it then fails or is stopped.
 */
export async function startWorld(say: SayLine, closing: Closing, signal: AbortSignal) {
  const keep = <Part extends { close(): Promise<unknown> }>(part: Part): Part => {
    closing.push(() => part.close())
    signal.throwIfAborted()
    return part
  }
  const folder = await temporaryFolder('drill')
  closing.push(() => rm(folder, { recursive: true, force: true }))
  const redis = keep(await startRedis({ say }))
  const kafka = keep(await startKafka({ prefer: 'apache', say }))
  if (kafka.kind !== 'apache') throw new Error('The drills need Apache Kafka, which can be killed: install Java 17.')
  const understudy = keep(await startUnderstudy({ latencyMs: LATENCY_MS }))
  const stack = { settings: { ...redis.settings, ...kafka.settings, ...understudy.settings }, kafka, understudy }
  const shared = environmentOn(stack, {
    GAVEL_LOG_LEVEL: 'info',
    GAVEL_MODELS_ROLES_DEFAULT: MODELS.join(),
    GAVEL_LIBRARY_PATH: join(folder, 'library'),
  })
  const { ports, ...fleet } = await replicas(shared, folder, closing, signal)
  for (let replica = 0; replica < REPLICAS; replica++) await fleet.start(replica)

  const webhook = keep(await startWebhook())
  const routes = readFileSync(join(RULES, 'alertmanager.yml'), 'utf8')
  const configFile = join(folder, 'alertmanager.yml')
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
  const { send, post, sent, start: startPosts } = keep(await producer(shared))
  startPosts()
  const world: World = {
    send,
    post,
    sent,
    verdicts: () => recordsOf(shared, 'verdicts'),
    sendSpoilt: () => sendSpoilt(shared, kafka.data),
    idleMember: () => idleMember(shared),
    redis: Object.assign(redis, { url: redis.settings.REDIS_URL ?? '' }),
    kafka,
    understudy,
    replicas: REPLICAS,
    ...fleet,
  }
  const prometheusUrl = prometheus.settings.PROMETHEUS_URL ?? ''
  return { world, heard: webhook.heard, prometheusUrl, logs: fleet.logs }
}

/** The replicas, each on its port; none is started any more once the world is stopped. */
async function replicas(shared: Record<string, string>, folder: string, closing: Closing, signal: AbortSignal) {
  const ports = await Promise.all(Array.from({ length: REPLICAS }, () => freePort()))
  const services: Service[] = []
  const started: { readonly replica: number; readonly service: Service }[] = []
  const processes: ChildProcess[] = []
  const changed: { readonly variables: Readonly<Record<string, string>>; readonly args: readonly string[] }[] = []
  let files = 0
  closing.push(async () => {
    for (const child of processes) child.kill('SIGKILL')
  })

  async function start(replica: number): Promise<void> {
    signal.throwIfAborted()
    const { variables, args } = changed[replica] ?? { variables: {}, args: [] }
    const own = { ...shared, ...variables, GAVEL_HTTP_PORT: String(ports[replica]) }
    const more = ['--wait-for-dependencies', ...args]
    const spawned = (child: ChildProcess) => void processes.push(child)
    const service = await startService(own, 'intake,judge,publish', undefined, more, spawned)
    services[replica] = service
    started.push({ replica, service })
  }

  async function end(replica: number, how: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await services[replica]?.kill(how)
  }

  async function restart(replica: number, how: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await end(replica, how)
    await start(replica)
  }

  const restartWith: World['restartWith'] = async (variables, { only, settings } = {}) => {
    const file = join(folder, `settings-${files++}.yaml`)
    writeFileSync(file, JSON.stringify(settings ?? {}))
    for (let replica = 0; replica < REPLICAS; replica++) {
      if (only !== undefined && replica !== only) continue
      changed[replica] = { variables, args: settings === undefined ? [] : ['--config', file] }
      await restart(replica, 'SIGTERM')
    }
  }

  /** What each replica has logged since then, in ms since 1970. */
  const logs = (since: number): string[][] =>
    Array.from({ length: REPLICAS }, (_, replica) =>
      started
        .filter((one) => one.replica === replica)
        .flatMap(({ service }) => service.log)
        .filter((line) => Date.parse(/"time":"([^"]+)"/.exec(line)?.[1] ?? '') >= since),
    )

  return { ports, start, end: (replica: number) => end(replica), restart, restartWith, logs }
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
  const sent: string[] = []
  const send: World['send'] = (posts) => writer.send(posts.map(({ id, value }) => ({ topic, key: id, value })))
  const post: World['post'] = (id, tenant = 'default') => {
    const createdAt = new Date(from + count * APART_MS).toISOString()
    return JSON.stringify({ type: 'post', id, tenant, text: `The bridge is closed, says sign ${id}.`, createdAt })
  }
  return {
    send,
    post,
    sent: () => sent,
    start() {
      timer = setInterval(() => {
        if (busy) return
        busy = true
        const id = `drill-${count++}`
        void send([{ id, value: post(id) }])
          .then(() => sent.push(id))
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
function sendSpoilt(environment: Record<string, string>, data: string): Promise<void> {
  const topic = topicsOf(settingsOf(environment)).posts
  const messages = Array.from({ length: 20 }, (_, at) => ({ key: 'spoilt', value: `{"id":"spoilt-${at}"}` }))
  return sendSpoiltBatch(clientOf(environment), topic, messages, data)
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
