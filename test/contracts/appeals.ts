import { afterEach, describe, expect, it } from 'vitest'
import type { AppealOutcome } from '../../src/contracts/facts/appeal-messages.ts'
import type { Review } from '../../src/contracts/facts/decision-messages.ts'
import type { RecordStore } from '../../src/contracts/ports/record.ts'
import type { ReviewQueue } from '../../src/contracts/ports/review.ts'
import type { AppealLimits } from '../../src/record/appeals.ts'
import { askReversals } from '../../src/record/ask-reversals.ts'
import type { DrawShares } from '../../src/record/draws.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { at, DAY, feed } from './record.ts'

const T0 = Date.parse(at(0))
const HOUR = 3_600
const POST = { tenant: 'default', id: 'p', kind: 'post' } as const

/** What becomes of appeals, in every record: each has one outcome. */
export function appealsContract(
  where: string,
  make: (
    review: QueueRules & DrawShares & { appeals?: AppealLimits },
  ) => Promise<{ store: RecordStore; queue: ReviewQueue }>,
): void {
  describe(`appeals ${where}`, () => {
    const open: { close(): Promise<void> }[] = []
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })

    async function start(appeals: AppealLimits = { perContact: 20, perTenant: 100 }) {
      const { store, queue } = await make({ costs: {}, ownCaseAfter: DAY, auditShare: 0, blindShare: 0, appeals })
      open.push(queue, store)
      const topics = feed(store)
      let decisions = 0
      let asked = T0 + 1e9
      const appeal = (id: string, seconds: number, more: Record<string, unknown> = {}) => {
        const { tenant = 'default' } = more
        const own = { by: 'author', text: 'I quoted somebody', contact: 'case 1', at: at(seconds) }
        const about = ['verdictId', 'subjectId', 'actionId', 'withdraw'].some((name) => name in more)
        const against = about ? {} : { verdictId: 'rumor~p~r1' }
        return topics.send('appeals', id, { id, tenant, ...own, ...against, ...more }, seconds)
      }
      /** A person's verdict, from a decision that names these appeals. */
      const decide = async (
        by: string,
        seconds: number,
        revision: number,
        label: string,
        appeals?: string[],
        measure?: 'keep' | 'lessen' | 'lift',
      ) => {
        const of = `0@${decisions++}`
        const decision = {
          subjectId: 'p',
          protocol: 'rumor',
          label,
          against: revision - 1,
          by,
          why: 'w',
          code: 'context',
        }
        const answers = { ...(appeals && { appeals }), ...(measure && { measure }) }
        await topics.send('decisions', 'p', { ...decision, at: at(seconds), ...answers }, seconds)
        const made = { decidedBy: 'human', revision, label, decision: { by, against: null, of } } as const
        await topics.judged({ ...made, seconds: seconds + 1 }, 'The bridge is closed')
      }
      const opine = (by: string, seconds: number) => {
        decisions++
        const opinion = { subjectId: 'p', protocol: 'rumor', label: 'rumor', against: 1, by, why: 'w', opinion: true }
        return topics.send('decisions', 'p', { ...opinion, at: at(seconds) }, seconds)
      }
      /** What is told now, and as it is on its topic. */
      const told = async () => {
        asked += DAY
        const all = await store.untoldAppeals(asked, 100)
        for (const { outcome } of all) await topics.send('appealOutcomes', outcome.id, outcome, 1e6)
        return all
          .map(({ outcome }) => outcome)
          .map(({ schema: _, tenant, subjectId, kind, subjectKind, at: __, ...one }: AppealOutcome) => one)
      }
      const waits = async (person = 'ann') =>
        (await queue.list({ for: person }, 9, T0 + DAY)).items.map(({ verdict, reasons }) => `${verdict} ${reasons}`)
      return { store, queue, topics, appeal, decide, opine, told, waits }
    }

    it('has one wait for a person, and tells once how it ended', async () => {
      const { store, topics, appeal, decide, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      expect(await waits()).toEqual([])
      await appeal('e1', 60)
      await appeal('e1', 61)
      expect(await waits()).toEqual(['rumor~p~r1 appealed'])
      expect(await store.openAppeals(T0 + 59_000)).toEqual({
        open: 1,
        overdue: 0,
        oldest: T0 + 60_000,
        unjudged: 0,
        wordless: 0,
      })
      expect(await store.openAppeals(T0 + 60_000)).toMatchObject({ overdue: 1 })
      expect((await store.subject(POST))?.said).toMatchObject([
        { said: 'appeal', protocol: 'rumor', label: null, by: 'author', message: { text: 'I quoted somebody' } },
      ])
      expect(await told()).toEqual([])
      await decide('ann', 70, 2, 'non-rumor', ['e1'])
      const outcome = { id: 'e1', outcome: 'reversed', protocol: 'rumor', verdict: 'rumor~p~r2', label: 'non-rumor' }
      expect(await told()).toEqual([{ ...outcome, code: 'context' }])
      expect(await told()).toEqual([])
      expect(await waits()).toEqual([])
      const whole = {
        outcome: { ...outcome, code: 'context' },
        subject: { postId: 'p' },
        by: 'author',
        isUndone: false,
      }
      expect(await store.appeals('default', { id: 'e1' })).toMatchObject([whole])
      const period = { since: T0, until: T0 + 60_001, after: null, most: 9 }
      const [first = null] = await store.appeals('default', period)
      expect([first?.id, await store.appeals('default', { ...period, after: first })]).toEqual(['e1', []])
      expect(await store.appeals('default', { ...period, until: T0 + 60_000 })).toEqual([])
      expect(await store.subjectsNamed('e1', ['acme', 'default'])).toMatchObject([{ postId: 'p', kind: 'post' }])
      await topics.judged({ decidedBy: 'consensus', label: 'rumor', revision: 3, seconds: 80 }, 'x')
      expect(await store.appeals('default', { id: 'e1' })).toMatchObject([{ isUndone: true }])
      expect(await store.openAppeals(T0 + DAY)).toMatchObject({ open: 0, oldest: null })
      expect((await store.subject(POST))?.said.find(({ said }) => said === 'appeal')).toMatchObject({
        label: 'reversed',
      })
    })

    it('keeps what an open appeal is against, with all words, until somebody answers it', async () => {
      const { store, topics, appeal, decide, told, waits } = await start()
      const days = (n: number) => (n * DAY) / 1_000
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await topics.judged({ decidedBy: 'consensus', label: 'rumor', subjectId: 'other' }, 'The harbour is closed')
      await appeal('e1', days(196))
      for (let step = 0; step < 3; step++) await store.tidy(T0 + 201 * DAY + step)
      expect(await store.subject({ ...POST, id: 'other' })).toBeNull()
      expect(await waits()).toEqual(['rumor~p~r1 appealed'])
      expect(await store.transcript('rumor~p~r1')).not.toBeNull()
      expect((await store.search('bridge', {}, 9)).found).toMatchObject([{ verdict: { id: 'rumor~p~r1' } }])
      // Also once the appeal itself is as old.
      for (let step = 0; step < 3; step++) await store.tidy(T0 + 400 * DAY + step)
      expect(await waits()).toEqual(['rumor~p~r1 appealed'])
      await decide('ann', days(402), 2, 'non-rumor', ['e1'])
      for (let step = 0; step < 3; step++) await store.tidy(T0 + 403 * DAY + step)
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'reversed' }])
      expect((await store.subject(POST))?.verdicts.map(({ verdict }) => verdict.id)).toEqual(['rumor~p~r2'])
    })

    it('sends what was not seen on its topic again, ever more rarely, and counts it once', async () => {
      const { store, topics, appeal } = await start()
      await appeal('e1', 60, { withdraw: true })
      const outcome = { schema: 1, id: 'e1', tenant: 'default', outcome: 'withdrawn', at: at(60) }
      const sent: number[] = []
      const begun = T0 + DAY
      for (let minute = 0; minute <= 130; minute++)
        for (const untold of await store.untoldAppeals(begun + minute * 60_000, 9)) {
          expect(untold).toEqual({ outcome, isNew: sent.length === 0 })
          sent.push(minute)
        }
      expect(sent).toEqual([0, 1, 3, 7, 15, 31, 63, 127])
      await topics.send('appealOutcomes', 'e1', outcome, 1e6)
      expect(await store.untoldAppeals(begun + 9 * DAY, 9)).toEqual([])
    })

    it('is found by its id once it was withdrawn, and in its own tenant alone', async () => {
      const { store, topics, appeal } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'x')
      await appeal('e1', 60)
      await appeal('e1', 61, { withdraw: true })
      expect(await store.appeals('default', { id: 'e1' })).toMatchObject([{ outcome: { outcome: 'withdrawn' } }])
      expect(await store.subjectsNamed('e1', ['default'])).toMatchObject([{ postId: 'p', kind: 'post' }])
      expect(await store.subjectsNamed('e1', ['acme'])).toEqual([])
    })

    it('tells a flood after what others wait to hear', async () => {
      const { store, appeal } = await start({ perContact: 1, perTenant: 100 })
      for (let nth = 0; nth < 20; nth++)
        await appeal(`f${nth}`, 60 + nth, { by: 'notifier', contact: 'one', subjectId: `p${nth}` })
      await appeal('e1', 90, { withdraw: true, tenant: 'acme' })
      const told = await store.untoldAppeals(T0 + DAY, 2)
      expect(told.map(({ outcome: { id, outcome } }) => [id, outcome])).toEqual([
        ['e1', 'withdrawn'],
        ['f1', 'too-many'],
      ])
    })

    it('tells of other tenants beside what one has end by the thousand, withdrawn before it came', async () => {
      const { store, topics, appeal } = await start()
      await topics.together(async () => {
        for (let nth = 0; nth < 30; nth++) await appeal(`w${nth}`, 60 + nth, { withdraw: true, tenant: 'acme' })
      })
      for (const tenant of ['default', 'zeta']) await appeal('e1', 99, { withdraw: true, tenant })
      const told = await store.untoldAppeals(T0 + DAY, 10)
      expect(told).toHaveLength(6)
      expect(
        told
          .slice(-2)
          .map(({ outcome: { tenant } }) => tenant)
          .sort(),
      ).toEqual(['default', 'zeta'])
    })

    it('forgets what it knows nothing of, a day after that was told', async () => {
      const { store, appeal, told } = await start()
      await appeal('w1', 60, { withdraw: true })
      expect(await told()).toMatchObject([{ id: 'w1', outcome: 'withdrawn' }])
      // Where its topic may be read anew, the appeal may be yet to come.
      await store.tidy(T0 + 9 * DAY, T0)
      await appeal('w1', 61)
      expect(await store.openAppeals(T0)).toMatchObject({ open: 0 })
      await appeal('w2', 62, { withdraw: true })
      await told()
      await store.tidy(T0 + 9 * DAY)
      await appeal('w2', 63)
      expect(await store.openAppeals(T0)).toMatchObject({ open: 1 })
    })

    it('goes to nobody who decided before, also as a lead and after long, and no such decision answers it', async () => {
      const { queue, topics, appeal, decide, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await decide('ann', 10, 2, 'rumor')
      await appeal('e1', 60, { verdictId: 'rumor~p~r2' })
      expect(await waits('ann')).toEqual([])
      expect(await waits('ben')).toEqual(['rumor~p~r2 appealed'])
      const asLead = { for: 'ann', lead: {} } as const
      expect(await queue.reserve('rumor~p~r2', asLead, T0 + 9 * DAY, T0 + 8 * DAY)).toEqual({ outcome: 'own' })
      await decide('ann', 70, 3, 'non-rumor', ['e1'])
      expect(await told()).toEqual([])
      expect(await waits('ben')).toEqual(['rumor~p~r3 appealed'])
      await decide('ben', 80, 4, 'rumor', ['e1'])
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'upheld', verdict: 'rumor~p~r4' }])
    })

    it('goes to nobody who acted on its subject, or gave an opinion on it, and no decision of theirs answers it', async () => {
      const { topics, appeal, decide, opine, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      const acted = (id: string, by: string, seconds: number, more = {}) =>
        topics.send(
          'actions',
          'p',
          { id, subjectId: 'p', what: 'remove', source: 'notice', by, since: at(20), at: at(20), ...more },
          seconds,
        )
      await acted('a1', 'ann', 20, { verdictId: 'rumor~p~r1' })
      // Of the whole post, by no protocol; and of another protocol's verdict.
      await acted('a2', 'ben', 21)
      await acted('a3', 'cay', 22, { protocol: 'hate' })
      await opine('dan', 23)
      await appeal('e1', 60, { actionId: 'a1' })
      for (const person of ['ann', 'ben', 'dan']) expect([person, await waits(person)]).toEqual([person, []])
      expect(await waits('cay')).toEqual(['rumor~p~r1 appealed'])
      for (const [nth, person] of ['ann', 'ben', 'dan'].entries()) {
        await decide(person, 70 + nth, 2 + nth, 'non-rumor', ['e1'])
        expect([person, await told()]).toEqual([person, []])
      }
      await decide('cay', 80, 5, 'non-rumor', ['e1'])
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'reversed', verdict: 'rumor~p~r5' }])
    })

    it('is answered by who acts on their own decision, also before its verdict comes', async () => {
      const { topics, appeal, decide, told } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('e1', 60)
      // The decision is of 70, its verdict of 71.
      const restored = {
        id: 'a1',
        subjectId: 'p',
        what: 'restore',
        source: 'notice',
        by: 'ben',
        since: at(70),
        at: at(70),
      }
      await topics.send('actions', 'p', restored, 70.5)
      await decide('ben', 70, 2, 'non-rumor', ['e1'])
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'reversed', verdict: 'rumor~p~r2' }])
    })

    it('stays open where a decision does not name it, and ends with one that names several', async () => {
      const { topics, appeal, decide, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('e1', 60)
      await appeal('e2', 61, { by: 'notifier', contact: 'case 2' })
      await decide('ann', 70, 2, 'rumor')
      expect(await told()).toEqual([])
      expect(await waits('ben')).toEqual(['rumor~p~r2 appealed'])
      await decide('ben', 80, 3, 'rumor', ['e1', 'e2', 'e3'])
      expect(await told()).toMatchObject([
        { id: 'e1', outcome: 'upheld' },
        { id: 'e2', outcome: 'upheld' },
      ])
    })

    it('is repeated where the same party waits, or has the answer that is in force', async () => {
      const { topics, appeal, decide, told } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('e1', 60)
      await appeal('e2', 61, { contact: 'another of theirs' })
      await appeal('n1', 62, { by: 'notifier', contact: 'case 7' })
      await appeal('n2', 63, { by: 'notifier', contact: 'case 8' })
      await appeal('n3', 64, { by: 'notifier', contact: 'case 7', verdictId: undefined, subjectId: 'p' })
      expect(await told()).toMatchObject([
        { id: 'e2', outcome: 'repeated', earlier: 'e1' },
        { id: 'n3', outcome: 'repeated', earlier: 'n1' },
      ])
      await decide('ann', 70, 2, 'rumor', ['e1', 'n1', 'n2'])
      expect(await told()).toHaveLength(3)
      await appeal('e3', 80, { verdictId: 'rumor~p~r2' })
      expect(await told()).toMatchObject([{ id: 'e3', outcome: 'repeated', earlier: 'e1' }])
    })

    it('is superseded by another label, and joins the same one', async () => {
      const { topics, appeal, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await topics.judged({ decidedBy: 'consensus', label: 'non-rumor', revision: 2, seconds: 5 }, 'x')
      await appeal('e1', 60)
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'superseded', verdict: 'rumor~p~r2' }])
      await topics.judged({ decidedBy: 'consensus', label: 'rumor', revision: 3, seconds: 65 }, 'x')
      await appeal('e2', 70)
      expect(await waits()).toEqual(['rumor~p~r3 appealed'])
      // Who was told so may appeal against the newer ruling.
      await topics.judged({ decidedBy: 'consensus', label: 'non-rumor', subjectId: 'q' }, 'x')
      await topics.judged({ decidedBy: 'consensus', label: 'rumor', subjectId: 'q', revision: 2, seconds: 5 }, 'x')
      await appeal('q1', 80, { verdictId: 'rumor~q~r1' })
      await appeal('q2', 81, { verdictId: 'rumor~q~r2' })
      expect((await told()).map(({ id, outcome }) => [id, outcome])).toEqual([['q1', 'superseded']])
    })

    it('is superseded only once all is read that was done before it: where something was, a person answers', async () => {
      const { store, topics, appeal, decide, told, waits } = await start()
      for (const subjectId of ['p', 'q']) {
        const own = { decidedBy: 'consensus', subjectId } as const
        await topics.judged({ ...own, label: 'rumor' }, 'The bridge is closed')
        await topics.judged({ ...own, label: 'non-rumor', revision: 2, seconds: 5 }, 'x')
        await appeal(`of ${subjectId}`, 60, { verdictId: `rumor~${subjectId}~r1` })
      }
      expect(await store.untoldAppeals(T0 + DAY, 9, T0 + 60_000)).toEqual([])
      const action = { subjectId: 'p', verdictId: 'rumor~p~r1', what: 'remove', source: 'notice', by: 'rules' }
      await topics.send('actions', 'p', { id: 'a1', ...action, since: at(3), at: at(3) }, 3)
      expect(await waits()).toEqual(['rumor~p~r2 appealed'])
      expect(await told()).toMatchObject([{ id: 'of q', outcome: 'superseded', verdict: 'rumor~q~r2' }])
      // What comes after it was told changes nothing.
      await topics.send(
        'actions',
        'q',
        { id: 'a2', ...action, subjectId: 'q', verdictId: 'rumor~q~r1', since: at(3), at: at(3) },
        3,
      )
      expect(await store.appeals('default', { id: 'of q' })).toMatchObject([{ outcome: { outcome: 'superseded' } }])
      await decide('ann', 70, 3, 'non-rumor', ['of p'])
      expect(await told()).toMatchObject([{ id: 'of p', outcome: 'reversed' }])
    })

    it('goes to a person where what was done by the label before is in force, and is against that label', async () => {
      const { topics, appeal, decide, told, waits } = await start()
      const acts = (id: string, more: object) =>
        topics.send('actions', 'p', { id, subjectId: 'p', by: 'rules', at: at(9), ...more }, 9)
      const removed = { verdictId: 'rumor~p~r1', what: 'remove', source: 'notice', since: at(3) }
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await acts('a1', removed)
      await topics.judged({ decidedBy: 'consensus', label: 'non-rumor', revision: 2, seconds: 5 }, 'x')
      await appeal('e1', 60)
      expect(await told()).toEqual([])
      expect(await waits()).toEqual(['rumor~p~r2 appealed'])
      await decide('ann', 70, 3, 'non-rumor', ['e1'])
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'reversed', label: 'non-rumor' }])
      // What is over, or was nothing, keeps nobody waiting.
      await acts('a2', { ...removed, what: 'none' })
      await acts('a1', { withdraw: true })
      await appeal('n1', 80, { by: 'notifier' })
      expect(await told()).toMatchObject([{ id: 'n1', outcome: 'superseded' }])
    })

    it('is against what was done alone, which the answer may lessen or lift where the label stays: that is asked for', async () => {
      const { store, queue, topics, appeal, decide, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      const action = { subjectId: 'p', what: 'terminate', source: 'notice', by: 'rules', since: at(3), at: at(9) }
      for (const id of ['a1', 'a2']) await topics.send('actions', 'p', { id, verdictId: 'rumor~p~r1', ...action }, 9)
      await appeal('label', 60)
      for (const id of ['a1', 'a2']) await appeal(`of ${id}`, 61, { actionId: id, objectsTo: 'measure' })
      await appeal('again', 62, { actionId: 'a1', objectsTo: 'measure' })
      expect(await told()).toMatchObject([{ id: 'again', outcome: 'repeated', earlier: 'of a1' }])
      await decide('ann', 70, 2, 'rumor', ['label', 'of a1'], 'lift')
      const verdict = 'rumor~p~r2'
      expect(await told()).toMatchObject([
        // It names no action.
        { id: 'label', outcome: 'upheld' },
        { id: 'of a1', outcome: 'lifted', verdict, label: 'rumor', code: 'context' },
      ])
      await decide('ben', 80, 3, 'rumor', ['of a2'], 'lessen')
      expect(await told()).toMatchObject([{ id: 'of a2', outcome: 'lessened', verdict: 'rumor~p~r3' }])
      const asked: Review[] = []
      await askReversals(store, async (review) => void asked.push(review))
      expect(asked).toMatchObject([
        { id: `${verdict}~measure~a1`, why: 'measure', measure: 'lift', verdict, action: 'a1' },
        { why: 'measure', measure: 'lessen', verdict: 'rumor~p~r3', action: 'a2' },
      ])
      expect(await store.reversals(9)).toEqual([])
      for (const review of asked) await topics.send('reviews', 'p', review, 90)
      expect(await waits('cay')).toEqual(['rumor~p~r3 measure'])
      await topics.send('actions', 'p', { id: 'a2', withdraw: true, by: 'rules', at: at(95) }, 95)
      expect((await queue.list({ for: 'cay' }, 9, T0 + DAY)).items).toEqual([])
      // The answer to what is over already asks for nothing.
      await appeal('late', 96, { by: 'notifier', contact: 'case 2', actionId: 'a2', objectsTo: 'measure' })
      await decide('dan', 97, 4, 'rumor', ['late'], 'lift')
      expect([(await told())[0]?.outcome, await store.reversals(9)]).toEqual(['lifted', []])
    })

    it('is against a refusal to act, of which there is nothing to lessen or to lift', async () => {
      const { store, topics, appeal, decide, told } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      const action = { subjectId: 'p', what: 'none', source: 'notice', by: 'rules', since: at(3), at: at(9) }
      await topics.send('actions', 'p', { id: 'a1', verdictId: 'rumor~p~r1', ...action }, 9)
      await appeal('n1', 60, { by: 'notifier', actionId: 'a1', objectsTo: 'measure' })
      await decide('ann', 70, 2, 'rumor', ['n1'], 'lessen')
      expect([await told(), await store.reversals(9)]).toMatchObject([[{ id: 'n1', outcome: 'upheld' }], []])
    })

    it('waits for the verdict that it names, and is unknown where none comes', async () => {
      const { store, topics, appeal, told, waits } = await start()
      await appeal('e1', 60)
      await appeal('e2', 61, { verdictId: 'rumor~never~r1' })
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      expect(await waits()).toEqual(['rumor~p~r1 appealed'])
      await store.tidy(T0 + (HOUR + 60) * 1_000)
      expect(await told()).toEqual([])
      // What the record has still to read may be its verdict.
      await store.tidy(T0 + (HOUR + 62) * 1_000, T0 + (HOUR + 60) * 1_000)
      expect(await told()).toEqual([])
      await store.tidy(T0 + (HOUR + 62) * 1_000)
      expect(await told()).toMatchObject([{ id: 'e2', outcome: 'unknown' }])
    })

    it('finds what an action is about, also where the action comes later', async () => {
      const { store, topics, appeal, decide, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      const action = { subjectId: 'p', verdictId: 'rumor~p~r1', what: 'remove', source: 'notice', by: 'cay' }
      const act = (id: string) => topics.send('actions', 'p', { id, ...action, since: at(20), at: at(20) }, 20)
      await act('a1')
      await appeal('e1', 60, { actionId: 'a1' })
      await appeal('n1', 61, { actionId: 'a2', by: 'notifier', contact: 'case 2' })
      await appeal('n2', 62, { actionId: 'a1', by: 'notifier', contact: 'case 3', tenant: 'acme' })
      expect(await waits()).toEqual(['rumor~p~r1 appealed'])
      await act('a2')
      const words = (await store.subject(POST))?.said.filter(({ said }) => said === 'appeal')
      expect(words?.map(({ protocol, label }) => [protocol, label])).toEqual([
        ['rumor', null],
        ['rumor', null],
      ])
      await decide('ann', 70, 2, 'non-rumor', ['e1', 'n1'])
      expect(await told()).toMatchObject([
        { id: 'e1', outcome: 'reversed', protocol: 'rumor' },
        { id: 'n1', outcome: 'reversed' },
      ])
      await store.tidy(T0 + (HOUR + 63) * 1_000)
      expect(await told()).toEqual([{ id: 'n2', outcome: 'unknown' }])
    })

    it('follows its action onto its subject, unless it is one of a flood', async () => {
      const { store, topics, appeal } = await start({ perContact: 1, perTenant: 100 })
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('n1', 60, { actionId: 'a1', by: 'notifier' })
      await appeal('n2', 61, { actionId: 'a1', by: 'notifier' })
      const action = { id: 'a1', subjectId: 'p', verdictId: 'rumor~p~r1', what: 'remove', source: 'notice', by: 'cay' }
      await topics.send('actions', 'p', { ...action, since: at(20), at: at(20) }, 20)
      expect((await store.untoldAppeals(T0 + DAY, 9)).map(({ outcome }) => [outcome.id, outcome.subjectId])).toEqual([
        ['n2', undefined],
      ])
      expect(await store.openAppeals(T0)).toMatchObject({ open: 1, unjudged: 0 })
    })

    it('asks for the protocol where several have judged', async () => {
      const { topics, appeal, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'x')
      await topics.judged({ decidedBy: 'consensus', label: 'hate', protocol: 'hate' }, 'x')
      await appeal('e1', 60, { subjectId: 'p' })
      await appeal('e2', 61, { subjectId: 'p', protocol: 'hate' })
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'unclear' }])
      expect(await waits()).toEqual(['hate~p~r1 appealed'])
    })

    it('ends with its subject, and with its withdrawal, and no word of it is left', async () => {
      const { store, topics, appeal, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('e1', 60)
      await appeal('e2', 61, { by: 'notifier', contact: 'case 2' })
      await appeal('e2', 62, { withdraw: true })
      expect((await store.subject(POST))?.said).toHaveLength(1)
      expect(await told()).toMatchObject([{ id: 'e2', outcome: 'withdrawn' }])
      await topics.send('posts', 'p', { id: 'p', createdAt: at(0), deleted: true }, 70)
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'deleted' }])
      expect((await store.subject(POST))?.said ?? []).toEqual([])
      expect(await waits()).toEqual([])
      await appeal('e3', 71)
      expect(await told()).toMatchObject([{ id: 'e3', outcome: 'deleted' }])
      expect((await store.subject(POST))?.said ?? []).toEqual([])
    })

    it('has the words that its outcome leaves it, whichever of both is read first', async () => {
      const { store, queue, topics, appeal } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      const ended = (id: string, outcome: string) =>
        topics.send('appealOutcomes', id, { schema: 1, id, tenant: 'default', outcome, at: at(90) }, 91)
      await appeal('late-gone', 60)
      await appeal('late-kept', 61, { by: 'notifier', contact: 'case 2' })
      for (const when of ['late', 'early'])
        for (const [name, outcome] of [
          ['gone', 'deleted'],
          ['kept', 'reversed'],
        ] as const)
          await ended(`${when}-${name}`, outcome)
      await appeal('early-gone', 62, { by: 'notifier', contact: 'case 3' })
      await appeal('early-kept', 63, { by: 'notifier', contact: 'case 4' })
      const said = (await store.subject(POST))?.said.map(({ id, label }) => `${id} ${label}`)
      expect(said?.sort()).toEqual(['appeal default/early-kept reversed', 'appeal default/late-kept reversed'])
      expect(await store.openAppeals(T0)).toMatchObject({ open: 0 })
      expect((await queue.list({ for: 'ann' }, 9, T0 + DAY)).items).toEqual([])
    })

    it('leaves no word behind its subject, also where its action comes late, or behind a deletion', async () => {
      const { store, topics, appeal, told } = await start()
      const words = async (kind: 'post' | 'asked', id: string) =>
        (await store.subject({ ...POST, kind, id }))?.said ?? []
      const removed = { what: 'remove', source: 'notice', by: 'ann', since: at(20), at: at(20) }
      const acts = (id: string, subjectId: string) =>
        topics.send('actions', subjectId, { id, subjectId, verdictId: `rumor~${subjectId}~r1`, ...removed }, 20)
      const deleted = (id: string, seconds: number) =>
        topics.send('posts', id, { id, createdAt: at(0), deleted: true }, seconds)
      for (const subjectId of ['p', 'q'])
        await topics.judged({ decidedBy: 'consensus', label: 'rumor', subjectId }, 'x')

      // Over an hour after it: that it is unknown was told, and then what it is about is known.
      await appeal('e1', 60, { actionId: 'a1' })
      await store.tidy(T0 + (HOUR + 61) * 1_000)
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'unknown' }])
      await acts('a1', 'p')
      expect(await words('asked', 'action default a1')).toEqual([])
      expect(await words('post', 'p')).toMatchObject([{ said: 'action' }, { said: 'appeal', label: 'unknown' }])
      await deleted('p', 70)
      expect((await words('post', 'p')).map(({ said }) => said)).toEqual(['action'])

      await appeal('e2', 60, { actionId: 'a2', by: 'notifier', contact: 'case 2' })
      await deleted('q', 70)
      await acts('a2', 'q')
      expect(await words('asked', 'action default a2')).toEqual([])
      expect((await words('post', 'q')).map(({ said }) => said)).toEqual(['action'])
    })

    it('is withdrawn also before it comes', async () => {
      const { store, topics, appeal, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('e1', 60, { withdraw: true })
      await appeal('e1', 59)
      expect(await waits()).toEqual([])
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'withdrawn' }])
      expect((await store.subject(POST))?.said).toEqual([])
    })

    it('takes so many of one contact and of one tenant in a day; each has an outcome', async () => {
      const { topics, appeal, told } = await start({ perContact: 3, perTenant: 5 })
      for (const subjectId of ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
        await topics.judged({ decidedBy: 'consensus', label: 'rumor', subjectId }, 'x')
      const from = (id: string, seconds: number, contact: string, more = {}) =>
        appeal(id, seconds, { by: 'notifier', contact, subjectId: id, verdictId: undefined, ...more })
      for (const [nth, id] of ['a', 'b', 'c', 'd'].entries()) await from(id, 60 + nth, 'one')
      for (const [nth, id] of ['e', 'f', 'g'].entries()) await from(id, 70 + nth, `${nth}`)
      expect(await told()).toMatchObject([
        { id: 'd', outcome: 'too-many' },
        { id: 'g', outcome: 'too-many' },
      ])
      await from('a', 80, 'one', { tenant: 'acme', withdraw: true })
      await appeal('d2', DAY / 1_000 + 63, { by: 'notifier', contact: 'one', subjectId: 'd', verdictId: undefined })
      expect(await told()).toMatchObject([{ id: 'a', outcome: 'withdrawn' }])
    })

    it('forgets after a day what was one too many, once that was told', async () => {
      const { store, topics, appeal, told } = await start({ perContact: 1, perTenant: 100 })
      for (const subjectId of ['a', 'b'])
        await topics.judged({ decidedBy: 'consensus', label: 'rumor', subjectId }, 'x')
      const from = (id: string, seconds: number, contact: string) =>
        appeal(id, seconds, { by: 'notifier', contact, subjectId: id, verdictId: undefined })
      await from('a', 60, 'one')
      await from('b', 60, 'one')
      const open = async () => (await store.openAppeals(0)).open
      // Until it was told it stays.
      await store.tidy(T0 + DAY + 61_000)
      expect(await told()).toMatchObject([{ id: 'b', outcome: 'too-many' }])
      await from('b', 70, 'two')
      expect(await open()).toBe(1)
      await store.tidy(T0 + DAY + 61_000)
      await from('b', 80, 'two')
      expect(await open()).toBe(2)
    })

    it('says when what was one too many may be sent again, and takes it then under the same id', async () => {
      const { store, topics, appeal, decide, told, waits } = await start({ perContact: 1, perTenant: 100 })
      for (const subjectId of ['a', 'p'])
        await topics.judged({ decidedBy: 'consensus', label: 'rumor', subjectId }, 'x')
      const [own, day] = [{ by: 'notifier', verdictId: undefined }, DAY / 1_000]
      await appeal('a', 60, { ...own, subjectId: 'a' })
      await appeal('b', 61, { ...own, subjectId: 'p' })
      const [tooMany] = await store.untoldAppeals(T0 + DAY, 9)
      expect(tooMany?.outcome).toMatchObject({ id: 'b', outcome: 'too-many', after: at(61 + day) })
      await topics.send('appealOutcomes', 'b', tooMany?.outcome, 62)
      await appeal('b', 60 + day, { ...own, subjectId: 'p' })
      expect(await waits()).toEqual(['rumor~a~r1 appealed'])
      await appeal('b', 61 + day, { ...own, subjectId: 'p' })
      expect(await waits()).toEqual(['rumor~a~r1 appealed', 'rumor~p~r1 appealed'])
      // What was told of it before comes once more.
      await topics.send('appealOutcomes', 'b', tooMany?.outcome, 70 + day)
      expect((await store.subject(POST))?.said).toMatchObject([{ said: 'appeal', label: null }])
      await decide('ann', 80 + day, 2, 'non-rumor', ['b'])
      expect(await told()).toMatchObject([{ id: 'b', outcome: 'reversed' }])
      // In a record that is made anew both were told before it comes.
      for (const outcome of ['too-many', 'reversed'])
        await topics.send('appealOutcomes', 'c', { ...tooMany?.outcome, id: 'c', outcome }, 90 + day)
      for (const seconds of [61, 61 + day]) await appeal('c', seconds, { ...own, subjectId: 'p', contact: 'c' })
      expect((await store.subject(POST))?.said.map(({ id, label }) => `${id} ${label}`)).toContain(
        'appeal default/c reversed',
      )
    })

    it('has two hundred wait on one subject, which one decision answers, and its author beside them', async () => {
      const { store, topics, appeal, decide, told } = await start({ perContact: 1, perTenant: 1_000 })
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      const ids = Array.from({ length: 201 }, (_, nth) => `n${nth}`)
      await topics.together(async () => {
        for (const id of ids) await appeal(id, 60, { by: 'notifier', contact: id })
      })
      await appeal('of the author', 61)
      expect(await told()).toMatchObject([{ id: 'n200', outcome: 'too-many' }])
      await decide('ann', 70, 2, 'non-rumor', ids.slice(0, 200))
      const ended = [...(await told()), ...(await told())]
      expect(ended.filter(({ outcome }) => outcome === 'reversed')).toHaveLength(200)
      expect(await store.openAppeals(0)).toMatchObject({ open: 1 })
    })

    it('keeps tenants apart, and names what is no appeal', async () => {
      const { store, topics, appeal, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('e1', 60, { tenant: 'acme' })
      await appeal('e1', 61, { contact: '' })
      await topics.send('appeals', 'x', 'no appeal', 62)
      expect(await told()).toMatchObject([
        { id: 'e1', outcome: 'unknown' },
        { id: 'e1', outcome: 'invalid' },
      ])
      expect(await waits()).toEqual([])
      expect((await store.size()).rows.unread).toBe(1)
    })

    it('is ended by no second message of its id, whatever that says', async () => {
      const { topics, appeal, decide, told, waits } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('e1', 60)
      await appeal('e1', 61, { text: '' })
      await appeal('e1', 62, { verdictId: 'oops' })
      expect(await told()).toEqual([])
      expect(await waits()).toEqual(['rumor~p~r1 appealed'])
      await decide('ann', 70, 2, 'rumor', ['e1'])
      expect(await told()).toMatchObject([{ id: 'e1', outcome: 'upheld' }])
    })

    it('has its answer however many others were given on its subject', async () => {
      const { topics, appeal, decide, told } = await start()
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await appeal('z1', 60)
      for (const nth of [0, 1, 2])
        await decide(
          'ann',
          70 + nth,
          2 + nth,
          'rumor',
          Array.from({ length: 200 }, (_, other) => `a${nth}-${other}`),
        )
      await decide('ben', 80, 5, 'rumor', ['z1'])
      expect(await told()).toMatchObject([{ id: 'z1', outcome: 'upheld' }])
    })

    it('keeps 40 languages as they are written, and of a long text the beginning', async () => {
      const { store, topics, appeal } = await start({ perContact: 100, perTenant: 100 })
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      const words = [...WORDS, 'ж'.repeat(100_000)]
      for (const [nth, text] of words.entries())
        await appeal(`e${nth}`, 60 + nth, { by: 'notifier', contact: `${nth}`, text })
      const kept = ((await store.subject(POST))?.said ?? []).map(({ message }) => (message as { text: string }).text)
      expect(kept).toEqual([...WORDS, 'ж'.repeat(10_000)])
    })

    it('is as it was told in a record that is made anew', async () => {
      const { store, topics, appeal, told, waits } = await start()
      const answered = { verdict: 'rumor~p1~r2', label: 'non-rumor', code: 'context' }
      const outcome = { schema: 1, id: 'e1', tenant: 'default', outcome: 'reversed', at: at(90), ...answered }
      await topics.judged({ decidedBy: 'consensus', label: 'rumor' }, 'The bridge is closed')
      await topics.send('appealOutcomes', 'e1', outcome, 90)
      expect(await store.openAppeals(T0)).toMatchObject({ open: 0, wordless: 1 })
      await appeal('e1', 60)
      expect(await store.openAppeals(T0)).toMatchObject({ open: 0, wordless: 0 })
      expect(await waits()).toEqual([])
      expect(await told()).toEqual([])
      expect((await store.subject(POST))?.said).toMatchObject([{ said: 'appeal', label: 'reversed' }])
      // It came when it came, and the answer's words are made of its code.
      const [read] = await store.appeals('default', { id: 'e1' })
      expect([read?.at, read?.outcome?.code, read?.isUndone]).toEqual([T0 + 60_000, 'context', false])
      // That its post was deleted since, no topic may say any more: what nobody answered has no words there.
      for (const [nth, ended] of ['deleted', 'repeated', 'unknown'].entries()) {
        await topics.send('appealOutcomes', `d${nth}`, { ...outcome, id: `d${nth}`, outcome: ended }, 91)
        await appeal(`d${nth}`, 60, { by: 'notifier', contact: `${nth}` })
      }
      expect((await store.subject(POST))?.said).toHaveLength(1)
    })
  })
}

/** "I object" and the like, in 40 languages. */
const WORDS =
  'I object|Ich widerspreche|Je m’oppose|Me opongo|Mi oppongo|Eu discordo|Ik maak bezwaar|Jag protesterar|Jeg protesterer|Jeg er uenig|Vastustan|Vaidlustan|Iebilstu|Prieštarauju|Sprzeciwiam się|Nesouhlasím|Nesúhlasím|Tiltakozom|Nu sunt de acord|Възразявам|Протестую|Я возражаю|Противим се|Prigovaram|Ugovarjam|Διαφωνώ|İtiraz ediyorum|أعترض|אני מתנגד|اعتراض دارم|میں اعتراض کرتا ہوں|मुझे आपत्ति है|আমি আপত্তি করি|நான் எதிர்க்கிறேன்|ฉันขอคัดค้าน|Tôi phản đối|Saya keberatan|이의를 제기합니다|異議を申し立てます|我提出异议'.split(
    '|',
  )
