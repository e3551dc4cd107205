import type { Redis } from 'ioredis'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { TraceLinks } from '../../contracts/ports/traces.ts'
import { type Keys, memberOf } from './keys.ts'
import { script } from './script.ts'

/** Most contexts that are kept of a subject, the newest: a case links to no more. */
const MOST = 32

const noteLinks = script('redis/note-links', {
  keys: ['traces'],
  args: ['member', 'contexts[]', 'most', 'keep', 'now'],
})

/** Trace contexts in Redis: a list for each subject, the newest first, kept for `keepMs` after the last. */
export function redisTraceLinks(client: Redis, keys: Keys, keepMs: number, clock: Clock): TraceLinks {
  const keep = (ref: ThreadRef, contexts: readonly string[]) => {
    const member = memberOf(ref)
    const given = { traces: keys.traces(member), member, contexts, most: MOST, keep: keepMs, now: clock() }
    return noteLinks(client, given)
  }
  return {
    async note(of) {
      await Promise.all([...of].map(([ref, contexts]) => keep(ref, contexts.slice(-MOST))))
    },
    // A message that was read twice left its own twice.
    read: async (ref) => [...new Set(await client.lrange(keys.traces(memberOf(ref)), 0, -1))],
    async forget(ref) {
      await keep(ref, [])
    },
  }
}
