import type { Settings } from '../../config/schema.ts'
import { redisBudgets } from '../adapters/redis/budgets.ts'
import { redisLimits } from '../adapters/redis/limits.ts'
import { redisMemo } from '../adapters/redis/memo.ts'
import { budgetSettings, type GatewayStores, limitLeaseMs } from './gateway.ts'
import type { RedisPart } from './redis.ts'

/** The gateway's stores in Redis, shared by all processes. */
export function redisGatewayStores(
  settings: Settings,
  { working, keys }: Pick<RedisPart, 'working' | 'keys'>,
): GatewayStores {
  return {
    memo: redisMemo(working, keys.under),
    limits: redisLimits(working, (name) => keys.under(`limits:${name}`), { leaseMs: limitLeaseMs(settings) }),
    budgets: redisBudgets(working, keys.under, budgetSettings(settings)),
  }
}
