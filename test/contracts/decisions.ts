import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { OutboxEntry } from '../../src/contracts/ports/cases.ts'
import type {
  DecisionBasis,
  DecisionResult,
  HumanDecision,
  LabelledVerdict,
} from '../../src/contracts/ports/decisions.ts'
import { ARRIVAL, said as comment, endOf, postOf, RULES, retractionOf, T0, thread } from './samples.ts'
import { judgeOnce, type MakeStores, openCase, publishAll, readThread, type Stores, takeCase } from './stores.ts'

const SCOPE = 'rumor~p1~r'

/** What every store promises of people's decisions. */
export function decisionsContract(name: string, make: MakeStores): void {
  describe(`decisions of people, ${name}`, () => {
    let stores: Stores
    const ref = thread('p1')
    let offset = 0

    beforeEach(async () => {
      stores = await make()
      offset = 0
    })
    afterEach(async () => {
      await stores.close()
    })

    const decision = (change: Partial<HumanDecision> = {}): HumanDecision => ({
      ref,
      protocol: 'rumor',
      withdraw: false,
      label: 'non-rumor',
      against: 1,
      force: false,
      opinion: false,
      by: 'ann',
      why: 'Ticket 88.',
      same: String(offset),
      place: { partition: 0, offset: String(offset++), timestamp: T0 + offset },
      ...change,
    })
    const written = (label: string | null, on: DecisionBasis): LabelledVerdict => ({
      label,
      verdict: JSON.stringify({ id: `${on.scope}${on.number}`, label, supersedes: on.published }),
      transcript: '{}',
    })
    const decide = (change: Partial<HumanDecision> = {}, given = decision(change)): Promise<DecisionResult> =>
      stores.decisions.decide(given, SCOPE, T0, (on) => {
        if (!given.withdraw) return written(given.label, on)
        if (on.machine === null && on.isLive) return null
        return written('rumor', on)
      })
    const put = (text = 'so it is', of: ThreadRef = ref) =>
      stores.threads.putPost(of, { ...postOf(of), text }, { ...ARRIVAL, atOnce: true }, RULES)
    const judged = async () => {
      await put()
      return judgeOnce(stores, ref)
    }
    /** Everything in the outbox, in words, handed to a publisher that is done with it. */
    async function published(): Promise<string[]> {
      const all: string[] = []
      for (;;) {
        const entries = await stores.outbox.next('the publisher', 100, 10)
        if (entries.length === 0) return all
        all.push(...entries.map(said))
        await stores.outbox.done(entries)
      }
    }
    const end = async (label: string | null = 'rumor') => {
      const record = await openCase(stores, ref)
      return conclude(record, label)
    }
    const conclude = async (record: Awaited<ReturnType<typeof openCase>>, label: string | null = 'rumor') => {
      const { epoch } = await takeCase(stores, record.id)
      expect(await stores.cases.conclude(record, epoch, { ...endOf(record), label })).toBe(true)
      return record
    }

    it('become the next revision, published like any other, with their outcome', async () => {
      await judged()
      expect(await decide()).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r2' })
      expect(await published()).toEqual(['verdict rumor~p1~r2', 'outcome stands 0@0 r2 non-rumor'])
      expect((await readThread(stores, ref)).revisions.get('rumor')).toMatchObject({ revision: 2, published: 2 })
      expect(await stores.decisions.published(ref, 'rumor')).toBe(2)
      expect([...(await stores.decisions.decided(ref))]).toEqual([
        ['rumor', { verdict: 'rumor~p1~r2', stands: true, revision: 2, label: 'non-rumor', by: 'ann', of: '0@0' }],
      ])
      expect(await stores.decisions.told('0@0')).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r2' })
      expect(await stores.decisions.told('0@1')).toBeNull()
    })

    it('are answered by messages that name their subject as verdicts do', async () => {
      await judged()
      await decide({ against: 7 })
      await decide()
      const told = (await stores.outbox.next('the publisher', 100, 10)).flatMap((entry): object[] =>
        entry.kind === 'outcome' ? [entry.outcome] : entry.kind === 'review' ? [entry.review] : [],
      )
      const named = { subjectId: 'p1', tenant: 'default', kind: 'post', subjectKind: 'post' }
      expect(told).toMatchObject([
        { ...named, why: 'refused' },
        { ...named, outcome: 'stands' },
      ])
    })

    it('are written beside the machines’ last ruling, whether a human verdict is current or not', async () => {
      const ruled: (string | null)[] = []
      const see = (against: number) =>
        stores.decisions.decide(decision({ against }), SCOPE, T0, (on) => {
          ruled.push(on.machine)
          return written('non-rumor', on)
        })
      await put()
      const { verdict } = endOf(await end())
      await published()
      await see(1)
      await published()
      await see(2)
      expect(ruled).toEqual([verdict, verdict])
    })

    it('are carried out once, however often they are read', async () => {
      await judged()
      const given = decision()
      await decide({}, given)
      expect(await decide({}, given)).toEqual({ outcome: 'duplicate' })
      const earlier = decision({ place: { partition: 1, offset: '9', timestamp: T0 - 5 } })
      expect(await decide({}, earlier)).toEqual({ outcome: 'duplicate' })
      expect(await published()).toEqual(['verdict rumor~p1~r2', 'outcome stands 0@0 r2 non-rumor'])
      expect(await decide({}, given)).toEqual({ outcome: 'duplicate' })
      expect(await stores.decisions.told('0@0')).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r2' })
    })

    it('count once if a lost acknowledgement has put them on the topic twice, and both get the same outcome', async () => {
      await judged()
      const refused = decision({ against: 0 })
      await decide({}, refused)
      expect(await decide({}, decision({ ...refused, place: decision().place }))).toEqual({ outcome: 'duplicate' })
      expect(await stores.decisions.told('0@1')).toEqual({ outcome: 'late', last: 1 })
      const first = decision()
      await decide({}, first)
      const again = decision({ same: first.same })
      expect(await decide({}, again)).toEqual({ outcome: 'duplicate' })
      expect(await decide({}, again)).toEqual({ outcome: 'duplicate' })
      expect(await stores.decisions.told('0@4')).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r2' })
      expect(await published()).toEqual([
        'review rumor~p1~r1 refused label non-rumor of 0@0 by ann',
        'verdict rumor~p1~r2',
        'outcome stands 0@3 r2 non-rumor',
      ])
      expect(await decide({}, decision({ same: 'another' }))).toEqual({ outcome: 'late', last: 2 })
    })

    it('of two people at once: the first decision counts, the second is refused, and a review is requested', async () => {
      await judged()
      await decide()
      await published()
      expect(await decide({ label: 'rumor', by: 'ben' })).toEqual({ outcome: 'late', last: 2 })
      expect(await published()).toEqual(['review rumor~p1~r2 refused label rumor of 0@1 by ben'])
      expect(await decide({ label: 'rumor', force: true })).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r3' })
      expect(await published()).toEqual(['verdict rumor~p1~r3', 'outcome stands 0@2 r3 rumor'])
    })

    it('against a revision that was never there are refused', async () => {
      await judged()
      expect(await decide({ against: 0 })).toEqual({ outcome: 'late', last: 1 })
      expect(await decide({ against: 7 })).toEqual({ outcome: 'late', last: 1 })
    })

    it('wait for a verdict that is on its way out', async () => {
      await put()
      await end()
      expect(await decide({ against: 0 })).toEqual({ outcome: 'waiting' })
      const [entry] = await stores.outbox.next('the publisher', 1, 10)
      expect(await decide({ against: 0 })).toEqual({ outcome: 'waiting' })
      await stores.outbox.done(entry === undefined ? [] : [entry])
      expect(await decide({ against: 0 })).toEqual({ outcome: 'late', last: 1 })
      expect(await decide()).toMatchObject({ outcome: 'stands' })
      expect(await decide({ against: 2 })).toEqual({ outcome: 'waiting' })
      await publishAll(stores)
      expect(await decide({ against: 2 })).toMatchObject({ outcome: 'stands', verdict: 'rumor~p1~r3' })
    })

    it('leave what machines say from then on as proposals, whose numbers are no verdict’s', async () => {
      await judged()
      await decide()
      await published()
      await put('so it is not')
      await end('rumor')
      expect(await published()).toEqual([
        'review rumor~p1~r2 edited',
        'proposal rumor~p1~p3 beneath rumor~p1~r2',
        'review rumor~p1~r2 differs proposal rumor~p1~p3 label rumor',
      ])
      expect((await readThread(stores, ref)).revisions.get('rumor')).toMatchObject({ openId: null, published: 2 })
      await put('and again')
      await end('rumor')
      expect(await published(), 'asked for once').toEqual(['proposal rumor~p1~p4 beneath rumor~p1~r2'])
      expect(await decide({ against: 2, label: 'rumor' })).toMatchObject({ verdict: 'rumor~p1~r5' })
      expect(await published()).toEqual(['verdict rumor~p1~r5', 'outcome stands 0@1 r5 rumor'])
      await put('once more')
      await end('rumor')
      expect(await published()).toEqual(['review rumor~p1~r5 edited', 'proposal rumor~p1~p6 beneath rumor~p1~r5'])
    })

    it('stay current when their subject is judged again, which makes a proposal', async () => {
      await judged()
      await decide()
      await published()
      const again = { protocol: 'rumor', revision: 2, readsComments: true }
      expect(await stores.judgeAgain.ask(ref, [again], T0)).toEqual(['due'])
      await end('rumor')
      expect(await published()).toEqual([
        'proposal rumor~p1~p3 beneath rumor~p1~r2',
        'review rumor~p1~r2 differs proposal rumor~p1~p3 label rumor',
      ])
    })

    it('come before a case that is open, which ends as a proposal', async () => {
      await judged()
      await put('so it is not')
      const record = await openCase(stores, ref)
      expect(await decide()).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r3' })
      expect(await published()).toEqual(['verdict rumor~p1~r3', 'outcome stands 0@0 r3 non-rumor'])
      expect((await readThread(stores, ref)).revisions.get('rumor')?.openId).toBe('rumor~p1~r2')
      await conclude(record, 'non-rumor')
      expect(await published(), 'the same label is no reason to look again').toEqual([
        'proposal rumor~p1~p2 beneath rumor~p1~r3',
      ])
      expect((await readThread(stores, ref)).revisions.get('rumor')).toMatchObject({ openId: null, published: 3 })
    })

    it('on what nobody has judged yet are its first revision', async () => {
      await put()
      expect(await decide({ against: 0 })).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r1' })
      expect(await published()).toEqual(['verdict rumor~p1~r1', 'outcome stands 0@0 r1 non-rumor'])
      await end()
      expect(await published()).toContain('proposal rumor~p1~p2 beneath rumor~p1~r1')
    })

    it('come before the first verdict while its case is open, which ends as a proposal', async () => {
      await put()
      const record = await openCase(stores, ref)
      expect(await decide({ against: 0 })).toEqual({ outcome: 'stands', verdict: 'rumor~p1~r2' })
      expect(await published()).toEqual(['verdict rumor~p1~r2', 'outcome stands 0@0 r2 non-rumor'])
      await conclude(record, 'non-rumor')
      expect(await published()).toEqual(['proposal rumor~p1~p1 beneath rumor~p1~r2'])
    })

    it('hold back the next case until they are published', async () => {
      await judged()
      await put('so it is not')
      const state = await readThread(stores, ref)
      await decide()
      await expect(openCase(stores, ref)).rejects.toThrow('was not opened')
      await published()
      const after = await readThread(stores, ref)
      expect(after.generation, 'due again').toBeGreaterThan(state.generation)
      await end()
      expect(await published()).toContain('proposal rumor~p1~p3 beneath rumor~p1~r2')
    })

    it('withdrawn, what machines said last is published again', async () => {
      await judged()
      await decide()
      await published()
      expect(await decide({ withdraw: true, label: null, against: 1 })).toEqual({ outcome: 'late', last: 2 })
      expect(await decide({ withdraw: true, label: null, against: 2 })).toEqual({
        outcome: 'withdrawn',
        verdict: 'rumor~p1~r3',
      })
      expect(await published()).toEqual([
        'review rumor~p1~r2 refused of 0@1 by ann',
        'verdict rumor~p1~r3',
        'outcome withdrawn 0@2 r3 rumor',
      ])
      expect((await stores.decisions.decided(ref)).get('rumor')).toMatchObject({ stands: false, revision: 3 })
      expect(await decide({ withdraw: true, label: null, against: 3 }), 'nothing stands').toMatchObject({
        outcome: 'late',
      })
      await published()
      await put('so it is not')
      await end()
      expect(await published(), 'and machines go on').toEqual(['verdict rumor~p1~r4'])
    })

    it('withdrawn twice, what machines said last is published again each time', async () => {
      const ruled: (string | null)[] = []
      const withdraw = async (against: number) => {
        const given = decision({ withdraw: true, label: null, against })
        await stores.decisions.decide(given, SCOPE, T0, (on) => {
          ruled.push(on.machine)
          return written('rumor', on)
        })
        await published()
      }
      await judged()
      await decide()
      await published()
      await put('so it is not')
      await conclude(await openCase(stores, ref), 'non-rumor')
      const proposed = await stores.outbox.next('the publisher', 100, 10)
      const said = proposed.flatMap((entry) => (entry.kind === 'proposal' ? [entry.proposal] : []))
      await stores.outbox.done(proposed)
      await withdraw(2)
      await decide({ against: 4 })
      await published()
      await withdraw(5)
      expect(ruled).toEqual([...said, ...said])
    })

    it('withdrawn, a ruling that is on its way out again goes without its words where a comment is deleted', async () => {
      await put()
      await stores.threads.putComments(ref, [comment('c1')], T0, RULES)
      const record = await openCase(stores, ref)
      const { epoch } = await takeCase(stores, record.id)
      const ruling = {
        ...endOf(record),
        verdict: JSON.stringify({ rationale: 'He SAID it.', evidence: { support: ['c1'] } }),
      }
      await stores.cases.conclude(record, epoch, { ...ruling, label: 'rumor' })
      await published()
      await decide()
      await published()
      const repeat = (given = decision({ withdraw: true, label: null, against: 2 })) =>
        stores.decisions.decide(given, SCOPE, T0, ({ machine }) => ({
          label: 'rumor',
          verdict: machine ?? '',
          transcript: '{}',
        }))
      expect(await repeat()).toMatchObject({ outcome: 'withdrawn' })
      const before = await readThread(stores, ref)
      const caseId = (_: string, number: number) => `${SCOPE}${number}`
      const left = { openIds: [], without: () => null, caseId, now: T0 }
      expect(await stores.threads.eraseLeft(ref, left)).toBe(true)
      const entries = await stores.outbox.next('the publisher', 100, 10)
      const words = entries.flatMap((entry) => (entry.kind === 'verdict' ? [JSON.parse(entry.verdict)] : []))
      expect(words).toEqual([{ rationale: '', evidence: { support: [], oppose: [], precedents: [] } }])
      await stores.outbox.done(entries)
      const after = await readThread(stores, ref)
      expect(after.generation, 'and is judged anew').toBeGreaterThan(before.generation)
      expect(after.revisions.get('rumor')).toMatchObject({ revision: 3, published: 3, seen: -1 })
      await end()
      expect(await published()).toEqual(['verdict rumor~p1~r4'])
    })

    it('withdrawn while a case is open, which ends as a proposal and is followed by another', async () => {
      await judged()
      await decide()
      await published()
      await put('so it is not')
      const record = await openCase(stores, ref)
      expect(await decide({ withdraw: true, label: null, against: 2 })).toMatchObject({ verdict: 'rumor~p1~r4' })
      await conclude(record)
      expect(await published()).toEqual([
        'review rumor~p1~r2 edited',
        'verdict rumor~p1~r4',
        'outcome withdrawn 0@1 r4 rumor',
        'proposal rumor~p1~p3 beneath rumor~p1~r4',
      ])
      const state = await readThread(stores, ref)
      expect(state.revisions.get('rumor')).toMatchObject({ revision: 4, published: 4, seen: -1, openId: null })
      expect(state.generation).toBeGreaterThan(state.observedGeneration)
      await end()
      expect(await published()).toEqual(['verdict rumor~p1~r5'])
    })

    it('withdrawn where nothing is left of what machines said, the subject is judged anew', async () => {
      await judged()
      await decide()
      await published()
      await stores.threads.eraseLeft(ref, {
        openIds: [],
        without: () => null,
        caseId: (_, number) => `${SCOPE}${number}`,
        now: T0,
      })
      const before = await readThread(stores, ref)
      expect(await decide({ withdraw: true, label: null, against: 2 })).toEqual({ outcome: 'withdrawn', verdict: null })
      expect(await published()).toEqual(['outcome withdrawn 0@1 r0 -'])
      const after = await readThread(stores, ref)
      expect(after.generation).toBeGreaterThan(before.generation)
      expect(after.revisions.get('rumor')).toMatchObject({ seen: -1 })
      await end()
      expect(await published()).toEqual(['verdict rumor~p1~r3'])
    })

    it('end with their subject, and the retraction follows them', async () => {
      await judged()
      await decide()
      const handed = await stores.outbox.next('the publisher', 100, 10)
      expect(handed.map(said)).toEqual(['verdict rumor~p1~r2', 'outcome stands 0@0 r2 non-rumor'])
      expect(await stores.threads.deletePost(ref, retractionOf(ref))).toBe('deleted')
      expect(await published(), 'not before the verdict that it retracts').toEqual(['outcome deleted 0@0 r2 non-rumor'])
      await stores.outbox.done(handed)
      expect(await published()).toEqual(['verdict rumor~p1~r3'])
      expect(await decide({ against: 3 })).toEqual({ outcome: 'deleted' })
      expect((await stores.decisions.decided(ref)).size).toBe(0)
    })

    describe('end with their subject, whose retraction follows the last verdict on the topic', () => {
      const superseded = async (): Promise<unknown> => {
        await stores.threads.deletePost(ref, retractionOf(ref))
        const entries = await stores.outbox.next('the publisher', 100, 10)
        const retractions = entries.flatMap((entry) => (entry.kind === 'verdict' ? [JSON.parse(entry.verdict)] : []))
        return retractions.map(({ id, supersedes }) => [id, supersedes])
      }

      it('and no proposal beneath it', async () => {
        await judged()
        await decide()
        await published()
        await put('and more')
        await end()
        await published()
        expect(await superseded()).toEqual([['rumor~p1~r4', 'rumor~p1~r2']])
      })

      it('and no case that is open beneath it', async () => {
        await judged()
        await decide()
        await published()
        await put('and more')
        await openCase(stores, ref)
        expect(await superseded()).toEqual([['rumor~p1~r4', 'rumor~p1~r2']])
      })

      it('also where it was withdrawn since the proposal', async () => {
        await judged()
        await decide()
        await published()
        await put('and more')
        await end()
        await published()
        await decide({ withdraw: true, label: null, against: 2 })
        await published()
        expect(await superseded()).toEqual([['rumor~p1~r5', 'rumor~p1~r4']])
      })
    })

    it('that nobody was handed go with their subject', async () => {
      await judged()
      await decide()
      expect(await stores.threads.deletePost(ref, retractionOf(ref))).toBe('deleted')
      expect(await published()).toEqual([
        'outcome stands 0@0 r2 non-rumor',
        'outcome deleted 0@0 r2 non-rumor',
        'verdict rumor~p1~r3',
      ])
    })

    it('on a subject of which nothing is known are refused, unless they are forced', async () => {
      expect(await decide({ against: 0 })).toEqual({ outcome: 'unknown' })
      expect(await published()).toEqual([])
      expect(await decide({ against: 0, force: true })).toMatchObject({ outcome: 'stands' })
      const [verdict = ''] = await published()
      expect(Number(/~r(\d+)$/.exec(verdict)?.[1]), 'numbered by the time').toBe(Math.floor(T0 / 1000))
      expect(await stores.threads.deleteUnknown([ref], T0)).toEqual([false])
      expect(await stores.threads.deletePost(ref, retractionOf(ref))).toBe('deleted')
      expect(await published()).toEqual([
        expect.stringContaining('outcome deleted'),
        `verdict rumor~p1~r${Math.floor(T0 / 1000) + 1}`,
      ])
    })

    it('that were refused for want of their subject stay so where they are read again after it came', async () => {
      const early = decision({ against: 0 })
      expect(await decide({}, early)).toEqual({ outcome: 'unknown' })
      await judged()
      await published()
      expect(await decide({}, early)).toEqual({ outcome: 'unknown' })
      expect(await published()).toEqual([])
      expect(await decide({ against: 1 })).toMatchObject({ outcome: 'stands' })
    })

    it('on a subject that has not come yet leave it as new when it comes', async () => {
      await decide({ protocol: 'hate', against: 0, force: true })
      await published()
      expect(await put()).toBe('judged')
      await stores.threads.putComments(ref, [comment('c1')], T0, RULES)
      const state = await readThread(stores, ref)
      expect({ expired: state.expired, comments: state.comments.length }).toEqual({ expired: false, comments: 1 })
      await end()
      expect(await published(), 'and nobody edited it').toEqual(['verdict rumor~p1~r1'])
    })

    it('come twice where times fall within a partition, and count once', async () => {
      await judged()
      const at = (offset: number, ms: number) => ({ partition: 0, offset: String(offset), timestamp: T0 + ms })
      const first = { place: at(12, 2_000), same: 'first', force: true }
      await decide(first)
      await published()
      await decide({ place: at(13, 1_900), same: 'second', by: 'ben', label: 'rumor', against: 2 })
      await published()
      expect(await decide(first)).toEqual({ outcome: 'duplicate' })
      expect(await published()).toEqual([])
    })

    it('as second opinions change nothing; where they differ, a review is asked for', async () => {
      await judged()
      await decide()
      await published()
      expect(await decide({ opinion: true, against: 2 })).toEqual({ outcome: 'noted' })
      expect(await decide({ opinion: true, against: 2, label: 'rumor', by: 'ben' })).toEqual({ outcome: 'noted' })
      expect(await published()).toEqual(['review rumor~p1~r2 disputed label rumor of 0@2 by ben'])
      // Of a golden item neither key nor answer disputes anything.
      const answer = { opinion: true, golden: true, against: 2, label: 'rumor', by: 'cay' }
      expect(await decide(answer)).toEqual({ outcome: 'noted' })
      expect(await published()).toEqual([])
      expect(await stores.decisions.published(ref, 'rumor')).toBe(2)
    })

    it('of one protocol leave those of another alone', async () => {
      await judged()
      await decide()
      await published()
      const record = await openCase(stores, ref, { protocol: 'hate' })
      await conclude(record)
      expect(await published()).toEqual(['verdict hate~p1~r1'])
    })
  })
}

function said(entry: OutboxEntry): string {
  if (entry.kind === 'verdict') return `verdict ${entry.caseId}`
  if (entry.kind === 'proposal') {
    const { id, beneath } = JSON.parse(entry.proposal)
    return `proposal ${id} beneath ${beneath}`
  }
  if (entry.kind === 'outcome') {
    const { outcome, of, revision, label } = entry.outcome
    return `outcome ${outcome} ${of} r${revision} ${label ?? '-'}`
  }
  if (entry.kind !== 'review') return entry.kind
  const { verdict, why, proposal, label, of, by } = entry.review
  const named = Object.entries({ proposal, label, of, by }).flatMap(([field, value]) =>
    value === undefined ? [] : [`${field} ${value}`],
  )
  return ['review', verdict, why, ...named].join(' ')
}
