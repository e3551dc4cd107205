import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AgainRequest } from '../../src/contracts/ports/judge-again.ts'
import type { CommentChange, RememberedThread, ThreadRules } from '../../src/contracts/ports/threads.ts'
import { takeComments } from '../../src/judging/threads/comments.ts'
import { takePost } from '../../src/judging/threads/post.ts'
import { threadTable } from '../../src/store/thread/memory-table.ts'
import { ARRIVAL, HOUR, postOf, RULES, retractionOf, said, T0, thread, unsaid } from './samples.ts'
import { concludeCase, judgeOnce, type MakeStores, openCase, publishAll, readThread, type Stores } from './stores.ts'

const FOREVER = Number.POSITIVE_INFINITY
const p1 = thread('p1')
const PLACE = { partition: 1, offset: '4', timestamp: T0 }

export const asked = (revision: number, protocol = 'rumor', readsComments = true): AgainRequest => ({
  protocol,
  revision,
  readsComments,
})

/** The thread as these messages make it, by the rules. */
export function remembered(changes: readonly CommentChange[] = [], rules: ThreadRules = RULES): RememberedThread {
  const threads = threadTable()
  threads.step(p1, (one) => takePost(one, { post: postOf(p1), arrival: { ...ARRIVAL, place: PLACE } }, rules))
  threads.step(p1, (one) => takeComments(one, { changes, now: T0 }, rules))
  const made = threads.find(p1)
  if (made?.post === null || made === null) throw new Error('there is no thread')
  return { ...made, post: made.post, postOnly: false }
}

/** What every store promises of a subject that is to be judged again. */
export function judgeAgainContract(name: string, make: MakeStores): void {
  describe(`judging again, ${name}`, () => {
    let stores: Stores
    beforeEach(async () => {
      stores = await make()
    })
    afterEach(async () => {
      await stores.close()
    })
    const judged = async () => {
      await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
      await judgeOnce(stores, p1, { final: true })
    }
    const ask = (...again: AgainRequest[]) => stores.judgeAgain.ask(p1, again, T0 + 7)
    const revive = async (...given: Parameters<Stores['judgeAgain']['revive']>) => {
      await stores.judgeAgain.watch([p1])
      return stores.judgeAgain.revive(...given)
    }
    const due = () => stores.threads.due(0, 10)

    it('makes a judged thread due, as if its last revision had seen nothing', async () => {
      await judged()
      expect(await due()).toEqual([])
      expect(await ask(asked(1))).toEqual(['due'])
      expect(await due()).toEqual([p1])
      const state = await readThread(stores, p1)
      expect(state.revisions.get('rumor')).toMatchObject({ revision: 1, seen: -1, openId: null })
      expect(state.generation).toBeGreaterThan(state.observedGeneration)
    })

    it('asked twice, opens one revision; what is open or decided by then is newer', async () => {
      await judged()
      expect([await ask(asked(1)), await ask(asked(1))]).toEqual([['due'], ['due']])
      const record = await openCase(stores, p1)
      expect(record.revision).toBe(2)
      expect(await due()).toEqual([])
      expect(await ask(asked(1))).toEqual(['newer'])
      await concludeCase(stores, record)
      await publishAll(stores)
      expect(await ask(asked(1))).toEqual(['newer'])
      expect(await due()).toEqual([])
    })

    it('follows a verdict that is on its way out', async () => {
      await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
      const record = await openCase(stores, p1)
      expect(await ask(asked(1))).toEqual(['due'])
      expect(await due()).toEqual([])
      await concludeCase(stores, record)
      await publishAll(stores)
      expect(await due()).toEqual([p1])
    })

    it('answers for each protocol by itself', async () => {
      await judged()
      expect(await ask(asked(1, 'hate'), asked(1), asked(2))).toEqual(['newer', 'due', 'newer'])
    })

    it('says of a deleted subject that it is, and brings nothing of it back', async () => {
      await judged()
      await stores.threads.deletePost(p1, retractionOf(p1))
      expect(await ask(asked(1), asked(2))).toEqual(['deleted', 'deleted'])
      const again = { asked: [asked(1)], known: [], readVersion: null }
      expect(await revive(remembered(), again, T0)).toEqual(['deleted'])
      expect(await stores.threads.read(p1)).toBeNull()
      expect(await due()).toEqual([])
    })

    it('brings a forgotten thread back, due for the protocols that are asked and for no other', async () => {
      expect(await ask(asked(3))).toEqual(['forgotten'])
      const back = remembered([said('c1'), said('c2'), unsaid('c1')])
      const known = [
        { protocol: 'rumor', revision: 3, seen: back.version, final: true },
        { protocol: 'hate', revision: 2, seen: back.postVersion, final: true },
        { protocol: 'never', revision: 0, seen: back.version, final: true },
      ]
      expect(await revive(back, { asked: [asked(3)], known, readVersion: null }, T0)).toEqual(['due'])
      const state = await readThread(stores, p1)
      expect(state.post).toEqual(postOf(p1))
      expect(state.comments.map(({ id }) => id)).toEqual(['c2'])
      expect(Object.fromEntries(state.revisions)).toMatchObject({
        rumor: { revision: 3, seen: -1, openId: null },
        hate: { revision: 2, seen: back.postVersion, openId: null },
      })
      expect(state.revisions.has('never')).toBe(false)
      expect(await due()).toEqual([p1])
      expect(await openCase(stores, p1)).toMatchObject({ revision: 4, supersedes: 'rumor~p1~r3' })
      expect(await stores.threads.due(FOREVER, 10)).toEqual([])
    })

    it('does not bring back what has come to the store meanwhile, nor what has a later revision', async () => {
      const known = [{ protocol: 'rumor', revision: 3, seen: 1, final: true }]
      const reviveAt = (revision: number, readVersion: number | null = null) =>
        revive(remembered(), { asked: [asked(revision)], known, readVersion }, T0)
      expect(await reviveAt(2)).toEqual(['newer'])
      expect(await stores.threads.read(p1)).toBeNull()
      await stores.threads.putComments(p1, [said('early')], T0, RULES)
      expect(await reviveAt(3)).toEqual(['changed'])
      await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
      expect(await reviveAt(3, 2)).toEqual(['changed'])
      expect((await readThread(stores, p1)).comments.map(({ id }) => id)).toEqual(['early'])
    })

    it('takes what comes to a thread that was brought back as to any other', async () => {
      const rules = { ...RULES, maxComments: 5, maxPerAuthor: 2 }
      const words = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1', 'c2', 'd1', 'd2'].map((id) =>
        said(id, { author: id.slice(0, 1), createdAt: T0 + 9 }),
      )
      const first = [...words, unsaid('b2'), unsaid('never')]
      const later = [said('a0', { author: 'a' }), said('e1', { author: 'e' }), unsaid('d1'), said('b2'), said('never')]
      const back = remembered(first, rules)
      const known = [{ protocol: 'rumor', revision: 1, seen: back.version, final: true }]
      await revive(back, { asked: [asked(1)], known, readVersion: null }, T0)
      const outcomes = await stores.threads.putComments(p1, later, T0, rules)
      const other = await make()
      await other.threads.putPost(p1, postOf(p1), ARRIVAL, rules)
      await other.threads.putComments(p1, first, T0, rules)
      expect(outcomes).toEqual(await other.threads.putComments(p1, later, T0, rules))
      const { comments, accepted, overAuthor, deletions } = await readThread(other, p1)
      expect(await readThread(stores, p1)).toMatchObject({ comments, accepted, overAuthor, deletions })
      await other.close()
    })

    it('gives all runs their turns one after the other, each at its own rate', async () => {
      const { judgeAgain } = stores
      const now = T0 + 100 * HOUR
      // What was not asked for in the last second may be made up for.
      const waits = [
        await judgeAgain.turn(5, 10, now),
        await judgeAgain.turn(20, 10, now),
        await judgeAgain.turn(2, 1, now),
      ]
      expect(waits).toEqual([0, 0, 1_500])
      expect(await judgeAgain.turn(1, 10, now + 1_000)).toBe(2_500)
      expect(await judgeAgain.turn(1, 10, now + HOUR)).toBe(0)
      expect(await judgeAgain.turn(1, 10, now + HOUR)).toBe(0)
    })

    it('keeps of a thread that was brought back how many comments it came without', async () => {
      const back = { ...remembered([said('c1')]), missing: 3 }
      const known = [{ protocol: 'rumor', revision: 1, seen: back.version, final: true }]
      expect(await revive(back, { asked: [asked(1)], known, readVersion: null }, T0)).toEqual(['due'])
      expect(await readThread(stores, p1)).toMatchObject({ accepted: 1, missing: 3 })
      await stores.threads.putPost(p1, postOf(p1, { text: 'edited' }), { ...ARRIVAL, threaded: false }, RULES)
      expect(await readThread(stores, p1)).toMatchObject({ accepted: 0, missing: 0 })
    })

    it('keeps when an unfinished run began, by its filters', async () => {
      const { judgeAgain } = stores
      expect(await judgeAgain.begun('one')).toBeNull()
      expect(await judgeAgain.begin('one', 100)).toBe(100)
      expect(await judgeAgain.begun('one')).toBe(100)
      expect(await judgeAgain.begin('one', 200)).toBe(100)
      expect(await judgeAgain.begin('other', 200)).toBe(200)
      await judgeAgain.finish('one')
      expect(await judgeAgain.begin('one', 300)).toBe(300)
    })
  })
}
