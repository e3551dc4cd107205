import type { Redis } from 'ioredis'
import { z } from 'zod'
import { AUTHOR_ERASURE_WAITS, type AuthorErasure } from '../../contracts/facts/author-erasure.ts'
import { idsInCommentKey } from '../../contracts/facts/verdict-id.ts'
import type { AuthorErasures, AuthorIndex, NamedAuthor, NotedSubject } from '../../contracts/ports/authors.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { type Keys, memberOf, refOf } from '../redis/keys.ts'
import { pairs, script } from '../redis/script.ts'

/** What an author takes in Redis beside their subjects, and a subject beside its id, in bytes. */
const [AUTHOR_BYTES, SUBJECT_BYTES] = [300, 40]
/** Authors, and subjects of each, that are looked at at once; how long one run may take, in ms. */
const [AUTHORS_AT_ONCE, SUBJECTS_AT_ONCE, RUN_MS] = [20, 100, 500]

const noteWritten = script('author/note', {
  keys: ['authors', 'lookedAt'],
  args: [
    'now',
    'lookNext',
    'authorBytes',
    'subjectBytes',
    'most',
    'written[].tenant',
    'written[].author',
    'written[].member',
  ],
})
const forgetWritten = script('author/forget', {
  keys: ['authors', 'lookedAt'],
  args: ['tenant', 'author', 'authorBytes', 'subjectBytes', 'noted[].member', 'noted[].at'],
})

type AuthorKeys = Pick<
  Keys,
  'saidBy' | 'authorsLookedAt' | 'authorErasures' | 'authorErased' | 'recordKept' | 'thread' | 'comments' | 'orphans'
>

/** Who wrote what, in Redis; a subject that the store holds no more stays noted for `keepMs`: letters may bring it back. */
export function redisAuthors(client: Redis, keys: AuthorKeys, keepMs: number, clock: Clock): AuthorIndex {
  const touched = { authors: keys.saidBy, lookedAt: keys.authorsLookedAt }
  const sizes = { authorBytes: AUTHOR_BYTES, subjectBytes: SUBJECT_BYTES }

  async function forget({ tenant, author }: NamedAuthor, noted: readonly NotedSubject[]): Promise<void> {
    if (noted.length === 0) return
    const rows = noted.map(({ subject, at }) => ({ member: memberOf(subject), at }))
    await forgetWritten(client, { ...touched, ...sizes, tenant, author, noted: rows })
  }

  async function notedBefore(author: string, until: number | '+inf', limit: number): Promise<NotedSubject[]> {
    const found = await client.zrangebyscore(`${keys.saidBy}${author}`, '-inf', until, 'WITHSCORES', 'LIMIT', 0, limit)
    return pairs(found.flat().map(String)).map(([member, at]) => ({ subject: refOf(member), at: Number(at) }))
  }

  /** Whether the store holds anything of it; a comment may be in its thread alone, or wait for its post. */
  async function isHeld({ subject }: NotedSubject): Promise<boolean> {
    const { tenant, postId, kind } = subject
    if ((await client.exists(keys.thread(memberOf(subject)))) > 0) return true
    if (kind !== 'comment') return false
    const { subjectId, postId: post } = idsInCommentKey(postId)
    const thread = memberOf({ tenant, postId: post, kind: 'post' })
    const held = await Promise.all([
      client.hexists(keys.comments(thread), subjectId),
      client.hexists(keys.orphans(thread), subjectId),
    ])
    return held.some((one) => one === 1)
  }

  /** Forgets some of an author's notes on what is held no more; they are looked at again at once, or once the others may be. */
  async function tidyAuthor(name: string): Promise<void> {
    const now = clock()
    const [tenant = '', author = ''] = name.split(' ')
    const old = await notedBefore(author, now - keepMs, SUBJECTS_AT_ONCE)
    const held = await Promise.all(old.map(isHeld))
    const kept = old.filter((_, at) => held[at] === true)
    if (kept.length > 0)
      await client.zadd(`${keys.saidBy}${author}`, 'XX', ...kept.flatMap(({ subject }) => [now, memberOf(subject)]))
    if (old.length < SUBJECTS_AT_ONCE) await client.zadd(keys.authorsLookedAt, 'XX', now + keepMs, name)
    await forget(
      { tenant, author },
      old.filter((_, at) => held[at] !== true),
    )
  }

  return {
    async note(of, most = null) {
      if (of.length === 0) return
      const now = clock()
      const written = of.map(({ tenant, author, subject }) => ({ tenant, author, member: memberOf(subject) }))
      await noteWritten(client, { ...touched, ...sizes, now, lookNext: now + keepMs, most: most ?? '', written })
    },
    by: ({ author }, limit) => notedBefore(author, '+inf', limit),
    forget,
    async tidy() {
      for (const until = performance.now() + RUN_MS; performance.now() < until; ) {
        const due = await client.zrangebyscore(keys.authorsLookedAt, '-inf', clock(), 'LIMIT', 0, AUTHORS_AT_ONCE)
        if (due.length === 0) return
        await Promise.all(due.map(tidyAuthor))
      }
    },
  }
}

const erasure = z.object({
  id: z.string(),
  tenant: z.string(),
  author: z.string().optional(),
  by: z.string(),
  askedAt: z.number(),
  state: z.enum(['asked', 'sending', 'sent', 'done']),
  waitsFor: z.enum(AUTHOR_ERASURE_WAITS).nullable(),
  sent: z.number(),
  upTo: z.record(z.string(), z.string()),
  sentAt: z.number().optional(),
  doneAt: z.number().optional(),
})
const recordState = z.enum(['searched', 'clean']).nullable()

/** The erasures of authors in Redis. */
export function redisAuthorErasures(
  client: Redis,
  { authorErasures: kept, authorErased, recordKept }: AuthorKeys,
  clock: Clock,
): AuthorErasures {
  const ofRecord = (id: string) => `${id}/record`
  const read = async (id: string): Promise<AuthorErasure | null> => {
    const json = (await client.hget(kept, id)) ?? (await client.get(authorErased(id)))
    return json === null ? null : erasure.parse(JSON.parse(json))
  }
  const all = async (): Promise<AuthorErasure[]> => {
    const fields = Object.entries(await client.hgetall(kept))
    return fields.flatMap(([field, json]) => (field.includes('/') ? [] : [erasure.parse(JSON.parse(json))]))
  }
  return {
    read,
    all,
    async ask(asked, mostOpen) {
      const before = await read(asked.id)
      if (before !== null && before.state !== 'done') return before
      if (mostOpen !== undefined && (await all()).filter(({ tenant }) => tenant === asked.tenant).length >= mostOpen)
        return null
      await client.hdel(kept, ofRecord(asked.id))
      return (await client.hsetnx(kept, asked.id, JSON.stringify(asked))) === 1 ? asked : read(asked.id)
    },
    async save(one) {
      await client.hset(kept, one.id, JSON.stringify(one))
    },
    async finish(one, keepMs) {
      // If the process dies in between, it is still under way, and is finished again.
      await client.set(authorErased(one.id), JSON.stringify(one), 'PX', keepMs)
      await client.hdel(kept, one.id, ofRecord(one.id))
    },
    async noteRecord(keepMs) {
      await client.set(recordKept, clock(), 'PX', keepMs)
    },
    hasRecord: async () => (await client.exists(recordKept)) > 0,
    recordOf: async (id) => recordState.parse(await client.hget(kept, ofRecord(id))),
    async saveRecord(id, state) {
      await client.hset(kept, ofRecord(id), state)
    },
  }
}
