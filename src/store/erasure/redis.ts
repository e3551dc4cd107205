import type { Redis } from 'ioredis'
import { z } from 'zod'
import { RetryLaterError } from '../../contracts/facts/errors.ts'
import { SUBJECT_KINDS, type ThreadRef } from '../../contracts/facts/thread.ts'
import type { DeletedOwners, Erasures, ExposedCase, WaitingErasures } from '../../contracts/ports/erasures.ts'
import { ownerOf } from '../../shelves/names.ts'
import { connect, type RedisSettings } from '../redis/connect.ts'
import { type Keys, keysUnder } from '../redis/keys.ts'
import { script } from '../redis/script.ts'

const QUEUES = ['owners', 'shelfErasures', 'caseErasures'] as const

const noteDeleted = script('erasure/note', { keys: [...QUEUES, 'shown'], args: ['owner'] })
const shelvesErased = script('erasure/shelves-erased', { keys: QUEUES, args: ['erased[].owner', 'erased[].owned'] })
const casesCleaned = script('erasure/cases-cleaned', {
  keys: ['owners', 'caseErasures', 'shown'],
  args: ['owner', 'cases[]'],
})
const expire = script('erasure/expire', { keys: QUEUES, args: ['keep', 'limit'] })
const release = script('erasure/release', { keys: ['withheld', 'casePrefix'], args: ['limit'] })
const lead = script('erasure/lead', { keys: ['eraser'], args: ['name', 'lease'] })

/** Owners looked at in one step when they expire, or all of them are read: few enough not to block Redis. */
const OWNERS_AT_ONCE = 1_000

const shownCase = z.object({
  ref: z.object({ tenant: z.string(), postId: z.string(), kind: z.enum(SUBJECT_KINDS) }),
  protocol: z.string(),
  caseId: z.string(),
})

/** The keys of what a deletion notes, for the scripts that note it. */
export function erasureKeys(keys: Keys, subject: ThreadRef) {
  const owner = ownerOfThread(subject)
  return { ...queueKeys(keys), shown: keys.shown(owner), owner }
}

export function queueKeys({ deletedOwners, shelfErasures, caseErasures }: Keys) {
  return { owners: deletedOwners, shelfErasures, caseErasures }
}

function ownerOfThread({ tenant, postId, kind }: ThreadRef): string {
  return ownerOf({ tenant, id: postId, kind })
}

/** A case as the set of those that were shown something has it: always the same for the same case. */
export function shownMember({ ref: { tenant, postId, kind }, protocol, caseId }: ExposedCase): string {
  return JSON.stringify({ ref: { tenant, postId, kind }, protocol, caseId })
}

/** What waits to be erased, in Redis. */
export function redisErasures(client: Redis, keys: Keys): Erasures {
  const queues = queueKeys(keys)

  async function waitingIn(queue: string): Promise<WaitingErasures> {
    const [count, first] = await Promise.all([client.zcard(queue), client.zrange(queue, '0', '0', 'WITHSCORES')])
    const at = z.tuple([z.string(), z.coerce.number()]).safeParse(first.flat())
    return { count, oldest: at.success ? at.data[1] : null }
  }

  return {
    async deletedAmong(owners) {
      if (owners.length === 0) return new Set()
      const scores = await client.zmscore(keys.deletedOwners, ...owners)
      return new Set(owners.filter((_, at) => scores[at] !== null))
    },
    async *deletedOwners() {
      let cursor = '0'
      do {
        const [next, read] = await client.zscan(keys.deletedOwners, cursor, 'COUNT', OWNERS_AT_ONCE)
        yield read.filter((_, at) => at % 2 === 0)
        cursor = next
      } while (cursor !== '0')
    },
    async note(subject) {
      await noteDeleted(client, erasureKeys(keys, subject))
    },
    lead: async (what, name, leaseMs) =>
      (await lead(client, { eraser: keys.eraser(what), name, lease: leaseMs })) === 1,
    async knowsShelves(holds) {
      if (!holds) return (await client.exists(keys.library)) === 0
      await client.set(keys.library, 1)
      return true
    },
    onShelves: (limit, skip = 0) => client.zrange(keys.shelfErasures, String(skip), String(skip + limit - 1)),
    async shelvesErased(owners, owned) {
      if (owners.length === 0) return
      await shelvesErased(client, { ...queues, erased: owners.map((owner) => ({ owner, owned: owned.has(owner) })) })
    },
    inCases: (limit) => client.zrange(keys.caseErasures, '0', String(limit - 1)),
    async shownTo(owner, limit) {
      const cases = await client.zrange(keys.shown(owner), '0', String(limit - 1))
      return cases.map((json) => shownCase.parse(JSON.parse(json)))
    },
    async casesCleaned(owner, cases) {
      const { owners, caseErasures } = queues
      const given = { owners, caseErasures, shown: keys.shown(owner), owner, cases: cases.map(shownMember) }
      return z.number().parse(await casesCleaned(client, given))
    },
    async release(limit) {
      return z
        .array(z.string())
        .parse(await release(client, { withheld: keys.withheld, casePrefix: keys.case(''), limit }))
    },
    async expire(keepMs) {
      while (Number(await expire(client, { ...queues, keep: keepMs, limit: OWNERS_AT_ONCE })) >= OWNERS_AT_ONCE);
    },
    async waiting() {
      const [shelves, cases] = await Promise.all([waitingIn(keys.shelfErasures), waitingIn(keys.caseErasures)])
      return { shelves, cases }
    },
  }
}

/**
 * What Redis knows of deletions, for commands on the library; connects when it is first asked. Where no Redis is set nothing is
 * known. Throws a `RetryLaterError` if one is set and does not answer: deleted words must be neither shown nor written again.
 */
export function knownDeletions({
  redis,
}: {
  readonly redis: RedisSettings & { readonly prefix: string }
}): DeletedOwners & { close(): Promise<void> } {
  const isSet = redis.url !== '' || redis.cluster.length > 0 || redis.sentinels.length > 0
  let client: Redis | null = null
  return {
    async deletedAmong(owners) {
      if (!isSet || owners.length === 0) return new Set()
      client ??= connect(redis, () => {}, 'fail-fast')
      try {
        return await redisErasures(client, keysUnder(redis.prefix)).deletedAmong(owners)
      } catch (cause) {
        throw new RetryLaterError('library', 'Redis does not answer, which knows what was deleted', { cause })
      }
    },
    close: async () => client?.disconnect(),
  }
}
