import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Review } from '../../src/contracts/facts/decision-messages.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { QueueFilter, ReviewQueue } from '../../src/contracts/ports/review.ts'
import { GIVEN_UP } from '../../src/record/actions.ts'
import { askReversals } from '../../src/record/ask-reversals.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { at, DAY, feed } from './record.ts'

const NOW = Date.parse(at(400))
const REVERSALS: QueueFilter = { reason: 'reversal', order: 'oldest' }

/** What the record promises of actions, in every store. */
export function actionsContract(
  where: string,
  make: (review: QueueRules & DrawShares) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`actions ${where}`, () => {
    let store: RecordStore
    let queue: ReviewQueue
    let topics: ReturnType<typeof feed>
    let asked: Review[]
    beforeEach(async () => {
      const made = await make({ costs: {}, ownCaseAfter: DAY, auditShare: 0, blindShare: 0 })
      store = made.store
      queue = made.queue
      topics = feed(store)
      asked = []
    })
    afterEach(async () => {
      await queue.close()
      await store.close()
    })

    const act = (given: Readonly<Record<string, unknown>> = {}, seconds = 10) => {
      const one = {
        id: 'a1',
        subjectId: 'p',
        verdictId: 'rumor~p~r1',
        what: 'remove',
        source: 'own-initiative',
        by: 'ann',
      }
      const { key = 'p', ...own } = given
      return topics.send('actions', String(key), { since: at(seconds), at: at(seconds), ...one, ...own }, seconds)
    }
    const withdraw = (given: Readonly<Record<string, unknown>> = {}, seconds = 40) =>
      topics.send('actions', 'p', { id: 'a1', withdraw: true, by: 'ben', at: at(seconds), ...given }, seconds)
    const judged = (revision: number, label: string | null, seconds: number, more = {}) =>
      topics.judged({ label, revision, seconds, models: {}, ...more }, 'x')
    /** Asks for what is due, as the role does, and takes the requests in. */
    const ask = async () => {
      await askReversals(store, async (review) => {
        asked.push(review)
        await topics.send('reviews', review.subjectId, review, 50)
      })
      return asked.map(({ id }) => id)
    }
    const waiting = async () => (await queue.list(REVERSALS, 9, NOW)).items.map(({ verdict }) => verdict)
    const notes = async (id = 'p', tenant = 'default') =>
      (await store.subject({ tenant, id }))?.said.filter(({ said }) => said === 'action' || said === 'withdrawal') ?? []

    it('stand with their subject, once each, in their own tenant', async () => {
      await judged(1, 'rumor', 1)
      await act()
      await act({ what: 'demote' }, 11)
      await act({ tenant: 'other', what: 'label' }, 12)
      await act({ id: 'a2', key: 'q' }, 13)
      expect((await notes()).map(({ said, label, by, protocol }) => [said, label, by, protocol])).toEqual([
        ['action', 'remove', 'ann', 'rumor'],
      ])
      expect((await notes('p', 'other')).map(({ label }) => label)).toEqual(['label'])
      expect(await store.word('action default a1', ['other'])).toBe(null)
      expect((await store.word('action default a1'))?.message).toMatchObject({ id: 'a1', what: 'remove', at: at(10) })
    })

    it('wait for their statements, each until that is settled', async () => {
      await act({ verdictId: undefined })
      await act({ id: 'a2' }, 11)
      await withdraw({ id: 'a9' })
      const [first, second] = ['action default a1', 'action default a2']
      expect(await store.unstated(NOW, 1)).toEqual([first])
      expect(await store.unstated(NOW, 9)).toEqual([first, second])
      await store.settleStatement(first, NOW + 60_000)
      await store.settleStatement(second, null)
      expect(await store.unstated(NOW + 59_000, 9)).toEqual([])
      expect(await store.unstated(NOW + 60_000, 9)).toEqual([first])
      await store.settleStatement(first, GIVEN_UP)
      expect(await store.unstated(Number.MAX_SAFE_INTEGER, 9)).toEqual([])
      expect([await store.givenUp('default'), await store.givenUp('acme')]).toEqual([[first], []])
    })

    it('wait for no other tenant’s statements', async () => {
      for (let nth = 0; nth < 12; nth++) await act({ id: `a${nth}` }, 10 + nth)
      await act({ id: 'z1', tenant: 'zeta' }, 30)
      const due = await store.unstated(NOW, 10)
      expect(due).toContain('action zeta z1')
      expect(due.length).toBeGreaterThan(5)
      expect(due.length).toBeLessThanOrEqual(10)
      for (const note of due) await store.settleStatement(note, note.startsWith('action zeta') ? NOW + 1 : null)
      // Nor do those that are tried again wait for what is new, or hold up who has nothing due.
      expect(await store.unstated(NOW, 10)).not.toContain('action zeta z1')
      expect(await store.unstated(NOW + 1, 2)).toContain('action zeta z1')
    })

    it('have their reversals asked for, the newest hundred of a subject, and wait for no other tenant’s', async () => {
      const overrule = { decidedBy: 'human', decision: { by: 'cay', against: 'rumor~p~r1', of: '0@0' } }
      for (const tenant of ['default', 'zeta']) await judged(1, 'rumor', 1, { tenant })
      await topics.together(async () => {
        for (let nth = 0; nth < 103; nth++) await act({ id: `a${nth}` }, 10 + nth)
      })
      await act({ id: 'z1', tenant: 'zeta', verdictId: 'rumor@zeta~p~r1' })
      for (const tenant of ['default', 'zeta']) await judged(2, 'non-rumor', 200, { ...overrule, tenant })
      const due = await store.reversals(10)
      expect(due).toHaveLength(6)
      expect(due.filter(({ action }) => action === 'action zeta z1')).toHaveLength(1)
      for (let step = 0; step < 4; step++) await ask()
      const actions = asked.map(({ action }) => action)
      expect([actions.length, new Set(actions).size]).toEqual([101, 101])
      expect([actions.includes('a3'), actions.includes('a2')]).toEqual([true, false])
    })

    it('of what was never judged is kept, and asks for nothing', async () => {
      await act({ verdictId: undefined })
      expect(await notes()).toHaveLength(1)
      expect(await ask()).toEqual([])
    })

    it('asks for the reversal of what an overruled verdict led to, once, until it is withdrawn', async () => {
      await judged(1, 'rumor', 1)
      await act()
      expect(await ask()).toEqual([])
      await judged(2, 'rumor', 20)
      expect(await ask()).toEqual([])
      await judged(3, 'non-rumor', 30, {
        decidedBy: 'human',
        decision: { by: 'cay', against: 'rumor~p~r2', of: '0@0' },
      })
      // A step that died before it was settled asks again, under the same id.
      await expect(askReversals(store, () => Promise.reject(new Error('killed')))).rejects.toThrow('killed')
      expect(await ask()).toEqual(['rumor~p~r3~reversal~a1'])
      expect(asked[0]).toMatchObject({
        why: 'reversal',
        verdict: 'rumor~p~r3',
        action: 'a1',
        at: at(30),
        tenant: 'default',
      })
      expect(await waiting()).toEqual(['rumor~p~r3'])
      await topics.send('feedback', 'p', { subjectId: 'p', protocol: 'rumor', label: 'rumor', by: 'x', at: at(35) }, 35)
      expect(await ask()).toHaveLength(1)
      await withdraw()
      expect(await waiting()).toEqual([])
      expect((await notes()).map(({ said, label }) => [said, label])).toEqual([
        ['action', 'remove'],
        ['withdrawal', 'a1'],
      ])
    })

    it('asks where the action comes after the verdict that overrules it, and not where its withdrawal came first', async () => {
      await judged(1, 'rumor', 1)
      await judged(2, 'non-rumor', 20)
      await act({}, 30)
      expect(await ask()).toEqual(['rumor~p~r2~reversal~a1'])
      await withdraw({ id: 'a2' }, 31)
      await act({ id: 'a2' }, 32)
      expect(await ask()).toHaveLength(1)
      expect((await notes()).map(({ said }) => said).sort()).toEqual(['action', 'action', 'withdrawal'])
    })

    it('takes an action that names a protocol alone to rest on the verdict that stood at its time', async () => {
      await judged(1, 'rumor', 1)
      await judged(2, 'non-rumor', 20)
      const named = { verdictId: undefined, protocol: 'rumor' }
      await act({ ...named, id: 'before' }, 10)
      await act({ ...named, id: 'after' }, 25)
      expect(await ask()).toEqual(['rumor~p~r2~reversal~before'])
    })

    it('asks for nothing where nothing was done, it had ended, the verdict is undecided or another tenant’s', async () => {
      await judged(1, 'rumor', 1)
      await act({ id: 'nothing', what: 'none' })
      await act({ id: 'ended', until: at(15) })
      await act({ id: 'others', tenant: 'other' })
      await judged(2, null, 20, { decidedBy: 'none' })
      expect(await ask()).toEqual([])
      await judged(3, 'non-rumor', 30)
      expect(await ask()).toEqual([])
    })

    it('outlives the deletion of its subject, and asks for its reversal where the verdict is retracted', async () => {
      await judged(1, 'rumor', 1)
      await act()
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 20)
      await judged(2, null, 20, { decidedBy: 'deleted', degraded: ['deleted'] })
      expect(await ask()).toEqual(['rumor~p~r2~reversal~a1'])
      expect(await waiting()).toEqual([])
      expect(await notes()).toHaveLength(1)
      // What is done because of the deletion rests on it.
      await act({ id: 'later' }, 30)
      expect(await ask()).toHaveLength(1)
    })
  })
}
