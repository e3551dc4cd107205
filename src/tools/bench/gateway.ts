import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { openAiModel } from '../../adapters/openai/model.ts'
import { redisBudgets } from '../../adapters/redis/budgets.ts'
import { connect } from '../../adapters/redis/connect.ts'
import { keysUnder } from '../../adapters/redis/keys.ts'
import { redisLimits } from '../../adapters/redis/limits.ts'
import { redisMemo } from '../../adapters/redis/memo.ts'
import { budgetSettings, gatewaySettings, limitLeaseMs } from '../../composition/gateway.ts'
import type { Ask } from '../../domain/ask.ts'
import type { Call } from '../../domain/case.ts'
import { OperatorError } from '../../domain/errors.ts'
import { fences } from '../../domain/fence.ts'
import { samplingRanks } from '../../domain/sampling-rank.ts'
import { jsonSchema, withFormat } from '../../gateway/format.ts'
import { gateway } from '../../gateway/gateway.ts'
import { nodeFlags } from '../../node-flags.js'
import type { Model, ModelRequest } from '../../ports/model.ts'
import type { Report } from '../../ports/report.ts'
import { makeProtocols } from '../../protocols/make.ts'
import { sentence } from './load.ts'
import { type Percentiles, percentiles, round } from './percentiles.ts'

export interface GatewayPlan {
  /** Calls a second, at random times that do not wait for one another. */
  readonly rate: number
  /** Length of each phase, in seconds. */
  readonly seconds: number
  /** Time of a model call. */
  readonly latencyMs: number
}

/** One phase. Times in ms. */
interface Phase {
  readonly calls: number
  /** From the moment at which the call was due to its end. */
  readonly wholeMs: Percentiles
  /** That, less the model's time as the client sees it; for the plain client, less the model's set latency. */
  readonly overheadMs: Percentiles
  /** The part of it in which the call was due and the process was busy with others. */
  readonly lateMs: Percentiles
  /** Processor time of this process, a call. */
  readonly cpuMs: number
}

/** A phase through the gateway, with the time of each of its round trips to Redis. */
interface GatewayPhase extends Phase {
  readonly partsMs: Readonly<Record<string, Percentiles>>
}

export interface GatewayReport {
  readonly rate: number
  readonly latencyMs: number
  /** `openAiModel.complete` by itself. */
  readonly plain: Phase
  /** One question a call: opinions of rumor debates. */
  readonly gateway: GatewayPhase
  /** Twenty questions a call: stances of comments, a twentieth of the rate; each comment is remembered by itself. */
  readonly batches: GatewayPhase
}

const COMMENTS = 20
/** Questions that differ in more than their number. */
const DIFFERENT = 100
/**
 * Calls before anything is counted, in which connections open and V8 optimizes the code: until it has, at 200 calls a second
 * some ten seconds, what a call needs lives longer, and collections take twice as long.
 */
const WARM_UP_SECONDS = 15
/** High enough that nothing is refused, so that every script runs to its end. */
const PLENTY = 1_000_000_000

/**
 * What the gateway adds to a call that passes all of it: memo (nothing is known), budgets, limits, breaker, slots and the
 * reading of the answer, on the Redis of the settings. Arrivals are open-loop, and counted from when they were due: a slow
 * call does not keep the next one from being late.
 */
export async function gatewayBench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: GatewayPlan,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<GatewayReport> {
  const settings = settingsFor(environment)
  const server = await startBeside('model-server', [String(plan.latencyMs)], signal)
  const { child: arrivals } = await startBeside('arrivals', [], signal)
  const troubles: unknown[] = []
  const report: Report = (name, event) => {
    if (name === 'error' && 'error' in event) troubles.push(event.error)
  }
  const redis = connect(settings.redis, report, 'retrying')
  try {
    const client = openAiModel({
      baseUrl: `http://127.0.0.1:${server.said}/v1`,
      apiKey: 'bench',
      answerFormat: 'json_schema',
    })
    const through = gatewayOn(redis, settings, client, report)
    const { rate, seconds, latencyMs } = plan
    const phase = async (name: string, asks: Iterable<Ask>, perSecond: number, send: Send) => {
      say(`${name}: ${perSecond} calls a second for ${seconds} s …`)
      // Made beforehand: to write a question is the protocol's work, not the gateway's.
      const ready = first(asks, Math.ceil(perSecond * (seconds + WARM_UP_SECONDS) * 1.2))
      await openLoop(arrivals, ready, perSecond, WARM_UP_SECONDS, send, signal)
      through.clear()
      return openLoop(arrivals, ready, perSecond, seconds, send, signal)
    }
    const plain = await phase('the plain client', opinions(environment), rate, async (ask) => {
      await client.complete(requestOf(ask, signal))
      return latencyMs
    })
    const single = await phase('through the gateway', opinions(environment), rate, through.ask)
    const parts = through.parts()
    const batched = await phase('batches through the gateway', batches(environment), rate / COMMENTS, through.ask)
    const [trouble] = troubles
    if (trouble !== undefined) throw new OperatorError(`The bench met ${troubles.length} troubles; first: ${trouble}`)
    return {
      rate,
      latencyMs,
      plain,
      gateway: { ...single, partsMs: parts },
      batches: { ...batched, partsMs: through.parts() },
    }
  } finally {
    redis.disconnect()
    server.child.disconnect()
    arrivals.disconnect()
  }
}

/** Sends one call; resolves to the time with the model, in ms. */
type Send = (ask: Ask) => Promise<number>

/** Every guard is on and none says no. */
export function settingsFor(environment: Readonly<Record<string, string | undefined>>): Settings {
  const { limits, budgets, models, memo, ...rest } = loadSettings(environment)
  const limit = { default: { callsPerMinute: PLENTY, tokensPerMinute: PLENTY, inFlight: PLENTY } }
  const budget = { tokens: PLENTY, usd: PLENTY }
  return {
    ...rest,
    models: { ...models, prices: { bench: { prompt: 1, cached: 1, completion: 1 } }, roles: { default: ['bench'] } },
    memo: { ...memo, enabled: true },
    limits: { ...limits, models: limit, tenants: limit },
    budgets: {
      ...budgets,
      verdict: budget,
      tenant: { ...budgets.tenant, ...budget },
      total: { ...budgets.total, ...budget },
    },
  }
}

export function gatewayOn(redis: ReturnType<typeof connect>, settings: Settings, client: Model, report: Report) {
  const keys = keysUnder(`bench-${randomBytes(4).toString('hex')}`)
  const times = new Map<string, number[]>()
  const withModel = new Map<string, number>()
  const took = (part: string, ms: number) => {
    const known = times.get(part)
    if (known === undefined) times.set(part, [ms])
    else known.push(ms)
  }
  const timed = <Port extends object>(name: string, port: Port, methods: readonly (keyof Port & string)[]): Port =>
    new Proxy(port, {
      get(target, property, receiver) {
        const method: unknown = Reflect.get(target, property, receiver)
        if (typeof method !== 'function' || !methods.some((one) => one === property)) return method
        return async (...given: unknown[]) => {
          const began = performance.now()
          try {
            return await Reflect.apply(method, target, given)
          } finally {
            took(`${name}.${String(property)}`, performance.now() - began)
          }
        }
      },
    })
  const model: Model = {
    async complete(request) {
      const began = performance.now()
      const reply = await client.complete(request)
      withModel.set(request.callId, performance.now() - began)
      return reply
    },
  }
  const calls = gateway({
    model,
    loadImage: async () => '',
    memo: timed('memo', redisMemo(redis, keys.under), ['look', 'keep']),
    limits: timed(
      'limits',
      redisLimits(redis, (name) => keys.under(`limits:${name}`), { leaseMs: limitLeaseMs(settings) }),
      ['reserve', 'settle'],
    ),
    budgets: timed('budgets', redisBudgets(redis, keys.under, budgetSettings(settings)), ['reserve', 'settle']),
    settings: gatewaySettings(settings, 'bench'),
    clock: Date.now,
    report,
  })
  let asked = 0
  return {
    async ask(ask: Ask): Promise<number> {
      const id = String(asked++)
      const made: Call[] = []
      const settled = await calls.ask(ask, {
        protocol: 'rumor',
        subject: { tenant: 'default', postId: id, kind: 'post' },
        caseId: id,
        askId: id,
        attempt: 1,
        last: false,
        remember: true,
        signal: new AbortController().signal,
        deadline: Date.now() + 60_000,
        calls: made,
      })
      if (settled.failed !== undefined || made.length !== 1)
        throw new OperatorError(`A call did not pass: ${settled.failed?.code ?? `${made.length} calls`}.`)
      const [{ id: callId } = { id: '' }] = made
      const ms = withModel.get(callId) ?? 0
      withModel.delete(callId)
      return ms
    },
    gateway: calls,
    clear: () => times.clear(),
    parts: () => Object.fromEntries([...times].map(([part, ms]) => [part, percentiles(ms)])),
  }
}

/** The questions of a debate's first round, each about another post. */
export function opinions(environment: Readonly<Record<string, string | undefined>>): Generator<Ask> {
  const all = firstRounds({ ...environment, GAVEL_PROTOCOLS_RUMOR_STANCE: 'false' }, ({ stage }) => stage === 'opinion')
  return numbered(first(all, DIFFERENT))
}

/** Each time another question, of a few: thousands of them, made beforehand, would be the work of the garbage collector. */
function* numbered(asks: readonly Ask[]): Generator<Ask> {
  for (let count = 0; ; count++) {
    const ask = asks[count % asks.length]
    if (ask === undefined) throw new OperatorError('There is nothing to ask.')
    const [firstMessage, ...others] = ask.messages
    yield {
      ...ask,
      messages: [{ role: 'system', content: `Question ${count}.` }, ...(firstMessage ? [firstMessage] : []), ...others],
    }
  }
}

/** The scoring of twenty comments, each time others. */
function batches(environment: Readonly<Record<string, string | undefined>>): Generator<Ask> {
  return firstRounds(environment, ({ batch }) => batch !== undefined)
}

function* firstRounds(
  environment: Readonly<Record<string, string | undefined>>,
  wanted: (ask: Ask) => boolean,
): Generator<Ask> {
  const { protocols, fences: fencing } = loadSettings({
    ...environment,
    GAVEL_PROTOCOLS_RUMOR_PRESET: 'none',
    GAVEL_PROTOCOLS_RUMOR_PROMPT_KIND: 'objective',
    GAVEL_PROTOCOLS_RUMOR_BATCH_SIZE: String(COMMENTS),
  })
  const rumor = makeProtocols(protocols, fences('bench', fencing), samplingRanks('bench')).find(
    ({ name }) => name === 'rumor',
  )
  if (rumor === undefined)
    throw new OperatorError('The settings switch off the rumor protocol, whose questions are asked here.')
  for (let thread = 0; ; thread++) {
    const own = (id: string) => ({
      id,
      text: `${sentence(thread * 31 + Number(id), 20)} ${thread}/${id}`,
      author: `a${id}`,
      createdAt: 0,
    })
    const comments = Array.from({ length: COMMENTS }, (_, at) => own(String(at + 1)))
    const step = rumor.script({ post: own('0'), comments, leftOut: 0 }, null).next()
    const asks = step.done ? [] : step.value.filter(wanted)
    if (asks.length === 0) throw new OperatorError('The rumor protocol does not begin with the questions asked here.')
    yield* asks
  }
}

function first<Value>(values: Iterable<Value>, count: number): Value[] {
  const some: Value[] = []
  for (const value of values) {
    if (some.length >= count) break
    some.push(value)
  }
  return some
}

function requestOf(ask: Ask, signal: AbortSignal): ModelRequest {
  const { stage, temperature, maxTokens, answer } = ask
  const messages = withFormat(ask)
  const asked = { model: 'bench', temperature, maxTokens, answer: { name: stage, schema: jsonSchema(answer) } }
  return { ...asked, messages, callId: randomUUID(), timeoutMs: 60_000, signal }
}

/** A process of its own, and the first thing it says. */
export async function startBeside(name: string, args: readonly string[], signal: AbortSignal) {
  const file = join(import.meta.dirname, `${name}${import.meta.filename.slice(-3)}`)
  const child = fork(file, args, { execArgv: nodeFlags() })
  const said = await new Promise<unknown>((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new OperatorError(`The bench's ${name} ended with ${code}.`)))
    signal.addEventListener('abort', () => reject(STOPPED), { once: true })
  })
  return { child, said }
}

const STOPPED = new OperatorError('Stopped before the end.')

/** Sends whenever a call is due, whatever became of those before. */
async function openLoop(
  arrivals: ChildProcess,
  asks: Ask[],
  perSecond: number,
  seconds: number,
  send: Send,
  signal: AbortSignal,
): Promise<Phase> {
  const seen: { whole: number; model: number; late: number }[] = []
  const failed: unknown[] = []
  const running = new Set<Promise<void>>()
  const cpu = process.cpuUsage()
  await new Promise<void>((resolve, reject) => {
    const ended = () => {
      arrivals.off('message', arrived)
      signal.removeEventListener('abort', stop)
    }
    const stop = () => {
      ended()
      reject(STOPPED)
    }
    const arrived = (due: number | null) => {
      const ask = due === null ? undefined : asks.pop()
      if (due === null || ask === undefined) {
        ended()
        return resolve()
      }
      const late = monotonic() - due
      const one = send(ask)
        .then((model) => void seen.push({ whole: monotonic() - due, model, late }))
        .catch((error: unknown) => {
          failed.push(error)
          reject(error)
        })
        .finally(() => running.delete(one))
      running.add(one)
    }
    arrivals.on('message', arrived)
    signal.addEventListener('abort', stop, { once: true })
    arrivals.send({ perSecond, seconds })
  })
  await Promise.all(running)
  // Those that failed when no more was due.
  if (failed.length > 0) throw failed[0]
  const { user, system } = process.cpuUsage(cpu)
  return {
    calls: seen.length,
    wholeMs: percentiles(seen.map(({ whole }) => whole)),
    overheadMs: percentiles(seen.map(({ whole, model }) => whole - model)),
    lateMs: percentiles(seen.map(({ late }) => late)),
    cpuMs: round((user + system) / 1000 / Math.max(1, seen.length)),
  }
}

/** ms of a clock that all processes of the machine share. */
function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
