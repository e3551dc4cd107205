import { randomBytes } from 'node:crypto'
import { loadSettings } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { gatewaySettings } from '../../app/composition/gateway.ts'
import type { Ask } from '../../contracts/facts/ask.ts'
import type { ModelCall } from '../../contracts/facts/case.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Model } from '../../contracts/ports/model.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { askContext } from '../../models/context.ts'
import { gateway } from '../../models/gateway.ts'
import { limitSettings } from '../../models/time-limits.ts'
import { budgetSettings } from '../../operations/capacity.ts'
import { redisBudgets } from '../../store/budget/redis.ts'
import { redisLimits } from '../../store/limit/redis.ts'
import { redisMemo } from '../../store/memo/redis.ts'
import type { connect } from '../../store/redis/connect.ts'
import { keysUnder } from '../../store/redis/keys.ts'
import { percentiles } from './percentiles.ts'

/** A bound that nothing reaches. */
const PLENTY = 1_000_000_000

/** The user's settings with every budget, limit and the memo on, and none of them low enough to refuse a call. */
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

/**
 * A gateway over `client` and Redis, under keys of its own, that times each step that goes to Redis. `ask` resolves to the
 * model's time in ms, and throws an OperatorError unless the ask took exactly one call.
 */
export function timedGateway(redis: ReturnType<typeof connect>, settings: Settings, client: Model, report: Report) {
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
    memo: timed('memo', redisMemo(redis, keys.under), ['lookUp', 'keep']),
    limits: timed(
      'limits',
      redisLimits(redis, (name) => keys.under(`limits:${name}`), limitSettings(settings)),
      ['reserve', 'settle'],
    ),
    budgets: timed('budgets', redisBudgets(redis, keys.under, budgetSettings(settings)), ['reserve', 'settle']),
    settings: gatewaySettings(settings, 'bench', { defersInOutage: true }),
    clock: Date.now,
    report,
  })
  let asked = 0
  return {
    async ask(ask: Ask): Promise<number> {
      const id = String(asked++)
      const made: ModelCall[] = []
      const settled = await calls.ask(
        askContext({
          ask,
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
        }),
      )
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
