import type { Redis } from 'ioredis'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { TraceLinks } from '../../contracts/ports/traces.ts'
import { type Keys, memberOf } from './keys.ts'
import { script } from './script.ts'

/** Most contexts that are kept of a subject, the newest: a case links to no more. */
const NEWEST = 32

const noteLinks = script('redis/note-links', {
  keys: ['traces'],
  args: ['member', 'contexts[]', 'newest', 'keep', 'now', 'most'],
})

/** Trace contexts in Redis: a list for each subject, the newest first, kept for `keepMs` after the last. */
export function redisTraceLinks(client: Redis, keys: Keys, keepMs: number, clock: Clock): TraceLinks {
  const keep = (ref: ThreadRef, contexts: readonly string[], most: number | null) => {
    const member = memberOf(ref)
    const given = { traces: keys.traces(member), member, contexts, newest: NEWEST, keep: keepMs, now: clock() }
    return noteLinks(client, { ...given, most: most ?? '' })
  }
  return {
    async note(of, most) {
      await Promise.all([...of].map(([ref, contexts]) => keep(ref, contexts.slice(-NEWEST), most)))
    },
    // A message that was read twice left its own twice.
    read: async (ref) => [...new Set(await client.lrange(keys.traces(memberOf(ref)), 0, -1))],
    async forget(ref) {
      await keep(ref, [], null)
    },
  }
}
