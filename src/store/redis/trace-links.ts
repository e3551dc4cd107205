import type { Redis } from 'ioredis'
import type { TraceLinks } from '../../contracts/ports/traces.ts'
import { type Keys, memberOf } from './keys.ts'

/** Most contexts that are kept of a subject, the newest: a case links to no more. */
const MOST = 32

/** Trace contexts in Redis: a list for each subject, the newest first, kept for `keepMs` after the last. */
export function redisTraceLinks(client: Redis, keys: Keys, keepMs: number): TraceLinks {
  const keyOf = (ref: Parameters<TraceLinks['read']>[0]) => keys.traces(memberOf(ref))
  return {
    async note(of) {
      if (of.size === 0) return
      const commands = client.multi()
      for (const [ref, contexts] of of) {
        const key = keyOf(ref)
        commands
          .lpush(key, ...contexts.slice(-MOST))
          .ltrim(key, 0, MOST - 1)
          .pexpire(key, keepMs)
      }
      await commands.exec()
    },
    // A message that was read twice left its own twice.
    read: async (ref) => [...new Set(await client.lrange(keyOf(ref), 0, -1))],
    async forget(ref) {
      await client.del(keyOf(ref))
    },
  }
}
