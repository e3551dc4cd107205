import { afterEach, describe, expect, it } from 'vitest'
import type { DecisionMessage } from '../../src/contracts/facts/decision-messages.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { DecisionQuery, DrawQuery, ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { at, DAY, feed } from './record.ts'

/** What lists of decisions, of draws and of what waits promise, of every record. */
export function personDecisionsContract(
  where: string,
  make: (review: QueueRules & DrawShares) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`lists of what people did ${where}`, () => {
    const open: { close(): Promise<void> }[] = []
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })
    async function start(shares: Partial<DrawShares> = {}) {
      const { store, queue } = await make({ costs: {}, ownCaseAfter: DAY, auditShare: 0, blindShare: 0, ...shares })
      open.push(queue, store)
      const topics = feed(store)
      let offset = 0
      /** A decision that was sent, and, unless it was refused, its outcome; of an opinion there is none. */
      const say = async (by: string, seconds: number, said: Partial<DecisionMessage> = {}, isRefused = false) => {
        const { subjectId = 'p', tenant = 'default', ...rest } = said
        const given = { protocol: 'rumor', against: 1, label: 'rumor', why: 'w', ...rest }
        await topics.send('decisions', subjectId, { subjectId, tenant, ...given, by, at: at(seconds) }, seconds)
        const of = `0@${offset++}`
        if (isRefused || given.opinion === true) return
        const { protocol, against, label = null, withdraw = false } = given
        const outcome = withdraw ? 'withdrawn' : 'stands'
        const about = { schema: 1, subjectId, tenant, kind: 'post', protocol, of, revision: against + 1 }
        await topics.send('decisionOutcomes', subjectId, { ...about, outcome, label, by, at: at(seconds) }, seconds)
      }
      return { queue, topics, say }
    }

    it('has decisions, withdrawals and opinions, what they were on, and what came of them', async () => {
      const { queue, topics, say } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'non-rumor', degraded: ['x'] }, 'x')
      await topics.judged({ subjectId: 'q', decidedBy: 'consensus', label: 'rumor' }, 'x')
      await topics.judged({ subjectId: 'a', tenant: 'acme', decidedBy: 'consensus' }, 'x')
      const human = (by: string, revision: number) =>
        ({ decidedBy: 'human', revision, label: 'rumor', decision: { by, against: null, of: '0@0' } }) as const
      await say('ann', 10)
      await topics.judged({ ...human('ann', 2), seconds: 11 }, 'x')
      await say('ben', 20, { against: 2, opinion: true, label: 'non-rumor' })
      await say('ann', 30, { subjectId: 'q' })
      await topics.judged({ subjectId: 'q', ...human('ann', 2), seconds: 31 }, 'x')
      await say('ann', 40, { subjectId: 'q', against: 2, withdraw: true, label: undefined })
      await topics.judged({ subjectId: 'q', revision: 3, decidedBy: 'consensus', label: 'rumor', seconds: 41 }, 'x')
      await say('cay', 50, { subjectId: 'a', tenant: 'acme' })
      // A key and an answer are for who gave them alone.
      await say('lea', 60, { against: 2, opinion: true, golden: 'key' })
      await say('cay', 61, { against: 2, opinion: true, golden: 'answer' })
      const ask = async (more: Partial<DecisionQuery> = {}, most = 9) =>
        (await queue.decisions({ viewer: 'zoe', since: 0, tenants: ['default'], ...more }, most)).map(
          ({ by, at: when, subject, label, isOpinion, isCurrent, isWithdrawn, seen }) =>
            `${by} ${(when - Date.parse(at(0))) / 1_000} ${subject.postId} ${label} ${isOpinion ? 'opinion' : isCurrent ? 'stands' : isWithdrawn ? 'withdrawn' : 'gone'} on ${seen?.verdict} ${seen?.label}${seen?.isDegraded ? ' degraded' : ''}`,
        )
      const [withdrawn, second, opinion, first] = [
        'ann 40 q null gone on rumor~q~r2 rumor',
        'ann 30 q rumor withdrawn on rumor~q~r1 rumor',
        'ben 20 p non-rumor opinion on rumor~p~r2 rumor',
        'ann 10 p rumor stands on rumor~p~r1 non-rumor degraded',
      ]
      expect(await ask()).toEqual([withdrawn, second, opinion, first])
      expect(await ask({ kind: 'stands' })).toEqual([first])
      expect(await ask({ kind: 'withdrawn' })).toEqual([second])
      expect(await ask({ kind: 'replaced' })).toEqual([])
      expect(await ask({ kind: 'withdrawal' })).toEqual([withdrawn])
      expect(await ask({ kind: 'opinion' })).toEqual([opinion])
      expect(await ask({ degraded: true })).toEqual([first])
      expect(await ask({ overrules: true })).toEqual([first])
      expect(await ask({ person: 'ben' })).toEqual([opinion])
      expect(await ask({ subject: 'q' })).toEqual([withdrawn, second])
      expect(await ask({ protocol: 'hate' })).toEqual([])
      expect(await ask({ since: Date.parse(at(25)) })).toEqual([withdrawn, second])
      expect((await ask({ tenants: undefined }))[0]).toContain('cay 50 a')
      expect(await ask({ tenants: [] })).toEqual([])
      expect(await ask({ viewer: 'cay', person: 'cay' })).toEqual(['cay 61 p rumor opinion on rumor~p~r2 rumor'])
      // Page by page.
      const page = await queue.decisions({ viewer: 'zoe', since: 0, tenants: ['default'] }, 2)
      expect(await ask({ before: page.at(-1)?.place })).toEqual([opinion, first])
      expect(await ask({ before: 'x' })).toHaveLength(4)
    })

    it('has one decision in force where somebody withdrew theirs and decided the same anew', async () => {
      const { queue, topics, say } = await start()
      const decision = { by: 'ann', against: null, of: '0@0' }
      const human = (revision: number, by = 'ann') =>
        topics.judged(
          { decidedBy: 'human', revision, label: 'rumor', decision: { ...decision, by }, seconds: revision * 10 },
          'x',
        )
      await topics.judged({ decidedBy: 'consensus' }, 'x')
      await say('ann', 19)
      await human(2)
      await say('ann', 29, { against: 2, withdraw: true, label: undefined })
      await topics.judged({ revision: 3, decidedBy: 'consensus', label: 'rumor', seconds: 30 }, 'x')
      await say('ann', 39, { against: 3 })
      await human(4)
      // Of what is in force a golden item was made.
      await say('ann', 45, { against: 4, opinion: true, golden: 'key' })
      const of = async (kind: DecisionQuery['kind'], person = 'ann') =>
        (await queue.decisions({ viewer: 'zoe', since: 0, person, kind }, 9)).map(
          ({ at: when, isCurrent, isWithdrawn }) => [(when - Date.parse(at(0))) / 1_000, isCurrent, isWithdrawn],
        )
      expect(await of('stands')).toEqual([[39, true, false]])
      expect(await of('withdrawn')).toEqual([[19, false, true]])
      expect(await of('replaced')).toEqual([])
      const period = { since: 0, until: Date.parse(at(1_000)) }
      expect(await queue.peopleQuality(period)).toMatchObject([{ by: 'ann', decisions: 1 }])
      await say('ben', 49, { against: 4 })
      await human(5, 'ben')
      expect(await of('stands', 'ben')).toEqual([[49, true, false]])
      expect(await of('replaced')).toEqual([[39, false, false]])
      // What is withdrawn after another person's decision is not taken back.
      await say('ann', 59, { against: 4, withdraw: true, label: undefined }, true)
      expect(await of('refused')).toEqual([[59, false, false]])
      expect(await of('replaced')).toEqual([[39, false, false]])
      expect(await queue.peopleQuality(period)).toMatchObject([{ by: 'ann', decisions: 1 }, { by: 'ben' }])
    })

    it('has what was sent and not carried out as that, and in force what was', async () => {
      const { queue, topics, say } = await start()
      await topics.judged({ decidedBy: 'consensus' }, 'x')
      // Two tabs sent both; the second came too late.
      await say('ann', 19)
      await say('ann', 20, { label: 'non-rumor' }, true)
      const decision = { by: 'ann', against: null, of: '0@0' }
      await topics.judged({ decidedBy: 'human', revision: 2, label: 'rumor', decision, seconds: 21 }, 'x')
      const of = async (kind?: DecisionQuery['kind']) =>
        (await queue.decisions({ viewer: 'zoe', since: 0, kind }, 9)).map(({ label, isTaken, isCurrent }) => [
          label,
          isTaken,
          isCurrent,
        ])
      expect(await of()).toEqual([
        ['non-rumor', false, false],
        ['rumor', true, true],
      ])
      expect(await of('stands')).toEqual([['rumor', true, true]])
      expect(await of('refused')).toEqual([['non-rumor', false, false]])
      expect(await of('replaced')).toEqual([])
      // Nor does a withdrawal that came too late take anything back.
      await say('ben', 30, { against: 2, withdraw: true, label: undefined }, true)
      expect(await of('withdrawal')).toEqual([])
      expect(await of('stands')).toEqual([['rumor', true, true]])
      // By whatever letters somebody writes a name in.
      expect(await queue.decisions({ viewer: 'zoe', since: 0, named: 'ANN' }, 9)).toHaveLength(2)
    })

    it('counts what waits by protocol, of these tenants', async () => {
      const { queue, topics } = await start()
      const doubtful = { label: null, decidedBy: 'none' } as const
      await topics.judged({ subjectId: 'p', ...doubtful }, 'x')
      await topics.judged({ subjectId: 'q', ...doubtful, seconds: 5 }, 'x')
      await topics.judged({ subjectId: 'a', tenant: 'acme', ...doubtful, seconds: 9 }, 'x')
      expect(await queue.totals(['default'])).toEqual([{ protocol: 'rumor', waiting: 2, oldest: Date.parse(at(0)) }])
      expect(await queue.totals()).toMatchObject([{ waiting: 3 }])
      expect(await queue.totals([])).toEqual([])
    })

    it('has each draw with its chance and what was found, page by page', async () => {
      const { queue, topics } = await start({ auditShare: 1, blindShare: 1 })
      await topics.judged({ label: 'rumor', decidedBy: 'consensus' }, 'x')
      await topics.judged({ subjectId: 'q', label: 'rumor', decidedBy: 'consensus', seconds: 5 }, 'x')
      await topics.judged({ subjectId: 'a', tenant: 'acme', label: 'rumor', decidedBy: 'consensus', seconds: 6 }, 'x')
      const decision = { by: 'ann', against: null, of: '0@0' }
      await topics.judged({ label: 'non-rumor', decidedBy: 'human', decision, revision: 2, seconds: 9 }, 'x')
      const ask = async (more: DrawQuery = {}, most = 9) =>
        (await queue.draws({ tenants: ['default'], ...more }, most)).map(
          ({ purpose, verdict, chance, found }) => `${purpose} ${verdict} ${chance} ${found}`,
        )
      const all = ['second-opinion rumor~p~r2 1 waits', 'audit rumor~q~r1 1 waits', 'audit rumor~p~r1 1 differs']
      expect(await ask()).toEqual(all)
      expect(await ask({ purpose: 'audit' })).toEqual(all.slice(1))
      expect(await ask({ protocol: 'hate' })).toEqual([])
      expect(await ask({ tenants: undefined })).toHaveLength(4)
      const [first] = await queue.draws({ tenants: ['default'] }, 1)
      expect(await ask({ before: first?.place })).toEqual(all.slice(1))
      expect(await ask({ before: 'x' })).toEqual(all)
    })

    it('has what could be drawn beside what was, what is reviewed and what waits', async () => {
      const { queue, topics } = await start({ auditShare: 0.5, blindShare: 1 })
      const ids = Array.from({ length: 40 }, (_, n) => `p${n}`)
      for (const [n, subjectId] of ids.entries())
        await topics.judged({ subjectId, label: 'rumor', decidedBy: 'consensus', seconds: n }, 'x')
      await topics.judged({ subjectId: 'a', tenant: 'acme', label: 'rumor', decidedBy: 'consensus', seconds: 60 }, 'x')
      const drawn = (await queue.draws({ tenants: ['default'] }, 99)).toReversed()
      const [first, second] = drawn.map(({ subject }) => subject.postId)
      const since = ids.indexOf(first ?? '')
      for (const subjectId of [first, second])
        await topics.judged(
          {
            ...(subjectId === undefined ? {} : { subjectId }),
            revision: 2,
            label: subjectId === first ? 'rumor' : 'non-rumor',
            decidedBy: 'human',
            decision: { by: 'ann', against: null, of: '0@0' },
            seconds: 90,
          },
          'x',
        )
      const [audit, opinions, ...more] = await queue.drawSums(['default'])
      expect(more).toEqual([])
      expect(drawn.length).toBeGreaterThan(3)
      expect(audit).toEqual({
        purpose: 'audit',
        protocol: 'rumor',
        eligible: ids.length - since,
        drawn: drawn.length,
        reviewed: 2,
        differing: 1,
        waiting: drawn.length - 2,
        left: 0,
        chance: { low: 0.5, high: 0.5 },
        since: Date.parse(at(since)),
      })
      expect(opinions).toMatchObject({ purpose: 'second-opinion', eligible: 2, drawn: 2, reviewed: 0, waiting: 2 })
      expect((await queue.drawSums())[0]?.eligible).toBe(ids.length - since + 1)
      expect(await queue.drawSums([])).toEqual([])
    })
  })
}
