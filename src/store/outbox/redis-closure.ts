import type { Redis } from 'ioredis'
import type { SharedClosure } from '../../contracts/ports/publication.ts'
import type { FencingToken } from '../redis/incarnation.ts'
import type { Keys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'

const tellClosed = script('outbox/tell-closed', {
  keys: ['closure', 'incarnation'],
  args: ['why', 'ms', 'incarnationId'],
})

/** Whether publication is closed, in Redis; what is told is forgotten after `toldMs`. */
export function redisClosure(client: Redis, keys: Keys, token: () => FencingToken, toldMs: number): SharedClosure {
  const { closure, incarnation } = keys
  return {
    async tell(why) {
      const { incarnationId } = token()
      await tellClosed(client, { closure, incarnation, why, ms: toldMs, incarnationId })
    },
    async withdraw() {
      await client.del(closure)
    },
    read: () => client.get(closure),
  }
}
