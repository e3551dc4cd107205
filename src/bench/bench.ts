import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kafka } from 'kafkajs'
import { loadSettings } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { kafkaWriter } from '../../producers/kafka-writer.ts'
import { type Pace, replayFile } from '../../producers/replay.ts'
import { kafkaClient } from '../adapters/kafka/client.ts'
import { makeTopics } from '../app.ts'
import { topicsOf } from '../assembly.ts'
import { readTopic } from '../commands/read-topic.ts'
import { OperatorError } from '../domain/errors.ts'
import { fences } from '../domain/fence.ts'
import { transcript, verdict } from '../domain/verdict.ts'
import type { Protocol } from '../engine/script.ts'
import type { FileMessage } from '../evaluation/formats.ts'
import { nodeFlags } from '../node-flags.js'
import { makeProtocols } from '../protocols/make.ts'
import { PROTOCOLS } from '../protocols/registry.ts'
import { bareCasesPerSecond } from './baseline.ts'
import { past, replies, threads } from './load.ts'
import type { Published, Tick } from './worker.ts'

export interface BenchPlan {
  readonly protocol: string
  readonly commentsPerPost: number
  /** Comments of the intake phase in all. */
  readonly flood: number
  /** Verdicts of the phase without latency. */
  readonly verdicts: number
  readonly slots: number
  readonly latencyMs: number
  /** Length of the half-load phase, in seconds. */
  readonly halfLoadSeconds: number
}

export interface Percentiles {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** DESIGN's report. Each number comes from the phase that measures it; verdicts, calls, lost and duplicates from all. */
export interface BenchReport {
  readonly verdicts: number
  readonly lost: number
  readonly duplicates: number
  readonly seconds: number
  readonly verdictsPerSecond: number
  readonly overheadMs: Percentiles
  readonly latencyMs: Percentiles
  readonly calls: number
  readonly callsPerVerdict: number
  readonly tokensPerVerdict: number
  /** Calls that had to wait for one another, a verdict, mean. */
  readonly depth: number
  /** What the protocol's paper spends on one subject. */
  readonly paper: Protocol['paper']
  readonly slotUtilization: number
  readonly commentsPerSecond: number
  readonly rssMiB: number
}

/** What one phase saw. */
interface Seen {
  readonly ticks: readonly Tick[]
  readonly lost: number
  readonly duplicates: number
  readonly depths: readonly number[]
}

const LONGEST_PHASE_MS = 300_000
/** Enough to know how deep a verdict is. */
const TRANSCRIPTS_READ = 200
const FINISH = { GAVEL_CLOCK_AT_END: 'finish', GAVEL_CLOCK_IDLE_AFTER: '1s', GAVEL_CHECKPOINTS_AGES: '12h' }
/** No count checkpoint is reached. */
const NEVER = '1000000'

/**
 * Loads the whole pipeline, phase by phase, each with topics and keys of its own: intake alone; verdicts with a model of no
 * latency; all model slots busy; half of that load. Throws an `OperatorError` if the signal is aborted or a phase hangs.
 */
export async function bench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: BenchPlan,
  io: { say: (line: string) => void; signal: AbortSignal },
): Promise<BenchReport> {
  const started = performance.now()
  const { say } = io
  const protocol = protocolOf(loadSettings(environment), plan.protocol)
  const phase = (name: string, options: Parameters<typeof runPhase>[1]) => {
    say(`${name} …`)
    return runPhase({ ...environment, ...only(plan.protocol) }, options, io)
  }
  const subjects = (name: string, count: number, from: () => number) =>
    protocol.subject === 'reply' ? replies(name, count, from) : threads(name, count, commentsEach, from)
  const commentsEach = protocol.subject === 'thread' ? plan.commentsPerPost : 0
  const each = protocol.subject === 'thread' ? `posts with ${commentsEach} comments` : `subjects of ${plan.protocol}`

  const bare = await bareCasesPerSecond(loadSettings(environment).redis.url)
  say(`baseline: bare BullMQ does ${bare.toFixed(0)} cases of seven empty asks a second here and now`)

  const floodPosts = Math.max(1, Math.round(plan.flood / 100))
  const intake = await phase(`intake: ${floodPosts * 100} comments on ${floodPosts} posts`, {
    latencyMs: 0,
    roles: 'intake',
    changes: { ...only('rumor'), GAVEL_CHECKPOINTS_COUNTS: NEVER, GAVEL_CHECKPOINTS_AGES: '12h' },
    preload: threads('flood', floodPosts, 100, past()),
    done: (ticks) => sum(ticks, ({ settled }) => settled) >= floodPosts * 101,
    expected: 0,
  })
  const commentsPerSecond = (floodPosts * 100) / activeSeconds(intake.ticks, ({ settled }) => settled)
  say(`  ${commentsPerSecond.toFixed(0)} comments a second, at most ${maxRss(intake).toFixed(0)} MiB resident`)

  const quick = await phase(`verdicts: ${plan.verdicts} ${each}, no latency`, {
    latencyMs: 0,
    changes: { ...FINISH, GAVEL_CHECKPOINTS_COUNTS: NEVER, GAVEL_MODELS_SLOTS: String(plan.slots) },
    preload: subjects('quick', plan.verdicts, past()),
    done: (ticks) => sum(ticks, ({ published }) => published.length) >= plan.verdicts,
    expected: plan.verdicts,
  })
  const verdictsPerSecond =
    plan.verdicts / activeSeconds(quick.ticks, ({ opened, published }) => opened + published.length)
  const callsPerVerdict = mean(all(quick).map(({ calls }) => calls))
  const share = verdictsPerSecond / bare
  say(
    `  ${verdictsPerSecond.toFixed(0)} verdicts a second (${share.toFixed(2)} of the baseline), ${callsPerVerdict.toFixed(2)} calls each`,
  )

  const depth = mean(quick.depths)
  const tokens = mean(all(quick).map(({ tokens: spent }) => spent))
  const { paper } = protocol
  say(
    `  ${plan.protocol}, a verdict: ${callsPerVerdict.toFixed(2)} calls, depth ${depth.toFixed(2)}, ${tokens.toFixed(0)} tokens`,
  )
  say(`  its paper: ${paper.calls} calls, depth ${paper.depth} (${paper.of})`)

  const full = (plan.slots * 1000) / plan.latencyMs / callsPerVerdict
  const saturated = Math.ceil(full * 25)
  const slots = {
    GAVEL_MODELS_SLOTS: String(plan.slots),
    GAVEL_STAGES_DEFAULT_CONCURRENCY: String(plan.slots),
  }
  const busy = await phase(`slots: ${saturated} posts, ${plan.slots} slots of ${plan.latencyMs} ms`, {
    latencyMs: plan.latencyMs,
    changes: { ...FINISH, ...slots, GAVEL_CHECKPOINTS_COUNTS: NEVER },
    preload: subjects('busy', saturated, past()),
    done: (ticks) => sum(ticks, ({ published }) => published.length) >= saturated,
    expected: saturated,
  })
  const slotUtilization = utilization(busy.ticks, saturated, plan.slots)
  say(`  ${(slotUtilization * 100).toFixed(1)} % of the slots busy while saturated`)

  const rate = full / 2
  const halfPosts = Math.ceil(rate * plan.halfLoadSeconds)
  const half = await phase(`half load: ${rate.toFixed(1)} posts a second for ${plan.halfLoadSeconds} s`, {
    latencyMs: plan.latencyMs,
    changes: { ...slots, GAVEL_CHECKPOINTS_COUNTS: String(plan.commentsPerPost) },
    live: {
      messages: subjects('half', halfPosts, Date.now),
      perSecond: rate * (commentsEach + 1),
    },
    done: (ticks) => sum(ticks, ({ published }) => published.length) >= halfPosts,
    expected: halfPosts,
  })
  for (const [index, part] of [
    'received to opened',
    'opened to decided, less the model',
    'decided to published',
  ].entries()) {
    const { p50, p95, p99 } = percentiles(all(half).map(({ parts }) => parts[index] ?? 0))
    say(`  ${part}: p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms`)
  }
  const phases = [intake, quick, busy, half]
  const verdicts = phases.flatMap(all)
  return {
    verdicts: verdicts.length,
    lost: phases.reduce((total, { lost }) => total + lost, 0),
    duplicates: phases.reduce((total, { duplicates }) => total + duplicates, 0),
    seconds: round((performance.now() - started) / 1000),
    verdictsPerSecond: round(verdictsPerSecond),
    overheadMs: percentiles(all(half).map(({ overheadMs }) => overheadMs)),
    latencyMs: percentiles(all(half).map(({ latencyMs }) => latencyMs)),
    calls: verdicts.reduce((total, { calls }) => total + calls, 0),
    callsPerVerdict: round(mean(verdicts.map(({ calls }) => calls))),
    tokensPerVerdict: round(mean(verdicts.map(({ tokens }) => tokens))),
    depth: round(depth),
    paper,
    slotUtilization: round(slotUtilization),
    commentsPerSecond: round(commentsPerSecond),
    rssMiB: round(Math.max(...phases.map(maxRss))),
  }
}

/** One phase: a service of its own, its load, and an independent count of what stands on the verdicts topic at the end. */
async function runPhase(
  environment: Readonly<Record<string, string | undefined>>,
  options: {
    latencyMs: number
    roles?: string
    changes: Readonly<Record<string, string>>
    preload?: Iterable<FileMessage>
    live?: { messages: Iterable<FileMessage>; perSecond: number }
    done: (ticks: readonly Tick[]) => boolean
    expected: number
  },
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<Seen> {
  const name = `bench-${randomBytes(4).toString('hex')}`
  const own = {
    ...environment,
    GAVEL_LOG_LEVEL: 'error',
    ...options.changes,
    GAVEL_HTTP_PORT: '0',
    GAVEL_KAFKA_TOPIC_PREFIX: `${name}.`,
    GAVEL_KAFKA_GROUP: name,
    GAVEL_REDIS_PREFIX: name,
    // No shelves: what is measured must not depend on what somebody has put on theirs.
    GAVEL_LIBRARY_PATH: join(tmpdir(), name),
  }
  const settings = loadSettings(own)
  const kafka = kafkaClient(settings.kafka.brokers, name, () => {})
  await makeTopics(kafka, settings)
  if (options.preload !== undefined) await sendAll(kafka, settings, options.preload, { kind: 'flat-out' }, signal)
  const worker = fork(
    join(import.meta.dirname, `worker${import.meta.filename.slice(-3)}`),
    [String(options.latencyMs), options.roles ?? 'intake,judge,publish'],
    {
      env: Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)) as Record<string, string>,
      execArgv: nodeFlags(environment.NODE_OPTIONS),
    },
  )
  try {
    const ticks: Tick[] = []
    await ready(worker, ticks)
    if (options.live !== undefined) {
      const pace = { kind: 'rate', perSecond: options.live.perSecond } as const
      await sendAll(kafka, settings, options.live.messages, pace, signal)
    }
    await finished(worker, () => options.done(ticks), signal)
    const troubles = sum(ticks, (tick) => tick.troubles)
    if (troubles > 0) say(`  ${troubles} troubles were reported; GAVEL_LOG_LEVEL=info tells them`)
    return { ticks, ...(await countOnTopic(kafka, settings, options.expected, signal)) }
  } finally {
    await gone(worker)
  }
}

async function sendAll(
  kafka: Kafka,
  settings: Settings,
  messages: Iterable<FileMessage>,
  pace: Pace,
  signal: AbortSignal,
) {
  const writer = await kafkaWriter(kafka, settings.kafka.compression)
  const { posts: post, comments: comment, counterspeech, feedback } = topicsOf(settings)
  async function* asked() {
    yield* messages
  }
  try {
    await replayFile(asked(), { writer, topics: { post, comment, counterspeech, feedback } }, pace, {
      signal,
      progress() {},
    })
  } finally {
    await writer.close()
  }
}

async function countOnTopic(kafka: Kafka, settings: Settings, expected: number, signal: AbortSignal) {
  const ids: string[] = []
  const subjects = new Set<string>()
  await readTopic(kafka, topicsOf(settings).verdicts, { follow: false, signal }, ({ message }) => {
    const { id, subjectId } = verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null'))
    ids.push(id)
    subjects.add(subjectId)
  })
  const depths = await depthsOnTopic(kafka, settings, signal)
  return { lost: expected - subjects.size, duplicates: ids.length - new Set(ids).size, depths }
}

/** Rounds with model calls, of the first verdicts' transcripts. */
async function depthsOnTopic(kafka: Kafka, settings: Settings, signal: AbortSignal): Promise<number[]> {
  const depths: number[] = []
  const enough = new AbortController()
  const options = { follow: false, signal: AbortSignal.any([signal, enough.signal]) }
  await readTopic(kafka, topicsOf(settings).transcripts, options, ({ message }) => {
    const { turns } = transcript.parse(JSON.parse(message.value?.toString('utf8') ?? 'null'))
    depths.push(new Set(turns.flatMap(({ round: at, calls }) => (calls.length > 0 ? [at] : []))).size)
    if (depths.length === TRANSCRIPTS_READ) enough.abort()
  })
  return depths
}

/** Switches every other protocol off. */
function only(name: string): Record<string, string> {
  return Object.fromEntries(
    PROTOCOLS.map((kind) => [`GAVEL_PROTOCOLS_${kind.name.toUpperCase()}_ENABLED`, String(kind.name === name)]),
  )
}

function protocolOf(settings: Settings, name: string): Protocol {
  const found = makeProtocols(settings.protocols, fences('bench', 1_000)).find((protocol) => protocol.name === name)
  if (found === undefined) throw new OperatorError(`No protocol is called ${name}, or the settings switch it off.`)
  return found
}

function ready(worker: ChildProcess, ticks: Tick[]): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('exit', (code) => reject(new OperatorError(`The service under load ended with ${code}.`)))
    worker.on('message', (message: 'ready' | Tick) => {
      if (message === 'ready') resolve()
      else ticks.push(message)
    })
  })
}

async function finished(worker: ChildProcess, done: () => boolean, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + LONGEST_PHASE_MS
  while (!done()) {
    if (signal.aborted) throw new OperatorError('Stopped before the end.')
    if (worker.exitCode !== null) throw new OperatorError(`The service under load ended with ${worker.exitCode}.`)
    if (Date.now() > deadline) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function gone(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null) return
  const exit = new Promise((resolve) => worker.once('exit', resolve))
  worker.removeAllListeners('message')
  worker.kill('SIGTERM')
  const force = setTimeout(() => worker.kill('SIGKILL'), 15_000)
  await exit
  clearTimeout(force)
}

/** Seconds from just before the first tick in which something happened to the last such. */
function activeSeconds(ticks: readonly Tick[], happened: (tick: Tick) => number): number {
  const active = ticks.filter((tick) => happened(tick) > 0)
  const [first, last] = [active[0], active.at(-1)]
  if (first === undefined || last === undefined) return Number.POSITIVE_INFINITY
  return (last.at - first.at) / 1000 + 0.1
}

/** Mean share of busy slots between 10 % and 85 % of the verdicts: after the start, before the load runs dry. */
function utilization(ticks: readonly Tick[], verdicts: number, slots: number): number {
  let published = 0
  const shares: number[] = []
  for (const tick of ticks) {
    published += tick.published.length
    if (published >= verdicts * 0.1 && published <= verdicts * 0.85) shares.push(tick.busySlots / slots)
  }
  return mean(shares)
}

function all({ ticks }: Seen): Published[] {
  return ticks.flatMap(({ published }) => published)
}

function maxRss({ ticks }: Seen): number {
  return ticks.reduce((most, { rssMiB }) => Math.max(most, rssMiB), 0)
}

function sum(ticks: readonly Tick[], of: (tick: Tick) => number): number {
  return ticks.reduce((total, tick) => total + of(tick), 0)
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((total, value) => total + value, 0) / values.length
}

function percentiles(values: readonly number[]): Percentiles {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000
}
