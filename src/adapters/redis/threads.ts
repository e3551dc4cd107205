import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { OUTCOMES } from '../../domain/messages.ts'
import { byTimeThenId, type Comment, comment, post } from '../../domain/thread.ts'
import {
  type CommentChange,
  type Place,
  type StreamMarks,
  TENANT_SHARE,
  type ThreadState,
  type ThreadStore,
} from '../../ports/threads.ts'
import { type Keys, memberOf, PUBLISHERS, refOf } from './keys.ts'
import type { Stamp } from './lineage.ts'
import { pairs } from './pairs.ts'
import { scriptsOn } from './scripts.ts'

const outcome = z.enum(OUTCOMES)
const keptComment = comment.omit({ id: true })
const origin = z.object({
  topic: z.string(),
  partition: z.number(),
  offset: z.string(),
  // Earlier versions did not say.
  timestamp: z.number().default(0),
  raw: z.string(),
  bytes: z.number().optional(),
})
const wokenReply = z.tuple([z.number(), z.number()])
const TOMBSTONE = '{}'
const UNBOUNDED = 1e15
/** A deletion begins anew where a revision was opened meanwhile; more often than this, something else is wrong. */
const DELETE_TRIES = 100
/** Of a deleted thread so many of its latest revisions' cases and journals are erased; those before have expired long since. */
const ERASED_REVISIONS = 1_000
/** Of so many of a thread's latest revisions the cases may not have expired yet since they were published. */
const PUBLISHED_KEPT = 100
/** Orphans that expire in one step, and such steps in a row; of what is left the thread stays due. */
const EXPIRED_AT_ONCE = 500
const EXPIRY_STEPS = 100
/** Threads woken in one step: long enough to be quick, short enough not to hold up Redis. */
const WOKEN_AT_ONCE = 500

/** Threads in Redis: one hash for the thread, one for its comments, a sorted set that keeps the sample small. */
export function redisThreads(
  client: Redis,
  keys: Keys,
  settings: { keepTombstoneMs: number; keepThreadMs: number },
  stamp: () => Stamp = () => ['', 0, ''],
): ThreadStore {
  const scripts = scriptsOn(client)

  const store: ThreadStore = {
    async putPost(ref, value, put, rules) {
      const member = memberOf(ref)
      return outcome.parse(
        await scripts.putPost(
          keys.thread(member),
          keys.due,
          keys.orphans(member),
          keys.comments(member),
          keys.sample(member),
          keys.revisions(member),
          keys.authors(member),
          keys.lineage,
          member,
          JSON.stringify(value),
          value.createdAt,
          put.firstDue,
          put.now,
          rules.window,
          rules.counts.join(','),
          put.threaded ? 1 : 0,
          put.atOnce ? 1 : 0,
          settings.keepTombstoneMs,
          placeOf(put.place),
        ),
      )
    },

    async putComments(ref, changes, now, rules) {
      const member = memberOf(ref)
      const given = await scripts.putComments(
        keys.thread(member),
        keys.comments(member),
        keys.sample(member),
        keys.due,
        keys.orphans(member),
        keys.authors(member),
        keys.revisions(member),
        member,
        now,
        rules.window,
        rules.cap,
        rules.perAuthor ?? '',
        rules.reopen ? 1 : 0,
        rules.orphanWait,
        rules.counts.join(','),
        rules.samplingKeyVersion,
        ...changes.flatMap((change) => argumentsOf(change, (id) => rules.rank(ref, id))),
      )
      return z.array(outcome).length(changes.length).parse(given)
    },

    async deletePost(ref, retraction) {
      const member = memberOf(ref)
      for (let tries = 0; tries < DELETE_TRIES; tries++) {
        const [held, forgotten] = await Promise.all([
          client.hgetall(keys.thread(member)),
          client.hgetall(keys.revisions(member)),
        ])
        const retractions = [...lastRevisions(held, forgotten)].map(([protocol, revision]) => ({
          protocol,
          revision,
          ...retraction(protocol, revision + 1),
        }))
        const caseKeys = retractions.flatMap(({ revision, caseId }) =>
          latest(revision, ERASED_REVISIONS).flatMap((number) => {
            const id = `${caseId.slice(0, caseId.lastIndexOf('~r') + 2)}${number}`
            return [keys.case(id), keys.journal(id), keys.lost(id)]
          }),
        )
        const touched = [
          keys.thread(member),
          keys.comments(member),
          keys.sample(member),
          keys.authors(member),
          keys.due,
          keys.orphans(member),
          keys.open,
          keys.unworked,
          keys.outbox,
          keys.case(''),
          keys.revisions(member),
          keys.erased,
          ...caseKeys,
        ]
        const ended = await scripts.deletePost(
          touched.length,
          ...touched,
          member,
          settings.keepTombstoneMs,
          PUBLISHERS,
          ...retractions.flatMap(({ protocol, revision, caseId, verdict, transcript }) => [
            protocol,
            String(revision),
            caseId,
            verdict,
            transcript,
          ]),
        )
        if (ended !== 'changed') return outcome.parse(ended)
      }
      throw new Error(`the thread ${member} changes again and again while it is being deleted`)
    },

    async eraseLeft(ref, { openIds, without, caseId }) {
      const member = memberOf(ref)
      for (let tries = 0; tries < DELETE_TRIES; tries++) {
        const [held, forgotten] = await Promise.all([
          client.hgetall(keys.thread(member)),
          client.hgetall(keys.revisions(member)),
        ])
        const revisions = revisionsOf(held)
        const changes = [...revisions].flatMap(([protocol, { carry }]) => {
          const left = carry === null ? null : (without(protocol, carry) ?? null)
          if (JSON.stringify(left) === JSON.stringify(carry)) return []
          return [protocol, held[`carry:${protocol}`] ?? '', left === null ? '' : JSON.stringify(left)]
        })
        const published = [...lastRevisions(held, forgotten)].flatMap(([protocol, revision]) =>
          latest(revision, PUBLISHED_KEPT)
            .map((number) => caseId(protocol, number))
            .filter((id) => id !== revisions.get(protocol)?.openId)
            .flatMap((id) => [keys.case(id), keys.journal(id), keys.lost(id)]),
        )
        const touched = [keys.thread(member), ...published]
        const done = await scripts.eraseLeft(touched.length, ...touched, openIds.length, ...openIds, ...changes)
        if (done !== 'changed') return done === 'erased'
      }
      throw new Error(`the thread ${member} changes again and again while comments are being erased from it`)
    },

    async linkReply(post, reply) {
      const [to, from] = [memberOf(post), memberOf(reply)]
      return (await scripts.linkReply(keys.thread(to), keys.replies(to), from, settings.keepTombstoneMs)) === 1
    },
    repliesTo: async (post) => (await client.smembers(keys.replies(memberOf(post)))).map(refOf),

    async due(until, limit, maxOpen = UNBOUNDED) {
      const chosen = await scripts.takeTurns(keys.due, keys.open, scoreOf(until), limit, maxOpen, TENANT_SHARE)
      return z.array(z.string()).parse(chosen).map(refOf)
    },

    async read(ref) {
      const member = memberOf(ref)
      const [held, said] = await Promise.all([
        client.hgetall(keys.thread(member)),
        client.hgetall(keys.comments(member)),
      ])
      if (Object.keys(held).length === 0 || held.gone !== undefined || held.unrouted !== undefined) return null
      const comments = Object.entries(said)
        .filter(([, json]) => json !== TOMBSTONE)
        .map(([id, json]): Comment => ({ id, ...keptComment.parse(JSON.parse(json)) }))
        .sort(byTimeThenId)
      const state: ThreadState = {
        ref,
        post: held.post === undefined ? null : post.parse(JSON.parse(held.post)),
        comments,
        accepted: Number(held.n ?? 0),
        overAuthor: Number(held.crowd ?? 0),
        rekeyed: held.redrawn !== undefined,
        late: Number(held.late ?? 0),
        version: Number(held.v ?? 0),
        postVersion: Number(held.pv ?? 0),
        deletions: Number(held.dels ?? 0),
        base: Number(held.base ?? 0),
        // A thread that an earlier version wrote has neither: whatever is due in it is a checkpoint.
        nextAge: held.next !== undefined ? Number(held.next) : held.pv === undefined ? 0 : null,
        countStage: Number(held.stage ?? 0),
        final: held.final !== undefined,
        expired: held.expired !== undefined,
        generation: Number(held.asks ?? 0),
        observedGeneration: Number(held.answered ?? 0),
        dueSince: held.since === undefined ? null : Number(held.since),
        revisions: revisionsOf(held),
      }
      return state
    },

    async open(state, { cases, waiting, parked, absent = [], nextDue, final }) {
      const member = memberOf(state.ref)
      const opened = await scripts.openCases(
        keys.thread(member),
        keys.due,
        keys.open,
        keys.case(''),
        keys.held(''),
        keys.comments(member),
        keys.sample(member),
        keys.authors(member),
        keys.paused,
        keys.lineage,
        member,
        String(state.version),
        String(state.generation),
        nextDue === null ? '' : nextDue,
        final ? 1 : 0,
        cases[0]?.record.openedAt ?? 0,
        settings.keepThreadMs,
        waiting.join(' '),
        parked.join(' '),
        ...stamp(),
        String(state.deletions),
        absent.join(' '),
        ...cases.flatMap(({ record, seen }) => [
          record.protocol,
          record.id,
          record.revision,
          seen,
          record.final ? 1 : 0,
          JSON.stringify(record),
        ]),
      )
      return z.array(z.string()).parse(opened)
    },

    paused: async () => new Set(await client.smembers(keys.paused)),
    async pause(protocol) {
      await client.sadd(keys.paused, protocol)
    },
    async resume(protocol, now) {
      await client.srem(keys.paused, protocol)
      return store.wake(protocol, now)
    },
    async wake(protocol, now) {
      for (let total = 0; ; ) {
        const given = await scripts.resumeHeld(
          keys.held(protocol),
          keys.due,
          keys.thread(''),
          WOKEN_AT_ONCE,
          now,
          protocol,
        )
        const [looked, woken] = wokenReply.parse(given)
        total += woken
        if (looked < WOKEN_AT_ONCE) return total
      }
    },

    async expireOrphans(ref, letterOf) {
      const member = memberOf(ref)
      let total = 0
      let cursor = '0'
      for (let step = 0; step < EXPIRY_STEPS; step++) {
        const [next, some] = await client.hscan(keys.orphans(member), cursor, 'COUNT', EXPIRED_AT_ONCE)
        cursor = next
        const letters = pairs(some).map(([id, json]) => ({ id, ...letterOf(origin.parse(JSON.parse(json))) }))
        const expired = Number(
          await scripts.expireOrphans(
            keys.thread(member),
            keys.comments(member),
            keys.sample(member),
            keys.due,
            keys.orphans(member),
            keys.outbox,
            keys.authors(member),
            keys.revisions(member),
            member,
            settings.keepTombstoneMs,
            ...letters.flatMap(({ id, key, letter }) => [id, key, letter]),
          ),
        )
        // Less than none: the post has come, or the thread is gone.
        if (expired < 0) return total
        total += expired
        if (cursor === '0' && (await client.exists(keys.thread(member), keys.orphans(member))) === 0) return total
      }
      return total
    },

    countDue: async (until) => z.number().parse(await scripts.countDue(keys.due, scoreOf(until))),
  }
  return store
}

/** The numbers of the latest revisions, at most so many. */
function latest(revision: number, most: number): number[] {
  return Array.from({ length: Math.min(revision, most) }, (_, index) => revision - index)
}

/** A time as the end of a range of scores. */
function scoreOf(time: number): string {
  if (Number.isFinite(time)) return String(time)
  return time > 0 ? '+inf' : '-inf'
}

/** The number of each protocol's last revision, also where the thread is forgotten. */
function lastRevisions(held: Record<string, string>, forgotten: Record<string, string>): ReadonlyMap<string, number> {
  const last = new Map([...revisionsOf(held)].map(([protocol, { revision }]) => [protocol, revision]))
  for (const [protocol, revision] of Object.entries(forgotten))
    last.set(protocol, Math.max(last.get(protocol) ?? 0, Number(revision)))
  return last
}

function revisionsOf(held: Record<string, string>): ThreadState['revisions'] {
  const protocols = Object.keys(held).flatMap((field) => (field.startsWith('rev:') ? [field.slice(4)] : []))
  return new Map(
    protocols.map((protocol) => {
      const carry = held[`carry:${protocol}`]
      return [
        protocol,
        {
          revision: Number(held[`rev:${protocol}`]),
          seen: Number(held[`seen:${protocol}`] ?? 0),
          final: (held[`last:${protocol}`] ?? held.final) === '1',
          openId: held[`open:${protocol}`] ?? null,
          carry: carry === undefined ? null : (JSON.parse(carry) as unknown),
        },
      ]
    }),
  )
}

function argumentsOf(change: CommentChange, rank: (id: string) => number): (string | number)[] {
  const place = placeOf(change.place)
  if (change.kind === 'deleted') return ['deleted', change.id, change.createdAt, rank(change.id), '', '', place, '']
  const { id, ...kept } = change.comment
  const by = kept.author === undefined ? '' : authorHash(kept.author)
  // The scripts look for it at the beginning.
  const json = JSON.stringify(by === '' ? kept : { by, ...kept })
  return ['said', id, kept.createdAt, rank(id), json, JSON.stringify(change.origin), place, by]
}

/** Short, and without the signs that names hold. */
function authorHash(author: string): string {
  return createHash('sha256').update(author).digest('base64url').slice(0, 16)
}

function placeOf(place: Place | undefined): string {
  return place === undefined ? '' : `${place.partition} ${place.offset} ${place.timestamp}`
}

const mark = z.object({
  newest: z.number().nullable(),
  second: z.number().nullable(),
  endSince: z.number().nullable(),
  // Earlier versions did not say.
  seenAt: z.number().default(0),
})

export function redisMarks(client: Redis, keys: Keys): StreamMarks {
  return {
    async read() {
      const held = await client.hgetall(keys.marks)
      return new Map(Object.entries(held).map(([partition, json]) => [partition, mark.parse(JSON.parse(json))]))
    },
    async write(marks) {
      if (marks.size === 0) return
      await client.hset(keys.marks, Object.fromEntries([...marks].map(([key, value]) => [key, JSON.stringify(value)])))
    },
  }
}
