import type { Settings } from '../../../config/schema.ts'
import { memoryUse, pauseShare } from '../../store/redis/memory.ts'
import type { ServiceParts } from './parts.ts'

/** How often Redis is asked how much it may hold, in ms. */
const LIMIT_MS = 10_000

/** Bytes of Redis that one tenant may hold; null where it states no limit. */
export async function tenantShare(
  { intake, shares }: Pick<Settings, 'intake' | 'shares'>,
  { redis, loops }: Pick<ServiceParts, 'redis' | 'loops'>,
): Promise<() => number | null> {
  let { most } = await memoryUse(redis.failFast)
  loops.start('store limit', LIMIT_MS, async () => {
    ;({ most } = await memoryUse(redis.failFast))
  })
  return () => (most === null ? null : most * pauseShare(intake.pauseAtMemory, most) * shares.tenant)
}
