import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { ThreadRef } from '../../domain/thread.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Keys, memberOf, threadKeys } from './keys.ts'
import { script } from './script.ts'

const THREAD = ['thread', 'comments', 'sample', 'authors', 'orphans', 'revisions'] as const
const CASES = ['due', 'open', 'unworked', 'casePrefix', 'journalPrefix', 'lostPrefix'] as const

const restoreRevisions = script('recovery/restore-revisions', {
  keys: [...THREAD, ...CASES, 'outbox'],
  args: [
    'member',
    'keep',
    'now',
    'allAgain',
    'published[].protocol',
    'published[].revision',
    'published[].final',
    'published[].deleted',
  ],
})
const forgetThread = script('recovery/forget-thread', {
  keys: [...THREAD, ...CASES],
  args: ['member', 'keep', 'forgotten', 'published[].protocol', 'published[].revision'],
})
const settleRevision = script('recovery/settle-revision', {
  keys: ['thread'],
  args: ['protocol', 'revision', 'version', 'seen'],
})

const restored = z.tuple([z.number(), z.number()])

/**
 * The steps that only a recovery takes. Each is atomic, and changes nothing when it is taken again. `allAgain`: the recovery
 * reads every message again that the topics hold.
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
     * Brings a thread's revisions up to those that were published, and gives up open cases whose revision was. Nothing is kept
     * of a protocol whose last verdict is a retraction: its number would let the deletion, which is read again for the other
     * protocols, retract it a second time.
     */
    async restore(
      ref: ThreadRef,
      published: Iterable<{ protocol: string; revision: number; final: boolean; deleted: boolean }>,
    ): Promise<{ raised: number; givenUp: number }> {
      const member = memberOf(ref)
      const verdicts = [...published].map(({ protocol, revision, final, deleted }) => ({
        protocol,
        revision,
        final,
        deleted,
      }))
      const touched = { ...threadKeys(keys, member), ...cases, outbox: keys.outbox }
      const { clock, allAgain } = settings
      const given = { ...touched, member, keep, now: clock(), allAgain, published: verdicts }
      const [raised, givenUp] = restored.parse(await restoreRevisions(client, given))
      return { raised, givenUp }
    },
    /**
     * A subject whose thread a store that lost nothing would have forgotten at this time (ms): the numbers of its revisions
     * stay, so that none is given again, and what is left of the thread goes. False if the thread stays.
     */
    async forget(ref: ThreadRef, forgotten: number, published: Iterable<{ protocol: string; revision: number }>) {
      const member = memberOf(ref)
      const touched = { ...threadKeys(keys, member), ...cases }
      const given = { ...touched, member, keep, forgotten, published: [...published] }
      return (await forgetThread(client, given)) === 1
    },
    /** Notes that this revision has seen all of the thread's `version`; false if one of the two has changed meanwhile. */
    async settle(ref: ThreadRef, revision: { protocol: string; revision: number; version: number; seen: number }) {
      return (await settleRevision(client, { thread: keys.thread(memberOf(ref)), ...revision })) === 1
    },
  }
}
