import { randomUUID } from 'node:crypto'
import type { Ask } from '../../contracts/facts/ask.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { ModelRequest } from '../../contracts/ports/model.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { jsonSchema, withFormat } from '../../models/format.ts'
import { openAiServer } from '../../models/openai/model.ts'
import { connect } from '../../store/redis/connect.ts'
import { type CallSender, openLoop, type Phase } from './open-loop.ts'
import type { Percentiles } from './percentiles.ts'
import { batches, COMMENTS, first, opinions } from './questions.ts'
import { startProcess } from './start-process.ts'
import { settingsFor, timedGateway } from './timed-gateway.ts'

export interface GatewayPlan {
  /** Calls a second, at random times; none waits for another to end. */
  readonly rate: number
  /** Length of each phase, in seconds. */
  readonly seconds: number
  /** How long the model takes for a call. */
  readonly latencyMs: number
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
  /** Through the gateway with one question a call: opinions of rumor debates. */
  readonly gateway: GatewayPhase
  /** The same with twenty questions a call, the stances of comments, at a twentieth of the rate; the memo keeps each by itself. */
  readonly batches: GatewayPhase
}

/**
 * Calls before anything is measured, while connections open and V8 optimizes the code, which takes some ten seconds at 200
 * calls a second: until then a call's memory lives longer, and garbage collections take twice as long.
 */
const WARM_UP_SECONDS = 15

/**
 * Measures what the gateway adds to a call that passes through all of it: the memo (which knows no answer), budgets, limits,
 * breaker, slots and the reading of the answer, on the Redis of the settings. The load is open-loop, and each call's time
 * counts from when it was due, so that a slow call can't hide the delay of those behind it. Throws an OperatorError if the
 * gateway reports an error, or if `signal` stops it.
 */
export async function gatewayBench(
  environment: Readonly<Record<string, string | undefined>>,
  plan: GatewayPlan,
  { say, signal }: { say: (line: string) => void; signal: AbortSignal },
): Promise<GatewayReport> {
  const settings = settingsFor(environment)
  const server = await startProcess('model-server', [String(plan.latencyMs)], signal)
  const { child: arrivals } = await startProcess('arrivals', [], signal)
  const errors: unknown[] = []
  const report: Report = (name, event) => {
    if (name === 'error' && 'error' in event) errors.push(event.error)
  }
  const redis = connect(settings.redis, report, 'retrying')
  try {
    const client = openAiServer({
      baseUrl: `http://127.0.0.1:${server.said}/v1`,
      apiKey: 'bench',
      answerFormat: 'json_schema',
    })
    const through = timedGateway(redis, settings, client, report)
    const { rate, seconds, latencyMs } = plan
    const phase = async (name: string, asks: Iterable<Ask>, perSecond: number, send: CallSender) => {
      say(`${name}: ${perSecond} calls a second for ${seconds} s …`)
      // Made beforehand: writing the questions is the protocol's work, and is not measured.
      const ready = first(asks, Math.ceil(perSecond * (seconds + WARM_UP_SECONDS) * 1.2))
      await openLoop(arrivals, ready, perSecond, WARM_UP_SECONDS, send, signal)
      through.clear()
      const measured = await openLoop(arrivals, ready, perSecond, seconds, send, signal)
      const { p50, p95 } = measured.overheadMs
      say(
        `${name}: ${measured.calls} calls, overhead p50 ${p50} ms, p95 ${p95} ms, ${measured.cpuMs} ms of processor each`,
      )
      return measured
    }
    const plain = await phase('the plain client', opinions(environment), rate, async (ask) => {
      await client.complete(requestOf(ask, signal))
      return latencyMs
    })
    const single = await phase('through the gateway', opinions(environment), rate, through.ask)
    const parts = through.parts()
    const batched = await phase('batches through the gateway', batches(environment), rate / COMMENTS, through.ask)
    const [error] = errors
    if (error !== undefined) throw new OperatorError(`The bench met ${errors.length} errors; first: ${error}`)
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

function requestOf(ask: Ask, signal: AbortSignal): ModelRequest {
  const { stage, temperature, maxTokens, answer } = ask
  const messages = withFormat(ask)
  const asked = { model: 'bench', temperature, maxTokens, answer: { name: stage, schema: jsonSchema(answer) } }
  return { ...asked, messages, callId: randomUUID(), timeoutMs: 60_000, signal }
}
