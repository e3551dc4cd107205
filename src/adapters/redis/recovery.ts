import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { ThreadRef } from '../../domain/thread.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Keys, memberOf } from './keys.ts'
import { scriptsOn } from './scripts.ts'

const restored = z.tuple([z.number(), z.number()])

/**
 * The steps of a recovery that nothing else takes. Each is atomic, and changes nothing when it is taken again. `allAgain`: it
 * takes every message again that the topics hold.
 */
export function redisRecovery(
  client: Redis,
  keys: Keys,
  settings: { keepTombstoneMs: number; clock: Clock; allAgain: boolean },
) {
  const scripts = scriptsOn(client)
  const keysOf = (member: string) => [
    keys.thread(member),
    keys.due,
    keys.open,
    keys.unworked,
    keys.case(''),
    keys.journal(''),
    keys.lost(''),
    keys.revisions(member),
    keys.outbox,
    keys.comments(member),
    keys.sample(member),
    keys.authors(member),
    keys.orphans(member),
  ]
  return {
    /**
     * Brings a thread's revisions up to those that were published, and gives up open cases whose revision was. Of a deleted
     * one nothing is kept, so that the retraction of the others is not its own a second time.
     */
    async restore(
      ref: ThreadRef,
      published: Iterable<{ protocol: string; revision: number; final: boolean; deleted: boolean }>,
    ): Promise<{ raised: number; givenUp: number }> {
      const member = memberOf(ref)
      const [raised, givenUp] = restored.parse(
        await scripts.restoreRevisions(
          ...keysOf(member),
          member,
          settings.keepTombstoneMs,
          settings.clock(),
          settings.allAgain ? 1 : 0,
          ...[...published].flatMap(({ protocol, revision, final, deleted }) => [
            protocol,
            revision,
            final ? 1 : 0,
            deleted ? 1 : 0,
          ]),
        ),
      )
      return { raised, givenUp }
    },
    /**
     * A subject whose thread a store that lost nothing would have forgotten at this time (ms): the numbers of its revisions
     * stay, so that none is given again, and what is left of the thread goes.
     */
    async bury(ref: ThreadRef, forgotten: number, published: Iterable<{ protocol: string; revision: number }>) {
      const member = memberOf(ref)
      const numbers = [...published].flatMap(({ protocol, revision }) => [protocol, revision])
      return (
        (await scripts.buryThread(...keysOf(member), member, settings.keepTombstoneMs, forgotten, ...numbers)) === 1
      )
    },
    /** Notes that this revision has seen all of the thread's `version`; false if one of the two has changed meanwhile. */
    async settle(ref: ThreadRef, revision: { protocol: string; revision: number; version: number; seen: number }) {
      const { protocol, revision: number, version, seen } = revision
      return (await scripts.settleRevision(keys.thread(memberOf(ref)), protocol, number, version, seen)) === 1
    },
  }
}
