import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import type { Kafka } from 'kafkajs'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { kafkaWriter } from '../../../producers/kafka-writer.ts'
import { type Pace, replayFile } from '../../../producers/replay.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { FileMessage } from '../../data-files/file-message.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { nodeEnvironment, nodeFlags } from '../../platform/node-flags.js'
import { connect } from '../../store/redis/connect.ts'
import { kafkaClient } from '../../stream/client.ts'
import type { Tick } from './worker.ts'

/** A service that has done its work and has ended, and where its topics can be read. */
export interface ServiceRun {
  readonly ticks: readonly Tick[]
  readonly kafka: Kafka
  readonly settings: Settings
  /** What Redis did meanwhile. */
  readonly redis: RedisWork
  /** It was stopped before it was done: what it had not published was not lost. */
  readonly isCutOff: boolean
}

interface RedisWork {
  /** Processor time, in ms. */
  readonly cpuMs: number
  /** How often it read from a connection. */
  readonly reads: number
  readonly inputBytes: number
}

const LONGEST_PHASE_MS = 300_000

/**
 * Runs a service of its own, in a process, topics and keys of its own, under a load until `done`. Throws an `OperatorError`
 * if the signal is aborted or the service ends by itself; one that takes longer than five minutes is stopped as it is.
 */
export async function serve(
  environment: Readonly<Record<string, string | undefined>>,
  options: {
    /** Time of a model call, in ms; `endpoint` asks the model of the settings. */
    latencyMs: number | 'endpoint'
    roles?: string
    changes: Readonly<Record<string, string>>
    preload?: Iterable<FileMessage>
    live?: { messages: Iterable<FileMessage>; perSecond: number }
    /** A library's folder; none if left out. */
    library?: string
    done: (ticks: readonly Tick[]) => boolean
    onTick?: (tick: Tick) => void
  },
  signal: AbortSignal,
): Promise<ServiceRun> {
  const name = `bench-${randomBytes(4).toString('hex')}`
  const own = {
    GAVEL_FENCES_KEY: randomBytes(16).toString('hex'),
    ...environment,
    GAVEL_LOG_LEVEL: 'error',
    ...options.changes,
    GAVEL_HTTP_PORT: '0',
    GAVEL_BUDGETS_FRESH: 'null',
    GAVEL_KAFKA_TOPIC_PREFIX: `${name}.`,
    GAVEL_KAFKA_GROUP: name,
    GAVEL_REDIS_PREFIX: name,
    // No shelves: what is measured must not depend on what somebody has put on theirs.
    GAVEL_LIBRARY_PATH: options.library ?? join(tmpdir(), name),
  }
  const settings = loadSettings(own)
  const kafka = kafkaClient(settings.kafka, name, () => {})
  await makeTopics(kafka, settings)
  if (options.preload !== undefined) await sendAll(kafka, settings, options.preload, { kind: 'flat-out' }, signal)
  const redis = connect(settings.redis, () => {}, 'retrying')
  const before = await redisWork(redis)
  const worker = forkWorker(own, options.latencyMs, { roles: options.roles })
  try {
    const ticks: Tick[] = []
    await ready(worker, (tick) => {
      ticks.push(tick)
      options.onTick?.(tick)
    })
    if (options.live !== undefined) {
      const pace = { kind: 'rate', perSecond: options.live.perSecond } as const
      await sendAll(kafka, settings, options.live.messages, pace, signal)
    }
    const isDone = await untilDone(worker, () => options.done(ticks), signal)
    return { isCutOff: !isDone, ticks, kafka, settings, redis: less(await redisWork(redis), before) }
  } finally {
    await gone(worker)
    redis.disconnect()
  }
}

/** What of a run's subjects has no verdict: lost, unless the bench itself stopped the run before they were judged. */
export function shortfall(missing: number, { isCutOff }: Pick<ServiceRun, 'isCutOff'>) {
  return isCutOff ? { lost: 0, unfinished: missing } : { lost: missing, unfinished: 0 }
}

/** What Redis has done so far; 0 where it does not say. */
async function redisWork(redis: Redis): Promise<RedisWork> {
  const info = `${await redis.info('cpu')}\n${await redis.info('stats')}`
  const of = (name: string) => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1] ?? 0)
  return {
    cpuMs: (of('used_cpu_sys') + of('used_cpu_user')) * 1000,
    reads: of('total_reads_processed'),
    inputBytes: of('total_net_input_bytes'),
  }
}

function less(after: RedisWork, before: RedisWork): RedisWork {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    reads: after.reads - before.reads,
    inputBytes: after.inputBytes - before.inputBytes,
  }
}

/** A service in a process of its own; `ready` resolves when it has started. `tickMs`: how often it reports what happens. */
export function forkWorker(
  environment: Readonly<Record<string, string | undefined>>,
  latencyMs: number | 'endpoint',
  { roles = 'intake,judge,publish', tickMs = 100 }: { roles?: string | undefined; tickMs?: number } = {},
): ChildProcess {
  const args = [String(latencyMs), roles, String(tickMs)]
  return fork(join(import.meta.dirname, `worker${import.meta.filename.slice(-3)}`), args, {
    env: nodeEnvironment(environment),
    execArgv: nodeFlags(environment.NODE_OPTIONS),
  })
}

/** Resolves to how many messages were sent. */
export async function sendAll(
  kafka: Kafka,
  settings: Settings,
  messages: Iterable<FileMessage>,
  pace: Pace,
  signal: AbortSignal,
): Promise<number> {
  const writer = await kafkaWriter(kafka, settings.kafka.compression)
  const { posts: post, comments: comment, counterspeech, feedback } = topicsOf(settings)
  async function* asked() {
    yield* messages
  }
  try {
    return await replayFile(asked(), { writer, topics: { post, comment, counterspeech, feedback } }, pace, {
      signal,
      progress() {},
    })
  } finally {
    await writer.close()
  }
}

export function ready(worker: ChildProcess, onTick: (tick: Tick) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('exit', (code) => reject(new OperatorError(`The service under load ended with ${code}.`)))
    worker.on('message', (message: 'ready' | Tick) => {
      if (message === 'ready') resolve()
      else onTick(message)
    })
  })
}

/** Resolves to false if it took too long. Throws as `serve` does. */
export async function untilDone(
  worker: Pick<ChildProcess, 'exitCode'>,
  done: () => boolean,
  signal: AbortSignal,
  longestMs = LONGEST_PHASE_MS,
): Promise<boolean> {
  const deadline = Date.now() + longestMs
  while (!done()) {
    if (signal.aborted) throw new OperatorError('Stopped before the end.')
    if (worker.exitCode !== null) throw new OperatorError(`The service under load ended with ${worker.exitCode}.`)
    if (Date.now() > deadline) return false
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return true
}

export async function gone(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  const exit = new Promise((resolve) => worker.once('exit', resolve))
  worker.removeAllListeners('message')
  worker.kill('SIGTERM')
  const force = setTimeout(() => worker.kill('SIGKILL'), 15_000)
  await exit
  clearTimeout(force)
}

export function sum(ticks: readonly Tick[], of: (tick: Tick) => number): number {
  return ticks.reduce((total, tick) => total + of(tick), 0)
}
