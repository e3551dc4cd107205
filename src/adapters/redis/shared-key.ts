import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { samplingKeyVersion, samplingRanks } from '../../domain/sampling-rank.ts'
import type { Report } from '../../ports/report.ts'
import type { Keys } from './keys.ts'

/**
 * The key of fences and draws: the one that was set, else one that every process on this Redis shares and the first one makes.
 * Reports if none was set, since that one goes with Redis, and if draws fall another way than they did here before.
 */
export async function secretOf(redis: Redis, keys: Keys, set: string, report: Report): Promise<string> {
  const secret = set || (await sharedKey(redis, keys.fence))
  if (set === '')
    report('key:unset', {
      advice:
        'fences.key is not set: the key of fences and draws is kept in Redis and lost with it; set GAVEL_FENCES_KEY',
    })
  const draw = samplingKeyVersion(samplingRanks(secret))
  const before = await redis.getset(keys.draw, draw)
  if (before !== null && before !== draw)
    report('key:changed', {
      advice:
        'draws fall another way than before: threads that run are sampled under both keys, and their verdicts say so',
    })
  return secret
}

async function sharedKey(redis: Redis, name: string): Promise<string> {
  const fresh = randomBytes(32).toString('hex')
  await redis.set(name, fresh, 'NX')
  return (await redis.get(name)) ?? fresh
}
