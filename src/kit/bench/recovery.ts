import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admin, Kafka } from 'kafkajs'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { topicsOf } from '../../../config/topics.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { verdict } from '../../contracts/facts/verdict.ts'
import type { ModelRequest } from '../../contracts/ports/model.ts'
import { makeTopics } from '../../operations/make-topics.ts'
import { readTopic } from '../../stream/bounded-reader.ts'
import { kafkaClient } from '../../stream/client.ts'
import { threads } from './load.ts'
import { benchAnswer } from './model.ts'
import { type Percentiles, percentiles, round } from './percentiles.ts'
import { forkWorker, gone, ready, sendAll } from './service.ts'

export interface RecoveryPlan {
  readonly kills: number
  /** Time of a model call, in ms: long, so that calls are in flight at each kill. */
  readonly latencyMs: number
}

/** Times in seconds, from a kill on. */
export interface RecoveryReport {
  readonly kills: number
  /** Calls that were in flight in the killed process. */
  readonly orphans: number
  /** Until each of their questions was asked again by another process. */
  readonly askedAgain: Percentiles & { readonly most: number }
  /** Until the group was stable without the killed process, and all partitions were others'. */
  readonly reassigned: Percentiles & { readonly most: number }
  readonly verdicts: number
  readonly lost: number
  readonly duplicates: number
}

const PROCESSES = 2
const COMMENTS = 10
const POSTS_A_SECOND = 2
/** Looks at the group, and at the questions, in ms: what the times are exact to. */
const LOOK_MS = 50
const LONGEST_WAIT_MS = 60_000
/** Of the service at work before a kill, in ms; a random part of a second comes on top. */
const AT_WORK_MS = 3_000

/**
 * Kills one of two processes with SIGKILL under load, again and again, and measures at the model and at the broker how long
 * the other takes over. All settings are the defaults. Throws an `OperatorError` if the signal is aborted or something never
 * comes.
 */
export async function recoveryBench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: RecoveryPlan,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<RecoveryReport> {
  const model = await witness(plan.latencyMs)
  const name = `bench-${randomBytes(4).toString('hex')}`
  const own = {
    ...environment,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: 'bench',
    GAVEL_LOG_LEVEL: 'error',
    GAVEL_HTTP_PORT: '0',
    GAVEL_BUDGETS_FRESH: 'null',
    GAVEL_KAFKA_TOPIC_PREFIX: `${name}.`,
    GAVEL_KAFKA_GROUP: name,
    GAVEL_REDIS_PREFIX: name,
    GAVEL_LIBRARY_PATH: join(tmpdir(), name),
    GAVEL_PROTOCOLS_HATE_ENABLED: 'false',
    GAVEL_PROTOCOLS_SAFETY_ENABLED: 'false',
    GAVEL_PROTOCOLS_COUNTERSPEECH_ENABLED: 'false',
  }
  const settings = loadSettings(own)
  const kafka = kafkaClient(settings.kafka, name, () => {})
  await makeTopics(kafka, settings)
  const admin = kafka.admin()
  await admin.connect()
  const workers: ChildProcess[] = []
  const start = async () => {
    const worker = forkWorker(own, 'endpoint')
    workers.push(worker)
    await ready(worker, () => {})
  }
  const until = async (what: string, yes: () => Promise<boolean> | boolean) => {
    const deadline = Date.now() + LONGEST_WAIT_MS
    while (!(await yes())) {
      if (signal.aborted) throw new OperatorError('Stopped before the end.')
      if (Date.now() > deadline) throw new OperatorError(`Not within ${LONGEST_WAIT_MS / 1000} s: ${what}.`)
      await sleep(LOOK_MS)
    }
  }
  const enough = new AbortController()
  try {
    for (let n = 0; n < PROCESSES; n++) await start()
    await until('a stable group', () => isStable(admin, settings, PROCESSES))
    const load = sendAll(
      kafka,
      settings,
      threads('killed', Number.POSITIVE_INFINITY, COMMENTS, Date.now),
      { kind: 'rate', perSecond: POSTS_A_SECOND * (COMMENTS + 1) },
      AbortSignal.any([signal, enough.signal]),
    )
    const askedAgain: number[] = []
    const reassigned: number[] = []
    for (let kill = 0; kill < plan.kills; kill++) {
      await sleep(AT_WORK_MS + Math.random() * 1_000)
      const victim = workers.shift()
      if (victim === undefined) throw new OperatorError('No process is left to kill.')
      const exit = once(victim, 'exit')
      const killed = Date.now()
      victim.kill('SIGKILL')
      await exit
      // The sockets of the dead are closed by now, or are so in a moment.
      await sleep(LOOK_MS)
      const cut = model.cutSince(killed)
      await until('partitions of others', () => isStable(admin, settings, PROCESSES - 1))
      reassigned.push((Date.now() - killed) / 1000)
      await until('all questions asked again', () =>
        cut.every((question) => model.askedSince(question, killed) !== null),
      )
      const times = cut.map((question) => ((model.askedSince(question, killed) ?? killed) - killed) / 1000)
      askedAgain.push(...times)
      say(
        `kill ${kill + 1}: partitions of others after ${reassigned.at(-1)?.toFixed(1)} s; ${times.length} questions asked again after ${times.map((time) => time.toFixed(1)).join(', ')} s`,
      )
      await start()
      await until('a stable group', () => isStable(admin, settings, PROCESSES))
    }
    enough.abort()
    const posts = Math.floor((await load) / (COMMENTS + 1))
    let counted = await countOnTopic(kafka, settings, signal)
    await until('a verdict on each post', async () => {
      counted = await countOnTopic(kafka, settings, signal)
      return counted.subjects >= posts
    }).catch((error: unknown) => say(String(error)))
    const most = (values: readonly number[]) => round(Math.max(0, ...values))
    return {
      kills: plan.kills,
      orphans: askedAgain.length,
      askedAgain: { ...percentiles(askedAgain), most: most(askedAgain) },
      reassigned: { ...percentiles(reassigned), most: most(reassigned) },
      verdicts: counted.verdicts,
      lost: Math.max(0, posts - counted.subjects),
      duplicates: counted.duplicates,
    }
  } finally {
    enough.abort()
    await Promise.all(workers.map(gone))
    await admin.disconnect()
    model.close()
  }
}

/** The report for people. */
export function recoveryTable({ kills, orphans, askedAgain, reassigned }: RecoveryReport): string {
  const line = (what: string, { p50, p95, most }: RecoveryReport['reassigned']) =>
    `  ${what}: p50 ${p50.toFixed(1)} s, p95 ${p95.toFixed(1)} s, at most ${most.toFixed(1)} s`
  return [
    `${kills} processes killed, ${orphans} calls in flight in them`,
    line('kill to the orphaned question asked again', askedAgain),
    line('kill to reassigned partitions', reassigned),
  ].join('\n')
}

async function isStable(admin: Admin, { kafka: { group } }: Settings, members: number): Promise<boolean> {
  const [described] = await admin.describeGroups([group]).then(
    ({ groups }) => groups,
    (error: unknown) => {
      throw new OperatorError('This needs Apache Kafka, because this broker does not list a group’s members.', {
        cause: error,
      })
    },
  )
  return described?.state === 'Stable' && described.members.length === members
}

async function countOnTopic(kafka: Kafka, settings: Settings, signal: AbortSignal) {
  const ids: string[] = []
  const subjects = new Set<string>()
  await readTopic(kafka, topicsOf(settings).verdicts, { follow: false, signal }, ({ message }) => {
    const { id, subjectId } = verdict.parse(JSON.parse(message.value?.toString('utf8') ?? 'null'))
    ids.push(id)
    subjects.add(subjectId)
  })
  return { verdicts: new Set(ids).size, subjects: subjects.size, duplicates: ids.length - new Set(ids).size }
}

/** The bench's model behind HTTP, which notes when each question came and which caller was gone before the answer. */
async function witness(latencyMs: number) {
  const asked = new Map<string, number[]>()
  const cut: { question: string; at: number }[] = []
  const server = createServer(async (request, response) => {
    const at = Date.now()
    const body = await text(request)
    const { messages, response_format } = JSON.parse(body) as {
      messages: ModelRequest['messages']
      response_format: { json_schema: ModelRequest['answer'] }
    }
    const question = createHash('sha256').update(JSON.stringify(messages)).digest('base64url')
    asked.set(question, [...(asked.get(question) ?? []), at])
    response.on('close', () => {
      if (!response.writableFinished) cut.push({ question, at: Date.now() })
    })
    await sleep(latencyMs)
    const content = benchAnswer({ messages, answer: response_format.json_schema })
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        model: 'bench',
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content, refusal: null } }],
        usage: { prompt_tokens: 1_000, completion_tokens: 100 },
      }),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/v1`,
    cutSince: (time: number) => [...new Set(cut.flatMap(({ question, at }) => (at >= time ? [question] : [])))],
    /** When the question first came again after `time`; null if it has not. */
    askedSince: (question: string, time: number) => asked.get(question)?.find((at) => at > time) ?? null,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
