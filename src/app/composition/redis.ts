import type { Settings } from '../../../config/schema.ts'
import { OperatorError } from '../../contracts/facts/errors.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { limitSettings } from '../../models/time-limits.ts'
import { budgetSettings } from '../../operations/capacity.ts'
import { closable } from '../../operations/closable.ts'
import { keepTimes } from '../../operations/keep-times.ts'
import { TOLD_MS } from '../../operations/publication-gate.ts'
import { redisBudgets } from '../../store/budget/redis.ts'
import { redisLimits } from '../../store/limit/redis.ts'
import { redisMemo } from '../../store/memo/redis.ts'
import { redisClosure } from '../../store/outbox/redis-closure.ts'
import { redisFindings, refusalFor } from '../../store/redis/checks.ts'
import { redisClock } from '../../store/redis/clock.ts'
import { checkRedis, connect } from '../../store/redis/connect.ts'
import { redisExporter } from '../../store/redis/exporter.ts'
import { checkSchema, raiseForm, redisIncarnation } from '../../store/redis/incarnation.ts'
import { keysUnder } from '../../store/redis/keys.ts'
import { sentinelWatch } from '../../store/redis/sentinel-watch.ts'
import { secretOf } from '../../store/redis/shared-key.ts'
import { redisStores } from '../../store/redis-stores.ts'
import { keptImages } from '../../store/thread/redis.ts'
import { type GatewayStores, sparingMemo } from './gateway.ts'
import { verdictForm } from './verdict-form.ts'

/**
 * Redis for the service, and the stores in it: one fail-fast connection for intake, and retrying ones for the parts that
 * process accepted messages. Throws an `OperatorError` if Redis is not reachable, or would lose data.
 */
export function redisPart(settings: Settings, report: Report) {
  return closable(async (keep) => {
    const open = (kind: 'retrying' | 'fail-fast') => {
      const client = connect(settings.redis, report, kind)
      keep({ close: async () => client.disconnect() })
      return client
    }
    const [failFast, working, blocking] = [open('fail-fast'), open('retrying'), open('retrying')]
    await checkRedis(failFast, settings.redis)
    const findings = await redisFindings(failFast, settings.redis)
    const refusal = refusalFor(findings)
    if (refusal !== null) throw new OperatorError(refusal)
    const time = redisClock(failFast)
    await time.sync()
    const keys = keysUnder(settings.redis.prefix)
    await checkSchema(failFast, keys)
    const { schema } = settings.verdicts
    if (schema === 2) await raiseForm(failFast, keys)
    const incarnation = redisIncarnation(failFast, keys, schema)
    const sentinels = keep(sentinelWatch(settings.redis))
    const secret = () => secretOf(failFast, keys, settings.fences.key, report)
    const clients = { failFast, working, blocking }
    const stores = redisStores(clients, keys, keepTimes(settings), time.now, {
      token: incarnation.token,
      report,
      subscribe: () => connect(settings.redis, report, 'retrying'),
    })
    keep(stores.answers)
    return {
      ...clients,
      keys,
      time,
      incarnation,
      sentinels,
      secret,
      findings,
      find: () => redisFindings(failFast, settings.redis),
      exporter: redisExporter(failFast, keys),
      closure: redisClosure(failFast, keys, incarnation.token, TOLD_MS),
      ...stores,
    }
  })
}
export type RedisPart = Awaited<ReturnType<typeof redisPart>>

/**
 * Redis for a command, on one fail-fast connection, and the service's time: the clock of the machine that the command runs on may be
 * wrong. Throws an `OperatorError` if Redis is not reachable. */
export function commandRedis(settings: Settings) {
  return closable(async (keep) => {
    const client = connect(settings.redis, () => {}, 'fail-fast')
    keep({ close: async () => client.disconnect() })
    await checkRedis(client, settings.redis)
    const time = redisClock(client)
    await time.sync()
    const keys = keysUnder(settings.redis.prefix)
    const writes = verdictForm(settings, await checkSchema(client, keys))
    const clients = { failFast: client, working: client, blocking: client }
    return { client, keys, time, writes, ...redisStores(clients, keys, keepTimes(settings), time.now) }
  })
}

/** The gateway's stores in Redis, shared by all processes. */
export function redisGatewayStores(
  settings: Settings,
  { working, keys }: Pick<RedisPart, 'working' | 'keys'>,
  now = () => settings,
  isFilling = () => false,
): GatewayStores {
  return {
    memo: sparingMemo(redisMemo(working, keys.under), isFilling),
    limits: redisLimits(working, (name) => keys.under(`limits:${name}`), limitSettings(settings), keys.case('')),
    budgets: redisBudgets(working, keys.under, budgetSettings(settings, now)),
    keptImage: keptImages(working, keys),
  }
}
