import { randomBytes } from 'node:crypto'
import type { Redis } from 'ioredis'

/** A secret that every process on this Redis shares: the first one makes it. */
export async function sharedKey(redis: Redis, name: string): Promise<string> {
  const fresh = randomBytes(32).toString('hex')
  await redis.set(name, fresh, 'NX')
  return (await redis.get(name)) ?? fresh
}
