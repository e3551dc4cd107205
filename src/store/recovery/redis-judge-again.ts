import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { setAside } from '../../contracts/facts/kept-image.ts'
import type { AgainOutcome, JudgeAgainStore } from '../../contracts/ports/judge-again.ts'
import type { RememberedThread } from '../../contracts/ports/threads.ts'
import { MADE_UP_MS } from '../../judging/threads/judge-again.ts'
import { storedComment, TOMBSTONE } from '../../judging/threads/thread-bytes.ts'
import { type Keys, memberOf, threadKeys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'
import { notSuspended, placesOf, THREAD } from '../thread/redis-intake.ts'

const ASKED = ['asked[].protocol', 'asked[].revision', 'asked[].readsComments'] as const

const askAgain = script('recovery/ask', {
  keys: ['thread', 'due', 'incarnation'],
  args: ['member', 'now', ...ASKED],
})
const reviveThread = script('recovery/revive', {
  keys: [...THREAD, 'images', 'due', 'incarnation', 'watched', 'decided'],
  args: [
    'watcher',
    'member',
    'now',
    'keep',
    'readVersion',
    'at',
    'version',
    'fields[].name',
    'fields[].value',
    'aside[].hash',
    'aside[].url',
    'said[].id',
    'said[].json',
    'said[].rank',
    'said[].author',
    'known[].protocol',
    'known[].revision',
    'known[].seen',
    'known[].final',
    ...ASKED,
  ],
})

const takeTurn = script('recovery/turn', { keys: ['turn'], args: ['now', 'cost', 'madeUp'] })

const outcomes = z.array(z.enum(['due', 'newer', 'deleted', 'forgotten', 'changed'] satisfies AgainOutcome[]))

/** An unfinished run is gone on with for so long, in ms. */
const KEEP_RUN_MS = 7 * 24 * 3_600_000
/** Reading the topics, and bringing back what was read, takes less, in ms. */
const KEEP_WATCH_MS = 3_600_000

/** The steps of `gavel judge-again`. Throws `StoreSuspended` where data were lost that a recovery has to restore first. */
export function redisJudgeAgain(client: Redis, keys: Keys, settings: { keepTombstoneMs: number }): JudgeAgainStore {
  const run = (name: string) => keys.under(`judge-again:${name}`)
  const watcher = randomUUID()
  return {
    async ask(ref, asked, now) {
      const member = memberOf(ref)
      const { thread, comments, sample, authors, images } = threadKeys(keys, member)
      const touched = { thread, comments, sample, authors, images, due: keys.due, incarnation: keys.incarnation }
      return outcomesIn(await askAgain(client, { ...touched, member, now, asked: asked.map(rowOf) }))
    },
    async watch(refs) {
      const batch = client.pipeline()
      for (const ref of refs) {
        const watched = keys.watched(memberOf(ref))
        batch.sadd(watched, watcher)
        batch.pexpire(watched, KEEP_WATCH_MS)
      }
      for (const [error] of (await batch.exec()) ?? []) if (error !== null) throw error
    },
    async revive(given, { asked, known, readVersion }, now) {
      const { post, images: aside } = setAside(given.post)
      const thread = { ...given, post }
      const member = memberOf(thread.ref)
      return outcomesIn(
        await reviveThread(client, {
          ...threadKeys(keys, member),
          due: keys.due,
          incarnation: keys.incarnation,
          watched: keys.watched(member),
          watcher,
          member,
          now,
          keep: settings.keepTombstoneMs,
          readVersion,
          at: thread.post.createdAt,
          version: thread.version,
          fields: Object.entries(fieldsOf(thread)).map(([name, value]) => ({ name, value })),
          aside,
          said: [...thread.comments].map(([id, comment]) => {
            const kept = comment === null ? { json: TOMBSTONE, author: '' } : storedComment(comment)
            return { id, rank: thread.ranks.get(id) ?? 0, ...kept }
          }),
          known: known.map(({ protocol, revision, seen, final }) => ({ protocol, revision, seen, final })),
          asked: asked.map(rowOf),
        }),
      )
    },
    async turn(verdicts, perSecond, now) {
      const given = {
        turn: keys.under('judge-again/turn'),
        now,
        cost: (verdicts * 1_000) / perSecond,
        madeUp: MADE_UP_MS,
      }
      return z.number().parse(await takeTurn(client, given))
    },
    async begun(name) {
      const begun = await client.get(run(name))
      return begun === null ? null : Number(begun)
    },
    async begin(name, until) {
      await client.set(run(name), until, 'PX', KEEP_RUN_MS, 'NX')
      return Number((await client.get(run(name))) ?? until)
    },
    async finish(name) {
      await client.del(run(name))
    },
  }
}

function rowOf({ protocol, revision, readsComments }: { protocol: string; revision: number; readsComments: boolean }) {
  return { protocol, revision, readsComments }
}

function outcomesIn(reply: unknown): AgainOutcome[] {
  return outcomes.parse(notSuspended(reply))
}

/** The fields of a thread's hash; those that are null are absent. */
export function fieldsOf(thread: RememberedThread): Record<string, string | number> {
  const { post, postOnly, story, rekeyed, sampledUnder, postPlaces, commentPlaces } = thread
  return {
    post: JSON.stringify(post),
    createdAt: post.createdAt,
    postPlace: placesOf(postPlaces),
    version: thread.version,
    postVersion: thread.postVersion,
    accepted: thread.accepted,
    countStage: thread.countStage,
    late: thread.late,
    ...(thread.missing === 0 ? {} : { missing: thread.missing }),
    overAuthor: thread.overAuthor,
    deletions: thread.deletions,
    ...(commentPlaces.length === 0 ? {} : { commentPlace: placesOf(commentPlaces) }),
    ...(sampledUnder === null ? {} : { sampledUnder }),
    ...(story === null ? {} : { story }),
    ...(rekeyed ? { rekeyed: 1 } : {}),
    ...(postOnly ? { postOnly: 1 } : {}),
  }
}
