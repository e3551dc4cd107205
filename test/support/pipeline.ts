import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import kafkajs from 'kafkajs'
import { loadSettings, PROJECT } from '../../config/load.ts'
import type { Settings } from '../../config/schema.ts'
import { topicsOf } from '../../config/topics.ts'
import type { Pace } from '../../producers/replay.ts'
import { produce } from '../../src/app/commands/produce.ts'
import type { Terminal } from '../../src/cli/terminal.ts'
import { type Transcript, transcript, type Verdict, verdict } from '../../src/contracts/facts/verdict.ts'
import type { Format } from '../../src/data-files/formats.ts'
import type { Stack } from '../../src/kit/stack/stack.ts'
import { nodeFlags } from '../../src/platform/node-flags.js'
import { PROTOCOLS } from '../../src/protocols/registry.ts'
import { registerCodecs } from '../../src/stream/codecs.ts'
import { patchKafkaJs } from '../../src/stream/kafkajs-patches.ts'
import { bareEnvironment } from './bare-environment.ts'
import { followedRecords } from './followed-topics.ts'

/** Tells what matters for reading a test's output, the loud reason of a skip among it. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}

export const silent: Terminal = { out() {}, say() {}, progress() {} }

/** Switches every protocol off but these. */
export function protocolsOn(...names: string[]): Record<string, string> {
  return Object.fromEntries(
    PROTOCOLS.map(({ name }) => [`GAVEL_PROTOCOLS_${name.toUpperCase()}_ENABLED`, String(names.includes(name))]),
  )
}

/** What the environments of this file are called, their topics among it. */
export const ENVIRONMENT_NAMES: string[] = []

/**
 * Environment of a service of its own on these servers: topics, group, keys and library that nobody else uses; it judges by
 * rumor alone unless `changes` say otherwise.
 */
export function environmentOn(
  { settings }: Pick<Stack, 'settings'>,
  changes: Record<string, string> = {},
): Record<string, string> {
  const name = `test-${randomBytes(4).toString('hex')}`
  ENVIRONMENT_NAMES.push(name)
  return {
    ...settings,
    ...protocolsOn('rumor'),
    ...EVERY_DEBATE_HELD,
    GAVEL_LIBRARY_PATH: join(tmpdir(), name),
    ...UNBOUNDED,
    GAVEL_KAFKA_TOPIC_PREFIX: `${name}.`,
    GAVEL_KAFKA_GROUP: name,
    GAVEL_REDIS_PREFIX: name,
    GAVEL_HTTP_PORT: '0',
    GAVEL_CLOCK_AT_END: 'finish',
    GAVEL_LOG_LEVEL: 'info',
    ...changes,
  }
}

export interface Service {
  readonly process: ChildProcess
  readonly httpPort: number
  /** What it logged, for a failing test to show. */
  readonly log: readonly string[]
  kill(signal: NodeJS.Signals): Promise<void>
}

/** `gavel run` in a process, as it is launched, from the project's folder or another; resolves when it says that it has started. */
export async function startService(
  environment: Record<string, string>,
  roles = 'intake,judge,publish',
  project = PROJECT,
  more: readonly string[] = [],
  spawned: (child: ChildProcess) => void = () => {},
): Promise<Service> {
  const main = join(project, 'src', 'main.ts')
  const child = spawn(process.execPath, [...nodeFlags(), main, 'run', '--roles', roles, ...more], {
    env: bareEnvironment(environment),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  spawned(child)
  const log: string[] = []
  const httpPort = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line)
      if (line.includes('"service:started"')) resolve(Number((JSON.parse(line) as { httpPort: number }).httpPort))
    })
    child.once('close', (code) => reject(new Error(`the service ended with ${code}:\n${log.join('\n')}`)))
  })
  return {
    process: child,
    httpPort,
    log,
    async kill(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    },
  }
}

const settingsRead = new Map<string, Settings>()

/** Read once for each environment: whoever polls asks again and again. */
export function settingsOf(environment: Record<string, string>): Settings {
  const key = JSON.stringify(environment)
  const settings = settingsRead.get(key) ?? loadSettings(environment)
  settingsRead.set(key, settings)
  return settings
}

export async function send(environment: Record<string, string>, file: string, format: Format, pace: Pace) {
  return produce(settingsOf(environment), { file, format }, pace, {
    terminal: silent,
    signal: new AbortController().signal,
  })
}

/** A client of the test's own, told apart from the service's. */
export function clientOf(environment: Record<string, string>) {
  registerCodecs()
  patchKafkaJs()
  const { brokers } = settingsOf(environment).kafka
  return new kafkajs.Kafka({ clientId: 'test', brokers, logLevel: kafkajs.logLevel.NOTHING })
}

/** No test spends what a new service may in a day. */
export const UNBOUNDED = { GAVEL_BUDGETS_FRESH: 'null' }

/** Every debate is held, and to its end: what is tested through servers is questions under load, and most posts there have no comments. */
export const EVERY_DEBATE_HELD = {
  GAVEL_PROTOCOLS_RUMOR_DEBATE_WHEN: 'always',
  GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'always',
  GAVEL_PROTOCOLS_HATE_EXITS: 'false',
  GAVEL_PROTOCOLS_SAFETY_DEBATE_WHEN: 'always',
  GAVEL_PROTOCOLS_SAFETY_BRIEF: 'always',
}

/** PREDICT's perspectives in place of the shipped ones: each shows examples of a shelf of its own. */
export const PERSPECTIVES_WITH_SHELVES = {
  GAVEL_PROTOCOLS_HATE_DEBATE_WHEN: 'always',
  GAVEL_PROTOCOLS_HATE_PERSPECTIVES: 'k-haters,k-mhas,kodoli,kold,unsmile',
}

/** All records of a topic, as an independent reader sees them. */
export function recordsOf(
  environment: Record<string, string>,
  topic: keyof ReturnType<typeof topicsOf>,
): Promise<string[]> {
  const settings = settingsOf(environment)
  return followedRecords(clientOf(environment), settings.kafka.brokers, topicsOf(settings)[topic])
}

const verdictIn = readOnce(verdict)
const transcriptIn = readOnce(transcript)

export async function verdictsOf(environment: Record<string, string>): Promise<Verdict[]> {
  return (await recordsOf(environment, 'verdicts')).map(verdictIn)
}

export async function transcriptsOf(environment: Record<string, string>): Promise<Transcript[]> {
  return (await recordsOf(environment, 'transcripts')).map(transcriptIn)
}

/** Parses each text once, however often it is asked. */
function readOnce<Value>(schema: { parse(value: unknown): Value }): (json: string) => Value {
  const known = new Map<string, Value>()
  return (json) => {
    const value = known.get(json) ?? schema.parse(JSON.parse(json))
    known.set(json, value)
    return value
  }
}

/** A busy machine is no failure: whatever is waited for has at least so long, in ms. */
const PATIENCE_MS = 60_000

/** Asks until the answer is yes, often at first; throws, with what `state` says, when `withinMs`, and patience, have passed. */
export async function eventually(
  yes: () => Promise<boolean>,
  withinMs: number,
  state: () => string = () => '',
): Promise<void> {
  const deadline = Date.now() + Math.max(withinMs, PATIENCE_MS)
  for (let pauseMs = 25; !(await yes()); pauseMs = Math.min(250, pauseMs * 1.5)) {
    if (Date.now() > deadline) throw new Error(`not within ${Math.max(withinMs, PATIENCE_MS)} ms; ${state()}`)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** Resolves when every one of these subjects has a final verdict on the topic. */
export function allFinal(environment: Record<string, string>, subjects: number, withinMs: number): Promise<void> {
  let finals = 0
  return eventually(
    async () => {
      finals = new Set((await verdictsOf(environment)).filter(({ final }) => final).map(({ subjectId }) => subjectId))
        .size
      return finals >= subjects
    },
    withinMs,
    () => `${finals} of ${subjects} are final`,
  )
}
