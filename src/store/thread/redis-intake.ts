import { z } from 'zod'
import { setAside } from '../../contracts/facts/kept-image.ts'
import { OUTCOMES } from '../../contracts/facts/messages.ts'
import { RANK_LIMIT } from '../../contracts/facts/sampling-rank.ts'
import { shareOf } from '../../contracts/facts/share.ts'
import { ORIGINS, TOMBSTONES } from '../../contracts/facts/thread.ts'
import { StoreSuspended } from '../../contracts/ports/cases.ts'
import type { CommentChange, MessagePlace, ThreadStore } from '../../contracts/ports/threads.ts'
import { storedComment } from '../../judging/threads/thread-bytes.ts'
import { TOKEN } from '../redis/incarnation.ts'
import { memberOf, threadKeys } from '../redis/keys.ts'
import { pairs, script } from '../redis/script.ts'
import type { ThreadContext } from './redis-context.ts'

// The rules are in the Lua beside this file, which these methods call.

/** The keys of a thread. */
export const THREAD = ['thread', 'comments', 'sample', 'authors', 'orphans', 'revisions'] as const

const putPost = script('thread/put-post', {
  keys: [...THREAD, 'images', 'due', 'incarnation', 'decided', 'outbox', 'early'],
  args: [
    'member',
    'post',
    'aside[].hash',
    'aside[].url',
    'createdAt',
    'share',
    'firstDue',
    'now',
    'finalAge',
    'counts[]',
    'threaded',
    'judgedAtOnce',
    'notBefore',
    'keep',
    'reachAhead',
    'protocolAhead',
    'judges',
    'story',
    'most',
    'place',
    ...TOKEN,
  ],
})
const raiseReach = script('thread/raise-reach', {
  keys: ['thread', 'early', 'due', 'incarnation'],
  args: ['member', 'reachAhead', 'keep', 'now', 'most', ...TOKEN],
})
const putComments = script('thread/put-comments', {
  keys: [...THREAD, 'images', 'due', 'incarnation', 'watched', 'decided'],
  args: [
    'member',
    'now',
    'finalAge',
    'maxComments',
    'maxPerAuthor',
    'maxUnnamed',
    'reopen',
    'orphanWait',
    'counts[]',
    'samplingVersion',
    'rankEnd',
    'tombstones',
    'mostOrigins',
    'most',
    'withOrigins',
    ...TOKEN,
    'changes[].kind',
    'changes[].id',
    'changes[].createdAt',
    'changes[].reached',
    'changes[].rank',
    'changes[].json',
    'changes[].origin',
    'changes[].place',
    'changes[].author',
  ],
})
const expireOrphans = script('thread/expire-orphans', {
  keys: [...THREAD, 'due', 'outbox'],
  args: ['member', 'keep', 'letters[].id', 'letters[].key', 'letters[].letter'],
})

const outcome = z.enum(OUTCOMES)
const stored = z.enum([...OUTCOMES, 'over-share'])
const origin = z.object({
  topic: z.string(),
  partition: z.number(),
  offset: z.string(),
  timestamp: z.number(),
  raw: z.string(),
  bytes: z.number(),
  standsFor: z.number().optional(),
})
/** Orphans that expire in one step, and the most steps in a row; if any are left the thread stays due. */
const EXPIRED_AT_ONCE = 500
const EXPIRY_STEPS = 100

/** Writes messages to threads, and expires orphans. Writing throws `StoreSuspended` if the data are not those that are known. */
export function threadIntake({
  client,
  keys,
  settings,
  token,
}: ThreadContext): Pick<ThreadStore, 'putPost' | 'raiseReach' | 'putComments' | 'expireOrphans'> {
  return {
    async putPost(ref, value, put, rules, most = null) {
      const member = memberOf(ref)
      const { post, images } = setAside(value)
      return stored.parse(
        notSuspended(
          await putPost(client, {
            ...threadKeys(keys, member),
            due: keys.due,
            incarnation: keys.incarnation,
            outbox: keys.outbox,
            early: keys.early(member),
            member,
            post: JSON.stringify(post),
            aside: images,
            createdAt: value.createdAt,
            share: shareOf(ref, value),
            firstDue: put.firstDue,
            now: put.now,
            finalAge: rules.finalAge,
            counts: rules.counts,
            threaded: put.threaded,
            judgedAtOnce: put.atOnce,
            notBefore: put.notBefore ?? '',
            keep: settings.keepTombstoneMs,
            reachAhead: put.reachAhead ?? 0,
            protocolAhead: put.protocolAhead ?? 0,
            judges: put.judges ?? 1,
            story: put.story ?? '',
            most,
            place: placeOf(put.place),
            ...token(),
          }),
        ),
      )
    },

    async raiseReach(ref, reachAhead, { keepMs, now, most = null }) {
      const member = memberOf(ref)
      const touched = {
        thread: keys.thread(member),
        early: keys.early(member),
        due: keys.due,
        incarnation: keys.incarnation,
      }
      const given = { ...touched, member, reachAhead, keep: keepMs, now, most, ...token() }
      return outcome.parse(notSuspended(await raiseReach(client, given)))
    },

    async putComments(ref, changes, now, rules, most = null) {
      const member = memberOf(ref)
      const rank = (id: string) => rules.rank(ref, id)
      const put = ({ withOrigins }: { readonly withOrigins: boolean }) =>
        putComments(client, {
          ...threadKeys(keys, member),
          due: keys.due,
          incarnation: keys.incarnation,
          watched: keys.watched(member),
          member,
          now,
          finalAge: rules.finalAge,
          maxComments: rules.maxComments,
          maxPerAuthor: rules.maxPerAuthor,
          maxUnnamed: rules.maxUnnamed,
          reopen: rules.reopen,
          orphanWait: rules.orphanWait,
          counts: rules.counts,
          samplingVersion: rules.samplingKeyVersion,
          rankEnd: RANK_LIMIT,
          tombstones: TOMBSTONES,
          mostOrigins: ORIGINS,
          most,
          withOrigins,
          ...token(),
          changes: changes.map((change) => changeOf(change, rank, withOrigins)),
        })
      const first = notSuspended(await put({ withOrigins: false }))
      const given = first === 'origins' ? notSuspended(await put({ withOrigins: true })) : first
      return z.array(stored).length(changes.length).parse(given)
    },

    async expireOrphans(ref, letterOf, mostLetters = Number.POSITIVE_INFINITY) {
      const member = memberOf(ref)
      const touched = { ...threadKeys(keys, member), due: keys.due, outbox: keys.letters }
      let total = 0
      let cursor = '0'
      for (let step = 0; step < EXPIRY_STEPS; step++) {
        if ((await client.xlen(keys.letters)) >= mostLetters) return null
        const [next, some] = await client.hscan(keys.orphans(member), cursor, 'COUNT', EXPIRED_AT_ONCE)
        cursor = next
        const letters = pairs(some).map(([id, json]) => ({ id, ...letterOf(origin.parse(JSON.parse(json))) }))
        const given = { ...touched, member, keep: settings.keepTombstoneMs, letters }
        const expired = z.number().parse(await expireOrphans(client, given))
        // Negative: the post has arrived, or the thread is gone.
        if (expired < 0) return total
        total += expired
        if (cursor === '0' && (await client.exists(keys.thread(member), keys.orphans(member))) === 0) return total
      }
      return total
    },
  }
}

/** A script's reply. Throws `StoreSuspended` if it did nothing because the data are not those that the caller knows. */
export function notSuspended(reply: unknown): unknown {
  if (reply === 'suspended') throw new StoreSuspended()
  return reply
}

function changeOf(change: CommentChange, rankOf: (id: string) => number, withOrigin: boolean) {
  const { reached = 0 } = change
  const place = placeOf(change.place)
  if (change.kind === 'deleted') {
    const { kind, id, createdAt } = change
    return { kind, id, createdAt, reached, rank: rankOf(id), json: '', origin: '', place, author: '' }
  }
  const { id, createdAt } = change.comment
  const origin = withOrigin ? JSON.stringify(change.origin()) : ''
  return {
    kind: change.kind,
    id,
    createdAt,
    reached,
    rank: rankOf(id),
    ...storedComment(change.comment),
    origin,
    place,
  }
}

/** A message's position as its thread keeps it (redis/include/place.lua); empty if it is unknown. */
export function placeOf(place: MessagePlace | undefined): string {
  if (place === undefined) return ''
  const { topic, partition, offset, timestamp } = place
  return `${topic === undefined ? '' : `${topic}/`}${partition} ${offset} ${timestamp}`
}

export function placesOf(places: readonly MessagePlace[]): string {
  return places.map(placeOf).join(',')
}
