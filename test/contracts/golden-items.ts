import { afterEach, describe, expect, it } from 'vitest'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { QueueFilter, ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { at, DAY, feed } from './record.ts'

const NOW = Date.parse(at(400))
const GOLDEN = { reason: 'golden', order: 'oldest' } as const

/** What golden items promise, of every record. */
export function goldenItemsContract(
  where: string,
  make: (review: QueueRules & DrawShares) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`golden items ${where}`, () => {
    const open: { close(): Promise<void> }[] = []
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })
    async function start(shares: Partial<DrawShares> = {}) {
      const { store, queue } = await make({ costs: {}, ownCaseAfter: DAY, auditShare: 0, blindShare: 0, ...shares })
      open.push(queue, store)
      const topics = feed(store)
      const say = (by: string, said: Partial<DecisionMessage> & { seconds: number }) => {
        const { seconds, subjectId = 'p', ...rest } = said
        const given = { protocol: 'rumor', against: 2, label: 'rumor', why: 'w', opinion: true, ...rest }
        return topics.send('decisions', subjectId, { subjectId, ...given, by, at: at(seconds) }, seconds)
      }
      const decided = async (subjectId = 'p', label = 'rumor', revision = 2) => {
        const decision = { by: 'ann', against: null, of: '0@0' }
        await topics.judged({ subjectId, decidedBy: 'human', label, revision, decision, seconds: revision }, 'x')
      }
      const golden = async (by: string, lead?: QueueFilter['lead'], now = NOW) =>
        (await queue.list({ ...GOLDEN, for: by, lead }, 9, now)).items.map(({ verdict }) => verdict)
      return { store, queue, topics, say, decided, golden }
    }

    it('are for everybody but who decided, made the key or answered, blindly, and for no lead of their own', async () => {
      const { queue, say, decided, golden } = await start()
      await decided()
      expect(await golden('ben')).toEqual([])
      await say('lea', { golden: 'key', seconds: 30 })
      for (const own of ['ann', 'lea']) {
        expect(await golden(own, {}, NOW + 9 * DAY)).toEqual([])
        const lead = { ...GOLDEN, for: own, lead: {} }
        expect(await queue.reserve('rumor~p~r2', lead, NOW + 10 * DAY, NOW + 9 * DAY)).toEqual({ outcome: 'own' })
      }
      const reserved = await queue.reserve(null, { ...GOLDEN, for: 'ben' }, NOW + 60_000, NOW)
      expect(reserved).toMatchObject({
        outcome: 'reserved',
        golden: true,
        item: { verdict: 'rumor~p~r2', label: null, reasons: ['second-opinion'], isOwnCase: false },
      })
      expect(Object.keys(reserved.outcome === 'reserved' ? reserved.item : {})).not.toContain('golden')
      await queue.release('rumor~p~r2', 'ben', { anyone: false }, NOW)
      await say('ben', { golden: 'answer', label: 'non-rumor', seconds: 31 })
      expect(await golden('ben')).toEqual([])
      expect(await golden('cay')).toEqual(['rumor~p~r2'])
    })

    it('are in no list and no count, but for who has one', async () => {
      const { queue, topics, say, decided } = await start()
      await decided()
      await topics.judged({ protocol: 'hate', label: null, decidedBy: 'none' }, 'x')
      await say('lea', { golden: 'key', seconds: 30 })
      const waits = async (filter: QueueFilter) => {
        const { posts, waiting } = await queue.posts(filter, 9, NOW, null)
        const listed = await queue.list(filter, 9, NOW)
        expect(listed.waiting).toBe(listed.items.length)
        return [posts.flatMap(({ items }) => items.map(({ protocol }) => protocol)), waiting]
      }
      expect(await waits({ for: 'ben' })).toEqual([['hate'], 1])
      expect(await waits({ for: 'ben', reserved: 'any' })).toEqual([['hate'], 1])
      expect(await waits({ for: 'ben', reserved: 'any', verdict: 'rumor~p~r2' })).toEqual([[], 0])
      expect(await waits({ reason: 'second-opinion' })).toEqual([[], 0])
      expect(await waits({ label: 'rumor' })).toEqual([[], 0])
      expect((await queue.state()).queue.map(({ protocol }) => protocol)).toEqual(['hate'])
      await queue.reserve('rumor~p~r2', { for: 'ben' }, NOW + 60_000, NOW)
      expect(await waits({ for: 'ben', reserved: 'own' })).toEqual([['hate', 'rumor'], 1])
      expect(await waits({ for: 'cay', reserved: 'all' })).toEqual([[], 0])
    })

    it('end with their verdict, whatever takes its place, and with the post', async () => {
      const { topics, say, decided, golden } = await start()
      const asked: string[] = []
      for (const [id, end] of [
        ['replaced', () => decided('replaced', 'non-rumor', 3)],
        ['again', () => decided('again', 'rumor', 3)],
        ['withdrawn', () => topics.judged({ subjectId: 'withdrawn', decidedBy: 'consensus', revision: 3 }, 'x')],
        ['gone', () => topics.send('posts', 'gone', { id: 'gone', createdAt: at(0), deleted: true }, 60)],
        ['kept', async () => {}],
      ] as const) {
        await decided(id)
        await say('lea', { subjectId: id, golden: 'key', seconds: 30 })
        expect(await golden('ben')).toContain(`rumor~${id}~r2`)
        await end()
        asked.push(...(await golden('ben')).filter((one) => one.includes(id)))
      }
      expect(asked).toEqual(['rumor~kept~r2'])
      // Another label than the verdict's, another revision, a key that is no opinion, one on what was not seen.
      for (const [id, wrong] of Object.entries({
        label: { label: 'non-rumor' },
        revision: { against: 1 },
        decision: { opinion: false },
        unseen: { unseen: true },
      } as const)) {
        await decided(id)
        await say('lea', { subjectId: id, golden: 'key', seconds: 30, ...wrong })
      }
      expect(await golden('ben')).toEqual(['rumor~kept~r2'])
    })

    it('wait for a second opinion that was drawn, which neither key nor answer is, and rest while there is a doubt', async () => {
      const { queue, topics, say, decided, golden } = await start({ blindShare: 1 })
      await decided()
      await say('lea', { golden: 'key', seconds: 30 })
      await say('ben', { golden: 'answer', label: 'non-rumor', seconds: 31 })
      expect(await golden('cay')).toEqual([])
      expect((await queue.list({ for: 'cay' }, 9, NOW)).items).toMatchObject([{ reasons: ['second-opinion'] }])
      expect((await queue.state()).agreement).toEqual([])
      await say('dan', { seconds: 32 })
      expect((await queue.state()).agreement).toMatchObject([{ beside: 'person', agrees: true }])
      expect(await golden('cay')).toEqual(['rumor~p~r2'])
      const about = { schema: 1, id: 'd', subjectId: 'p', tenant: 'default', kind: 'post', protocol: 'rumor' }
      await topics.send('reviews', 'p', { ...about, why: 'disputed', verdict: 'rumor~p~r2', at: at(41) }, 41)
      expect(await golden('cay')).toEqual([])
    })

    it('tell how often a person has the key’s label, by ten or more, while the key stands', async () => {
      const { queue, topics, say, decided } = await start()
      const period = { since: Date.parse(at(0)), until: NOW }
      const told = async () =>
        (await queue.peopleQuality(period)).flatMap(({ by, golden, opinions }) =>
          by === 'ben' || by === 'lea' ? [[by, golden, opinions]] : [],
        )
      for (let n = 0; n < 11; n++) {
        const subjectId = `s${n}`
        await decided(subjectId)
        await say('lea', { subjectId, golden: 'key', seconds: 30 + n })
        const label = n < 2 ? 'non-rumor' : 'rumor'
        if (n < 9) await say('ben', { subjectId, golden: 'answer', label, seconds: 60 + n })
      }
      expect(await told()).toEqual([['ben', null, 0]])
      await say('ben', { subjectId: 's9', golden: 'answer', seconds: 80 })
      await say('ben', { subjectId: 's10', golden: 'answer', unseen: true, seconds: 80 })
      // Who had seen the key.
      await say('dan', { subjectId: 's10', golden: 'answer', sawLabel: true, seconds: 80 })
      expect((await queue.peopleQuality(period)).map(({ by }) => by)).not.toContain('dan')
      expect(await told()).toEqual([['ben', { times: 8, of: 10 }, 0]])
      await say('ben', { subjectId: 's10', golden: 'answer', label: 'non-rumor', seconds: 81 })
      expect(await told()).toEqual([['ben', { times: 8, of: 11 }, 0]])
      // A key that somebody overruled was none.
      await say('zoe', { subjectId: 's0', label: 'non-rumor', opinion: false, seconds: 82 })
      const decision = { by: 'zoe', against: null, of: '0@0' }
      await topics.judged({ subjectId: 's0', decidedBy: 'human', label: 'non-rumor', revision: 3, decision }, 'x')
      expect(await told()).toEqual([['ben', { times: 8, of: 10 }, 0]])
    })
  })
}
