import { afterEach, describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { aVerdict } from '../support/verdicts.ts'
import { at, DAY, feed, KEEP } from './record.ts'

/** What the ledger of draws promises, of every record. */
export function drawLedgerContract(
  where: string,
  make: (
    review: QueueRules & DrawShares & { readonly drawKey?: string },
  ) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`the ledger of draws ${where}`, () => {
    const open: { close(): Promise<void> }[] = []
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })
    async function start(shares: Partial<DrawShares> & { readonly drawKey?: string }) {
      const { store, queue } = await make({ costs: {}, ownCaseAfter: DAY, auditShare: 0, blindShare: 0, ...shares })
      open.push(queue, store)
      return { store, queue, topics: feed(store) }
    }
    const told = async (queue: ReviewQueue, tenants?: readonly string[]) =>
      (await queue.drawnRates(tenants))
        .filter(({ part }) => part === 'all')
        .map(
          ({ purpose, counted, differing, waiting, next }) =>
            `${purpose}: ${differing} of ${counted}, ${waiting} waiting${next === null ? '' : ` for ${next}`}`,
        )
    const human = (label: string, revision: number, change: Partial<Verdict> = {}) =>
      ({ decidedBy: 'human', label, revision, decision: { by: 'ann', against: null, of: '0@0' }, ...change }) as const

    it('has a subject once, whichever of its verdicts people look at, and what they say of the one that stood', async () => {
      const { queue, topics, store } = await start({ auditShare: 1 })
      await topics.judged({ label: 'rumor', decidedBy: 'consensus' }, 'x')
      await topics.judged({ label: 'non-rumor', decidedBy: 'consensus', revision: 2, seconds: 50 }, 'x')
      expect(await told(queue)).toEqual(['audit: 0 of 0, 1 waiting for rumor~p~r2'])
      // It waits since it was drawn first.
      expect((await queue.list({}, 9, Date.parse(at(60)))).items).toMatchObject([{ since: Date.parse(at(0)) }])
      await topics.judged(human('rumor', 3, {}), 'x')
      expect(await told(queue)).toEqual(['audit: 1 of 1, 0 waiting'])
      expect(await queue.drawnRates()).toMatchObject([
        { part: 'all', share: 1, effective: 1 },
        { part: 'label', value: 'non-rumor', differing: 1 },
        { part: 'language', value: '(none named)' },
      ])
      expect(await told(queue, ['acme'])).toEqual([])
      // Withdrawn, it waits again.
      await topics.judged({ label: 'non-rumor', decidedBy: 'consensus', revision: 4, seconds: 70 }, 'x')
      expect(await told(queue)).toEqual(['audit: 0 of 0, 1 waiting for rumor~p~r4'])
      await topics.judged(human('non-rumor', 5), 'x')
      expect(await told(queue)).toEqual(['audit: 0 of 1, 0 waiting'])
      const subject = { tenant: 'default', kind: 'post', postId: 'p' } as const
      expect(await store.auditChance(subject, 'rumor')).toBe(1)
      expect(await store.auditChance(subject, 'hate')).toBeNull()
      expect(await store.auditChance({ ...subject, tenant: 'acme' }, 'rumor')).toBeNull()
      await store.tidy(Date.parse(at(0)) + KEEP + DAY)
      expect(await told(queue)).toEqual([])
    })

    it('counts nothing of a person to whom an image could not be shown, and waits for nothing of theirs', async () => {
      const { queue, topics } = await start({ auditShare: 1, blindShare: 1 })
      const unseen = { decision: { by: 'ann', against: null, of: '0@0', unseen: true } } as const
      await topics.judged({ decidedBy: 'consensus' }, 'x')
      await topics.judged(human('non-rumor', 2, unseen), 'x')
      expect(await told(queue)).toEqual([])
      await topics.judged(human('non-rumor', 3), 'x')
      expect(await told(queue)).toEqual([
        'audit: 1 of 1, 0 waiting',
        'second-opinion: 0 of 0, 1 waiting for rumor~p~r3',
      ])
    })

    it('has controls with their own chance, whose results are known at once', async () => {
      const { queue, topics } = await start({})
      const control = (chance: number, without?: string) => ({
        debated: { held: true, why: 'control', chance, ...(without === undefined ? {} : { without }) },
      })
      await topics.judged({ subjectId: 'a', ...control(0.5, 'rumor') }, 'x')
      await topics.judged({ subjectId: 'b', ...control(0.5) }, 'x')
      await topics.judged({ subjectId: 'c', ...control(0.1, 'non-rumor') }, 'x')
      // No chance at all is none, and what was debated for another reason is no control.
      await topics.judged({ subjectId: 'd', ...control(0, 'non-rumor') }, 'x')
      await topics.judged({ subjectId: 'e', debated: { held: true, why: 'contested', chance: 0.5, without: 'x' } }, 'x')
      expect(await told(queue)).toEqual(['control: 1 of 3, 0 waiting'])
      expect((await queue.drawnRates())[0]?.share).toBeCloseTo(10 / 14, 12)
    })

    it('tells by language, as soon as it is known, and of all of a subject’s draws', async () => {
      const { queue, topics } = await start({ auditShare: 1, blindShare: 1 })
      const languages = async () =>
        (await queue.drawnRates()).flatMap(({ purpose, part, value }) =>
          part === 'language' ? [`${purpose} ${value}`] : [],
        )
      await topics.judged({ label: 'rumor', decidedBy: 'consensus' }, null)
      expect(await languages()).toEqual(['audit (none named)'])
      await topics.judged({ label: 'rumor', decidedBy: 'consensus', revision: 2, seconds: 9 }, 'x', {}, { lang: 'ko' })
      expect(await languages()).toEqual(['audit ko'])
      await topics.judged(human('rumor', 3, {}), null)
      expect(await languages()).toEqual(['audit ko', 'second-opinion ko'])
      await topics.judged({ label: 'rumor', decidedBy: 'consensus', revision: 4, seconds: 20 }, 'x', {}, { lang: 'ar' })
      expect(await languages()).toEqual(['audit ar'])
    })

    it('names who decided of late by the last decisions of each alone, so that nobody’s work makes it slow', async () => {
      const { queue, topics } = await start({})
      const said = { protocol: 'rumor', label: 'rumor', against: 1, why: 'w', by: 'ann' }
      const decide = (tenant: string, n: number) =>
        topics.send('decisions', `s${n}`, { ...said, subjectId: `s${n}`, tenant, at: at(n) }, n)
      await decide('default', 0)
      await topics.together(async () => {
        for (let n = 1; n < 200; n++) await decide('acme', n)
      })
      expect(await queue.deciders('default', 0, 9)).toEqual(['ann'])
      await decide('acme', 200)
      expect([await queue.deciders('default', 0, 9), await queue.deciders('acme', 0, 9)]).toEqual([[], ['ann']])
    })

    it('has people’s verdicts that are drawn for a second opinion, each by itself', async () => {
      const { queue, topics } = await start({ blindShare: 1 })
      await topics.judged(human('rumor', 1), 'x')
      expect(await told(queue)).toEqual(['second-opinion: 0 of 0, 1 waiting for rumor~p~r1'])
      const opinion = { subjectId: 'p', tenant: 'default', protocol: 'rumor', against: 1, why: 'w', at: at(30) }
      await topics.send('decisions', 'p', { ...opinion, opinion: true, label: 'non-rumor', by: 'ben' }, 30)
      expect(await told(queue)).toEqual(['second-opinion: 1 of 1, 0 waiting'])
      // What replaces it is another item; the first one's result stays.
      await topics.judged(human('non-rumor', 2, { decision: { by: 'cay', against: null, of: '0@1' } }), 'x')
      expect(await told(queue)).toEqual(['second-opinion: 1 of 1, 1 waiting for rumor~p~r2'])
    })

    it('counts no second opinion of who could not see an image, and asks for no other', async () => {
      const { queue, topics } = await start({ blindShare: 1 })
      await topics.judged(human('rumor', 1), 'x')
      const opinion = { subjectId: 'p', tenant: 'default', protocol: 'rumor', against: 1, why: 'w', opinion: true }
      const given = (by: string, seconds: number, more: object) =>
        topics.send('decisions', 'p', { ...opinion, by, at: at(seconds), label: 'non-rumor', ...more }, seconds)
      await given('ben', 30, { unseen: true })
      expect(await told(queue)).toEqual([])
      expect(await queue.state()).toEqual({ queue: [], agreement: [] })
      const period = { since: Date.parse(at(0)), until: Date.parse(at(500)) }
      expect((await queue.peopleQuality(period)).map(({ by }) => by)).toEqual([])
      // Somebody else saw it.
      await given('cay', 40, {})
      expect(await told(queue)).toEqual(['second-opinion: 1 of 1, 0 waiting'])
      expect((await queue.state()).agreement).toMatchObject([{ beside: 'person', agrees: false, verdicts: 1 }])
    })

    it('counts no second opinion of who had seen the label, and waits for one of somebody else', async () => {
      const { queue, topics } = await start({ blindShare: 1 })
      await topics.judged(human('rumor', 1), 'x')
      const opinion = { subjectId: 'p', tenant: 'default', protocol: 'rumor', against: 1, why: 'w', opinion: true }
      const given = (by: string, seconds: number, more: object) =>
        topics.send('decisions', 'p', { ...opinion, by, at: at(seconds), label: 'rumor', ...more }, seconds)
      await given('ben', 30, { sawLabel: true })
      expect(await told(queue)).toEqual(['second-opinion: 0 of 0, 1 waiting for rumor~p~r1'])
      expect((await queue.state()).agreement).toEqual([])
      const waits = async (person: string) => (await queue.list({ for: person }, 9, Date.parse(at(50)))).items.length
      expect([await waits('ben'), await waits('cay')]).toEqual([0, 1])
      await given('cay', 40, { sawLabel: false })
      expect(await told(queue)).toEqual(['second-opinion: 0 of 1, 0 waiting'])
      const period = { since: Date.parse(at(0)), until: Date.parse(at(500)) }
      expect((await queue.peopleQuality(period)).map(({ by, opinions }) => [by, opinions])).toEqual([['cay', 1]])
    })

    it('waits for no second opinion on what was replaced', async () => {
      const { queue, topics } = await start({ blindShare: 1 })
      await topics.judged(human('rumor', 1), 'x')
      await topics.judged({ label: 'non-rumor', decidedBy: 'consensus', revision: 2, seconds: 20 }, 'x')
      expect(await told(queue)).toEqual([])
      await topics.judged(human('rumor', 3), 'x')
      expect(await told(queue)).toEqual(['second-opinion: 0 of 0, 1 waiting for rumor~p~r3'])
    })

    it('is erased with the post, but for what was drawn since', async () => {
      const { queue, topics } = await start({ auditShare: 1, blindShare: 1 })
      await topics.judged({ decidedBy: 'consensus' }, 'x')
      await topics.judged(human('non-rumor', 2), 'x')
      await topics.judged({ subjectId: 'q', decidedBy: 'consensus' }, 'x')
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 60)
      expect(await told(queue)).toEqual(['audit: 0 of 0, 1 waiting for rumor~q~r1'])
      // Its next life came before its deletion was read.
      await topics.judged({ subjectId: 'q', decidedBy: 'consensus', revision: 2, seconds: 90 }, 'x')
      await topics.send('posts', 'q', { id: 'q', createdAt: at(0), deleted: true }, 60)
      expect(await told(queue)).toEqual(['audit: 0 of 0, 1 waiting for rumor~q~r2'])
      expect((await queue.list({}, 9, Date.parse(at(99)))).items).toMatchObject([{ since: Date.parse(at(90)) }])
    })

    it('is beside what people decided, by person: what took effect, and what others overturned', async () => {
      const { queue, topics } = await start({})
      const period = { since: Date.parse(at(0)), until: Date.parse(at(500)) }
      const decide = async (subjectId: string, by: string, label: string | null, against: number, seconds: number) => {
        const given = label === null ? { withdraw: true } : { label }
        const message = {
          subjectId,
          tenant: 'default',
          protocol: 'rumor',
          against,
          why: 'w',
          by,
          at: at(seconds),
          seconds,
          ...given,
        }
        await topics.send('decisions', subjectId, message, seconds)
        const made =
          label === null
            ? { decidedBy: 'consensus' as const }
            : human(label, 0, { decision: { by, against: null, of: '0@0' } })
        await topics.send(
          'verdicts',
          subjectId,
          aVerdict(at(seconds), { subjectId, ...made, revision: against + 1 }),
          seconds,
        )
      }
      for (let n = 0; n < 10; n++) await decide(`s${n}`, 'ann', 'rumor', 1, n)
      await decide('s1', 'ben', 'non-rumor', 2, 100)
      await decide('s2', 'ben', null, 2, 101)
      await decide('late', 'ann', 'rumor', 1, 600)
      const opinion = {
        subjectId: 's3',
        tenant: 'default',
        protocol: 'rumor',
        against: 2,
        why: 'w',
        label: 'rumor',
        opinion: true,
      }
      await topics.send('decisions', 's3', { ...opinion, by: 'cay', at: at(102) }, 102)
      expect(await queue.deciders('default', Date.parse(at(0)), 9)).toEqual(['ann', 'ben', 'cay'])
      expect(await queue.deciders('default', Date.parse(at(101)), 9)).toEqual(['ann', 'ben', 'cay'])
      expect(await queue.deciders('default', Date.parse(at(102)), 9)).toEqual(['ann', 'cay'])
      expect(await queue.deciders('default', Date.parse(at(0)), 1)).toEqual(['ann'])
      expect(await queue.deciders('acme', 0, 9)).toEqual([])
      const none = { blindAgreement: null, golden: null, seconds: null, overturned: null }
      expect(await queue.peopleQuality(period)).toEqual([
        {
          by: 'ann',
          decisions: 10,
          opinions: 0,
          blindAgreement: null,
          golden: null,
          seconds: 4.5,
          overturned: { times: 2, of: 10 },
        },
        { by: 'ben', decisions: 1, opinions: 0, ...none },
        { by: 'cay', decisions: 0, opinions: 1, ...none },
      ])
      expect(await queue.peopleQuality(period, ['acme'])).toEqual([])
      expect(await queue.peopleQuality({ ...period, since: Date.parse(at(100)) }, ['default'])).toMatchObject([
        { by: 'ben', decisions: 1 },
        { by: 'cay', opinions: 1 },
      ])
    })

    it('is the same where it is made anew by the same key, whatever the order of subjects', async () => {
      const messages = Array.from({ length: 30 }, (_, n) => ({
        subjectId: `s${n}`,
        seconds: n,
        decidedBy: 'consensus' as const,
        debated: { held: true, why: 'control', chance: 0.3, without: n % 2 === 0 ? 'rumor' : 'non-rumor' },
      }))
      const of = async (all: typeof messages) => {
        const { queue, store, topics } = await start({ auditShare: 0.4, drawKey: 'the same' })
        for (const one of all) await topics.judged(one, 'x')
        const [some] = all
        if (some !== undefined)
          for (const one of all) await topics.judged({ ...one, revision: 2, seconds: one.seconds + 100 }, 'x')
        const sampled: string[] = []
        for await (const { verdicts, subject } of store.export()) {
          // Of one subject each verdict is drawn, or none.
          expect(new Set(verdicts.map((one) => one.sampled)).size).toBe(1)
          if (verdicts[0]?.sampled === true) sampled.push(subject.postId)
        }
        return { rates: await queue.drawnRates(), sampled: sampled.sort() }
      }
      const first = await of(messages)
      expect(first.sampled.length).toBeGreaterThan(4)
      expect(first.sampled.length).toBeLessThan(22)
      expect(first.rates[0]).toMatchObject({ purpose: 'audit', waiting: first.sampled.length })
      expect(await of(messages.toReversed())).toEqual(first)
    })
  })
}
