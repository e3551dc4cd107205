import type { Redis } from 'ioredis'
import { dialectPart } from '../../contracts/facts/dialect.ts'
import type { KeptDialects } from '../../contracts/ports/kept-dialects.ts'
import type { Keys } from '../redis/keys.ts'

/** What was found out about models, in Redis. */
export function redisDialects(client: Redis, keys: Pick<Keys, 'dialects'>): KeptDialects {
  const { dialects } = keys
  return {
    async keep(place, part) {
      if (Object.keys(part).length === 0) await client.hdel(dialects, place)
      else await client.hset(dialects, place, JSON.stringify(part))
    },
    async read() {
      const kept = Object.entries(await client.hgetall(dialects)).flatMap(([place, json]) => {
        // A later version may say more than this one can read.
        const part = dialectPart.safeParse(JSON.parse(json))
        return part.success ? [[place, part.data] as const] : []
      })
      return new Map(kept)
    },
  }
}
