import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import { loadSettings, PROJECT } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { sending } from '../../door/sending.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { kafkaClient } from '../../stream/client.ts'
import { sentence } from './load.ts'
import { type Percentiles, percentiles, round } from './percentiles.ts'
import { forkWorker, gone, ready, sum } from './service.ts'
import { type ProcessPauses, type SlowestRequests, slowestOf } from './slowest-requests.ts'
import { STOPPED, startProcess } from './start-process.ts'
import type { AnsweredRequest, Tick } from './worker.ts'

export interface DoorPlan {
  /** Length of each phase, in seconds. */
  readonly seconds: number
  /** Comments that are sent by the door, and by `gavel produce`. */
  readonly comments: number
}

/** What the door can do, and what it takes of its own at half of that. */
interface Route {
  readonly capacityPerSecond: number
  /** Processor time of the door for a request, where as many are sent as it can take. */
  readonly cpuMsPerRequest: number
  readonly offeredPerSecond: number
  readonly answered: number
  /** Answers that were no 200. */
  readonly others: number
  /** The door's own time: from when a request was read, without waiting for verdicts, to its answer. */
  readonly ownMs: Percentiles
  /** Where the slowest hundredth of it went. */
  readonly slowest: SlowestRequests
}

/** What the door adds to a model's time, as many scores a second as are offered. */
interface Scored {
  readonly offeredPerSecond: number
  readonly modelMs: number
  readonly answered: number
  /** Answers that were no 200. */
  readonly others: number
  /** From when a request was read to its answer, less the model's time. */
  readonly addedMs: Percentiles
}

export interface DoorReport {
  /** Of the machine, a minute's, before anything began. */
  readonly loadBefore: number
  /** One comment a request, acknowledged by Kafka; `kafkaAloneMs`: as many a second by the same producer without the door. */
  readonly messages: Route & { readonly kafkaAloneMs: Percentiles }
  /** One post a request, judged by hate before a model that answers at once. */
  readonly judge: Route
  /** One text a request, scored by a model that takes a set time. */
  readonly scores: { readonly analyze: Scored; readonly moderations: Scored }
  /** Comments a second in batches by the door, by `gavel produce`, and one by the other. */
  readonly commentsPerSecond: { readonly door: number; readonly produce: number; readonly share: number }
}

/** Comments of one request, and requests at a time, where as many as possible are sent. */
const [BATCH, BATCHES_AT_ONCE] = [1_000, 4]
/** Requests at a time where the capacity is measured. */
const AT_ONCE = { messages: 64, judge: 32 }
/** Where scores are measured, each of another text: how many a second, and how long the model takes for each, in ms. */
const SCORES = { perSecond: 40, modelMs: 200 }
/** Until code is compiled; what is answered by then is not counted. */
const WARM_UP_SECONDS = 5

type Io = { say: (line: string) => void; signal: AbortSignal }
type Environment = Readonly<Record<string, string | undefined>>

/** Measures the HTTP door as a process of its own, beside one that judges, on topics and keys of its own. */
export async function doorBench(environment: Environment, plan: DoorPlan, { say, signal }: Io): Promise<DoorReport> {
  const [loadBefore = 0] = loadavg()
  const own = ownEnvironment(environment)
  const settings = loadSettings(own)
  const kafka = kafkaClient(settings.kafka, 'bench-door', () => {})
  await makeTopics(kafka, settings)
  const workers: ChildProcess[] = []
  const ticks: Tick[] = []
  try {
    const started = async (roles: string, onTick: (tick: Tick) => void, modelMs = 0) => {
      const worker = forkWorker(own, modelMs, { roles })
      workers.push(worker)
      await ready(worker, onTick)
    }
    await started('judge,publish', () => {})
    // Of its model the door itself asks for scores alone.
    await started('door', (tick) => ticks.push(tick), SCORES.modelMs)
    const port = await portOf(ticks)
    const client = clientOf(port)
    const of = { client, ticks, plan, signal }
    let sent = 0
    const ofDoor = await measured({
      ...of,
      path: '/v1/messages',
      atOnce: AT_ONCE.messages,
      body: () => JSON.stringify(comment(sent++)),
    })
    const kafkaAloneMs = await byProducer(kafka, settings, () => comment(sent++), {
      perSecond: ofDoor.offeredPerSecond,
      seconds: plan.seconds,
      signal,
    })
    const messages = { ...ofDoor, kafkaAloneMs }
    say(`${line('messages', messages)}; Kafka alone p50 ${kafkaAloneMs.p50} ms, p99 ${kafkaAloneMs.p99} ms`)
    const judge = await measured({
      ...of,
      path: '/v1/judge',
      atOnce: AT_ONCE.judge,
      body: () => JSON.stringify({ post: { text: sentence(sent, 18), id: `asked-${sent++}` }, protocols: ['hate'] }),
    })
    say(line('judge', judge))
    const scores = {
      analyze: await scored(of, '/v1alpha1/comments:analyze', (at) => ({
        comment: { text: `${at} ${sentence(at, 18)}` },
        requestedAttributes: { TOXICITY: {} },
        languages: ['en'],
      })),
      moderations: await scored(of, '/v1/moderations', (at) => ({ input: `${at} ${sentence(at, 18)}` })),
    }
    say(`scores: p99 of what the door adds ${scores.analyze.addedMs.p99} and ${scores.moderations.addedMs.p99} ms`)
    const door = await byDoor(client, plan.comments, signal)
    say(`batches by the door: ${door} comments a second`)
    const produce = await byProduce(own, plan.comments)
    say(`gavel produce: ${produce} comments a second`)
    return {
      loadBefore: round(loadBefore),
      messages,
      judge,
      scores,
      commentsPerSecond: { door, produce, share: round(door / produce) },
    }
  } finally {
    await Promise.all(workers.map(gone))
  }
}

function line(name: string, { capacityPerSecond, cpuMsPerRequest, offeredPerSecond, ownMs }: Route): string {
  return `${name}: ${capacityPerSecond} a second, ${cpuMsPerRequest} ms of processor each; at ${offeredPerSecond}: own time p50 ${ownMs.p50} ms, p99 ${ownMs.p99} ms`
}

export function ownEnvironment(environment: Environment): Environment {
  const name = `bench-${randomBytes(4).toString('hex')}`
  const off = ['rumor', 'safety', 'counterspeech'].map((protocol) => [
    `GAVEL_PROTOCOLS_${protocol.toUpperCase()}_ENABLED`,
    'false',
  ])
  return {
    GAVEL_FENCES_KEY: randomBytes(16).toString('hex'),
    ...environment,
    ...Object.fromEntries(off),
    GAVEL_LOG_LEVEL: 'error',
    GAVEL_HTTP_PORT: '0',
    GAVEL_BUDGETS_FRESH: 'null',
    GAVEL_KAFKA_TOPIC_PREFIX: `${name}.`,
    GAVEL_KAFKA_GROUP: name,
    GAVEL_REDIS_PREFIX: name,
    GAVEL_LIBRARY_PATH: join(tmpdir(), name),
    GAVEL_DOOR_PORT: '0',
    GAVEL_DOOR_OPEN_ON_LOOPBACK: 'true',
    GAVEL_DOOR_KEYS: join(tmpdir(), name, 'keys.json'),
    GAVEL_DOOR_RATE_PER_SECOND: '1000000',
    GAVEL_DOOR_RATE_BURST: '10000000',
  }
}

export async function portOf(ticks: readonly Tick[]): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = ticks.at(-1)?.doorPort ?? 0
    if (port !== 0) return port
    await sleep(100)
  }
  throw new OperatorError('The door did not open.')
}

type Client = (path: string, body: string) => Promise<number>

/** Sends a body; resolves to the status of its answer. */
export function clientOf(port: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 512 })
  const headers = { 'content-type': 'application/json' }
  return (path, body) =>
    new Promise((resolve, reject) => {
      const one = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      one.on('error', reject).end(body)
    })
}

/** How requests are sent, and the events that are reported. */
interface Sending {
  readonly client: Client
  readonly ticks: Tick[]
  readonly plan: DoorPlan
  readonly signal: AbortSignal
}

/** The capacity by as many at once as keep it busy, then the door's own time while half of that arrives at random moments. */
async function measured(of: Sending & { path: string; atOnce: number; body: () => string }): Promise<Route> {
  const { client, ticks, plan, signal, path, atOnce, body } = of
  await closedLoop(WARM_UP_SECONDS)
  ticks.splice(0)
  const taken = await closedLoop(plan.seconds)
  const cpuMsPerRequest = round(sum(ticks, ({ cpuMs }) => cpuMs) / taken)
  const capacityPerSecond = round(taken / plan.seconds)
  const offeredPerSecond = round(capacityPerSecond / 2)
  const { answered, others } = await offered(of, path, offeredPerSecond, body)
  return {
    capacityPerSecond,
    cpuMsPerRequest,
    offeredPerSecond,
    answered: answered.length,
    others,
    ownMs: percentiles(answered.map(({ ownMs }) => ownMs)),
    slowest: slowestOf(
      answered.map(({ at, ownMs }) => ({ from: at - ownMs, to: at })),
      heldUpIn(ticks),
    ),
  }

  /** How many were answered with 200. */
  async function closedLoop(seconds: number): Promise<number> {
    const until = performance.now() + seconds * 1000
    let good = 0
    const one = async () => {
      while (performance.now() < until) {
        if (signal.aborted) throw STOPPED
        if ((await client(path, body())) === 200) good++
      }
    }
    await Promise.all(Array.from({ length: atOnce }, one))
    return good
  }
}

/** What the door adds to a model's time. */
async function scored(of: Sending, path: string, body: (at: number) => object): Promise<Scored> {
  const { perSecond: offeredPerSecond, modelMs } = SCORES
  let at = 0
  const text = () => JSON.stringify(body(at++))
  await offered({ ...of, plan: { ...of.plan, seconds: WARM_UP_SECONDS } }, path, offeredPerSecond, text)
  const { answered, others } = await offered(of, path, offeredPerSecond, text)
  const addedMs = percentiles(answered.map(({ ownMs, waitMs }) => ownMs + waitMs - modelMs))
  return { offeredPerSecond, modelMs, answered: answered.length, others, addedMs }
}

/** What was answered while so many a second arrived at random moments, and how many answers were no 200. */
async function offered(
  { client, ticks, plan, signal }: Sending,
  path: string,
  perSecond: number,
  body: () => string,
): Promise<{ answered: AnsweredRequest[]; others: number }> {
  const { child: arrivals } = await startProcess('arrivals', [], signal)
  try {
    // What was answered before does not count.
    await sleep(500)
    ticks.splice(0)
    const statuses: number[] = []
    await openLoop(arrivals, perSecond, plan.seconds, async () => {
      statuses.push(await client(path, body()))
    })
    await sleep(500)
    const answered = ticks.flatMap((tick) => tick.answered).filter(({ route }) => route === path)
    return { answered, others: statuses.filter((status) => status !== 200).length }
  } finally {
    arrivals.kill()
  }
}

/** How long Kafka takes to acknowledge as many a second by the producer of the door, in this process, which does nothing else then. */
async function byProducer(
  kafka: Kafka,
  settings: Settings,
  next: () => { readonly postId: string },
  { perSecond, seconds, signal }: { perSecond: number; seconds: number; signal: AbortSignal },
): Promise<Percentiles> {
  const writer = await kafkaWriter(kafka, settings.kafka.compression)
  const { send } = sending({ writer, timeoutMs: settings.door.produceTimeout, report: () => {} })
  const topic = topicsOf(settings).comments
  const { child: arrivals } = await startProcess('arrivals', [], signal)
  try {
    const run = async (length: number) => {
      const all: number[] = []
      await openLoop(arrivals, perSecond, length, async () => {
        const one = next()
        const value = JSON.stringify(one)
        const began = performance.now()
        await send('default', [{ topic, key: one.postId, value }])
        all.push(performance.now() - began)
      })
      return all
    }
    await run(WARM_UP_SECONDS)
    return percentiles(await run(seconds))
  } finally {
    arrivals.kill()
    await writer.close()
  }
}

function heldUpIn(ticks: readonly Tick[]): ProcessPauses {
  const all = ticks.flatMap(({ heldUp }) => (heldUp === null ? [] : [heldUp]))
  return {
    collecting: all.flatMap(({ collecting }) => collecting),
    kafka: all.flatMap(({ kafka }) => kafka),
    waited: all.flatMap(({ waited }) => waited),
  }
}

/** Sends one whenever the process of arrivals asks for it, however slow earlier ones are. */
async function openLoop(
  arrivals: ChildProcess,
  perSecond: number,
  seconds: number,
  send: () => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>()
  await new Promise<void>((resolve, reject) => {
    const onDue = (due: number | null) => {
      if (due === null) {
        arrivals.off('message', onDue)
        return resolve()
      }
      const one = send()
        .catch(reject)
        .finally(() => running.delete(one))
      running.add(one)
    }
    arrivals.on('message', onDue)
    arrivals.once('exit', () => reject(new OperatorError('The process that tells when requests are due has ended.')))
    arrivals.send({ perSecond, seconds })
  })
  await Promise.all(running)
}

function comment(at: number) {
  return {
    type: 'comment',
    id: `c-${at}`,
    postId: `p-${at % 997}`,
    author: `author-${at % 1009}`,
    text: sentence(at, 8 + (at % 20)),
    createdAt: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
  }
}

async function byDoor(client: Client, comments: number, signal: AbortSignal): Promise<number> {
  const bodies = Array.from({ length: Math.ceil(comments / BATCH) }, (_, batch) =>
    JSON.stringify(Array.from({ length: BATCH }, (__, at) => comment(batch * BATCH + at))),
  )
  const total = bodies.length * BATCH
  const began = performance.now()
  const sendAll = async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
      if (signal.aborted) throw STOPPED
      const status = await client('/v1/messages', body)
      if (status !== 200) throw new OperatorError(`The door answered a batch with ${status}.`)
    }
  }
  await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, sendAll))
  return Math.round(total / ((performance.now() - began) / 1000))
}

/** The report of `gavel produce` on as many comments. */
async function byProduce(environment: Environment, comments: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'gavel-bench-'))
  try {
    const file = join(folder, 'comments.jsonl')
    const all = Array.from({ length: comments }, (_, at) => JSON.stringify(comment(at)))
    writeFileSync(file, `${all.join('\n')}\n`)
    const args = [join(PROJECT, 'src', 'launch.js'), 'produce', file, '--json']
    const child = spawn(process.execPath, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (data) => {
      said += data
    })
    const [code] = await once(child, 'close')
    if (code !== 0) throw new OperatorError(`gavel produce ended with ${code}.`)
    const { sent, seconds } = JSON.parse(said) as { sent: number; seconds: number }
    return Math.round(sent / seconds)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
