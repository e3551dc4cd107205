import type { Redis } from 'ioredis'
import { z } from 'zod'
import { COMMENT_CHARACTERS } from '../../contracts/facts/thread.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { TOMBSTONE } from '../../judging/threads/thread-bytes.ts'
import { NO_FENCING } from '../redis/incarnation.ts'
import { type Keys, memberOf } from '../redis/keys.ts'
import { pairs, script } from '../redis/script.ts'
import { threadAsked } from './redis-asked.ts'
import type { ThreadContext } from './redis-context.ts'
import { threadErasure } from './redis-erasure.ts'
import { threadIntake } from './redis-intake.ts'
import { threadOpening } from './redis-opening.ts'
import { outlineOf, stateOf } from './redis-state.ts'

const outline = script('thread/outline', { keys: ['thread', 'comments'], args: ['tombstone'] })
const head = script('thread/head', { keys: ['thread'], args: [] })
const outlined = z.tuple([z.array(z.string()), z.number()])
const heldBy = script('thread/held-by', { keys: ['kept'], args: ['tenant', 'now'] })
const tenantsOver = script('thread/tenants-over', { keys: ['kept'], args: ['bytes', 'limit', 'now'] })

/** Most tenants that are named at a time. */
const TENANTS_AT_ONCE = 100

/** The images that are kept beside their posts. */
export function keptImages(client: Redis, keys: Keys): ThreadStore['keptImage'] {
  return async (ref, hash) => {
    const image = await client.hget(keys.images(memberOf(ref)), hash)
    // What was on a list has left its hashes there (src/store/veto/drop.lua).
    return image?.startsWith('{') === true ? null : image
  }
}

/** Threads in Redis: one hash for the thread, one for its comments, a sorted set that bounds the sample. */
export function redisThreads(
  client: Redis,
  keys: Keys,
  settings: ThreadContext['settings'],
  token: ThreadContext['token'] = NO_FENCING,
): ThreadStore {
  const context: ThreadContext = { client, keys, settings, token }
  return {
    ...threadIntake(context),
    ...threadOpening(context),
    ...threadErasure(context),
    ...threadAsked(context),
    async read(ref) {
      const member = memberOf(ref)
      const [fields, said] = await Promise.all([
        client.hgetall(keys.thread(member)),
        client.hgetall(keys.comments(member)),
      ])
      return stateOf(ref, fields, said)
    },
    async head(ref) {
      const read = z.array(z.string()).parse(await head(client, { thread: keys.thread(memberOf(ref)) }))
      return stateOf(ref, Object.fromEntries(pairs(read)), {})
    },
    async outline(ref) {
      const member = memberOf(ref)
      const [thread, comments] = [keys.thread(member), keys.comments(member)]
      const asked = await outline(client, { thread, comments, tombstone: TOMBSTONE.length })
      const [read, kept] = outlined.parse(asked)
      return outlineOf(ref, Object.fromEntries(pairs(read)), kept)
    },
    async weigh(ref) {
      const member = memberOf(ref)
      const [comments, post, share] = await Promise.all([
        client.hlen(keys.comments(member)),
        client.hstrlen(keys.thread(member), 'post'),
        client.hget(keys.thread(member), 'share'),
      ])
      return { weight: comments + post / COMMENT_CHARACTERS, share: share ?? member }
    },
    keptImage: keptImages(client, keys),
    heldBy: async (tenant, now) => z.number().parse(await heldBy(client, { kept: keys.kept, tenant, now })),
    async tenantsOver(bytes, now) {
      const over = await tenantsOver(client, { kept: keys.kept, bytes, limit: TENANTS_AT_ONCE, now })
      return z.array(z.string()).parse(over)
    },
    async statusOf(ref) {
      const thread = keys.thread(memberOf(ref))
      const [there, [deleted, unrouted, postOnly]] = await Promise.all([
        client.exists(thread),
        client.hmget(thread, 'deleted', 'unrouted', 'postOnly'),
      ])
      if (there === 0) return null
      const has = (field: string | null | undefined) => (field ?? null) !== null
      return has(deleted) ? 'deleted' : has(unrouted) ? 'unrouted' : has(postOnly) ? 'post-only' : 'threaded'
    },
  }
}
