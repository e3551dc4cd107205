import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { PublishedEffect, PublishedRevision } from '../../contracts/ports/recovery.ts'
import { type Keys, memberOf, PUBLISHERS, threadKeys } from '../redis/keys.ts'
import { script } from '../redis/script.ts'
import { placeOf } from '../thread/redis-intake.ts'

const THREAD = ['thread', 'comments', 'sample', 'authors', 'orphans', 'revisions'] as const
const CASES = ['due', 'open', 'unworked', 'casePrefix', 'journalPrefix', 'lostPrefix'] as const

const restoreRevisions = script('recovery/restore-revisions', {
  keys: [...THREAD, 'images', ...CASES, 'outbox'],
  args: [
    'member',
    'group',
    'keep',
    'now',
    'allAgain',
    'published[].protocol',
    'published[].revision',
    'published[].final',
    'published[].deleted',
    'published[].contested',
  ],
})
const forgetThread = script('recovery/forget-thread', {
  keys: [...THREAD, 'images', ...CASES],
  args: ['member', 'keep', 'forgotten', 'published[].protocol', 'published[].revision'],
})
const restoreDecided = script('recovery/restore-decided', {
  keys: ['thread', 'decided', 'outbox', ...CASES],
  args: [
    'member',
    'now',
    'keep',
    'all[].protocol',
    'all[].verdict',
    'all[].stands',
    'all[].revision',
    'all[].label',
    'all[].of',
    'all[].by',
    'all[].at',
    'all[].place',
    'all[].became',
    'all[].asked',
    'all[].proposal',
    'all[].untold',
  ],
})
const settleRevision = script('recovery/settle-revision', {
  keys: ['thread'],
  args: ['protocol', 'revision', 'version', 'seen'],
})

const restored = z.tuple([z.number(), z.number()])

/**
 * Steps that only a recovery takes. Each is atomic, and repeating it changes nothing. `allAgain`: the recovery reads
 * every message in the topics again.
 */
export function redisRecovery(
  client: Redis,
  keys: Keys,
  settings: { keepTombstoneMs: number; clock: Clock; allAgain: boolean },
) {
  const cases = {
    due: keys.due,
    open: keys.open,
    unworked: keys.unworked,
    casePrefix: keys.case(''),
    journalPrefix: keys.journal(''),
    lostPrefix: keys.lost(''),
  }
  const keep = settings.keepTombstoneMs
  return {
    /**
     * Raises a thread's revisions to the published ones, and drops open cases whose revision was published. Nothing is
     * stored for a protocol whose last verdict is a retraction: with its number, the deletion, which is read again for
     * the other protocols, would retract it a second time.
     */
    async restore(
      ref: ThreadRef,
      published: Iterable<PublishedRevision>,
    ): Promise<{ raised: number; givenUp: number }> {
      const member = memberOf(ref)
      const verdicts = [...published].map(({ protocol, revision, final, deleted, contested }) => ({
        protocol,
        revision,
        final,
        deleted,
        contested,
      }))
      const touched = { ...threadKeys(keys, member), ...cases, outbox: keys.outbox }
      const { clock, allAgain } = settings
      const given = { ...touched, member, group: PUBLISHERS, keep, now: clock(), allAgain, published: verdicts }
      const [raised, givenUp] = restored.parse(await restoreRevisions(client, given))
      return { raised, givenUp }
    },
    /** Puts what people decided of a thread beside it again; returns how much of it was not known. */
    async restoreDecided(ref: ThreadRef, carriedOut: readonly PublishedEffect[]) {
      const member = memberOf(ref)
      const { thread, decided } = threadKeys(keys, member)
      const all = carriedOut.map(({ verdict, label, place, same, asked, stands, isUntold, ...one }) => {
        const reply = [stands ? 'stands' : 'withdrawn', verdict ?? '']
        return {
          ...one,
          verdict: verdict ?? '',
          label: label ?? '',
          stands,
          untold: isUntold,
          place: placeOf(place),
          at: place.timestamp,
          asked: asked.map((what) => `\n${what}\n`).join(''),
          became: same === null ? '' : JSON.stringify({ same, reply }),
        }
      })
      const touched = { thread, decided, ...cases, outbox: keys.outbox }
      return z.number().parse(await restoreDecided(client, { ...touched, member, now: settings.clock(), keep, all }))
    },
    /**
     * Forgets a subject whose thread a store that lost nothing would have forgotten at this time (ms): its revision
     * numbers stay, so that none is given again, and the rest of the thread is removed. False if the thread stays.
     */
    async forget(ref: ThreadRef, forgotten: number, published: Iterable<{ protocol: string; revision: number }>) {
      const member = memberOf(ref)
      const touched = { ...threadKeys(keys, member), ...cases }
      const given = { ...touched, member, keep, forgotten, published: [...published] }
      return (await forgetThread(client, given)) === 1
    },
    /** Notes that this revision has seen all of the thread's `version`; false if either has changed meanwhile. */
    async settle(ref: ThreadRef, revision: { protocol: string; revision: number; version: number; seen: number }) {
      return (await settleRevision(client, { thread: keys.thread(memberOf(ref)), ...revision })) === 1
    },
  }
}
