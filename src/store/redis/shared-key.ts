import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'
import { samplingKeyVersion, samplingRanks } from '../../contracts/facts/sampling-rank.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { Keys } from './keys.ts'

/**
 * The secret key of fences and sampling: the one from the settings, else a random one that the first process generates
 * and all processes on this Redis share. Reports if none was set, since a generated key is lost with Redis's data, and
 * if the sampling key differs from that of the process that started last.
 */
export async function secretOf(redis: Redis, keys: Keys, set: string, report: Report): Promise<string> {
  const secret = set || (await sharedKey(redis, keys.fence))
  if (set === '')
    report('key:unset', {
      advice:
        'fences.key is not set: using a generated key stored in Redis, which is lost if Redis loses its data, and with it what "gavel erase" finds a person by; set GAVEL_FENCES_KEY',
    })
  const version = samplingKeyVersion(samplingRanks(secret))
  const before = await redis.getset(keys.samplingVersion, version)
  if (before !== null && before !== version)
    report('key:changed', {
      advice: 'the sampling key has changed: open threads are sampled under both keys, and their verdicts name that',
    })
  return secret
}

/**
 * The same for a command that starts no service: nothing is written. Without any key there are no threads that it could be for.
 * Reports if the process that started last had another sampling key.
 */
export async function knownSecretOf(redis: Redis, keys: Keys, set: string, report: Report = () => {}): Promise<string> {
  const [generated, last] = await redis.mget(keys.fence, keys.samplingVersion)
  const secret = set || (generated ?? 'no service has started yet')
  if (typeof last === 'string' && last !== samplingKeyVersion(samplingRanks(secret)))
    report('key:changed', {
      advice: 'the service last started with another sampling key: set GAVEL_FENCES_KEY here as it is set there',
    })
  return secret
}

async function sharedKey(redis: Redis, name: string): Promise<string> {
  const fresh = randomBytes(32).toString('hex')
  await redis.set(name, fresh, 'NX')
  return (await redis.get(name)) ?? fresh
}
