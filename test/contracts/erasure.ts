import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CaseRecord } from '../../src/contracts/facts/case.ts'
import type { CaseRestart, UnpublishedCase } from '../../src/contracts/ports/cases.ts'
import type { ThreadState } from '../../src/contracts/ports/threads.ts'
import {
  ARRIVAL,
  callOf,
  endOf,
  entryOf,
  HOUR,
  postOf,
  RULES,
  recordOf,
  retractionOf,
  said,
  seenBy,
  T0,
  thread,
  unsaid,
} from './samples.ts'
import {
  concludeCase,
  hookVerdicts,
  type MakeStores,
  openCase,
  publishAll,
  readThread,
  type Stores,
  sentToReceiver,
  takeCase,
} from './stores.ts'

/** What the stores promise of words that were deleted while a verdict on them was on its way. */
export function erasureContract(name: string, make: MakeStores): void {
  describe(`erasure, ${name}`, () => {
    const p1 = thread('p1')
    const SECRET = 'SECRET-words'
    const IDLE = 100
    let stores: Stores
    beforeEach(async () => {
      stores = await make()
      await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
      await stores.threads.putComments(p1, [said('c1', { text: SECRET }), said('c2')], T0, RULES)
    })
    afterEach(async () => {
      await stores.close()
    })

    const nextIds = async (publisher = 'one') =>
      (await stores.outbox.next(publisher, 10, 10)).map((entry) =>
        entry.kind === 'verdict' ? entry.caseId : entry.kind,
      )
    const expectNoTrace = async () => expect((await stores.traces?.(SECRET)) ?? []).toEqual([])
    const deletePost = () => stores.threads.deletePost(p1, retractionOf(p1))

    /** A case whose record, journal, verdict and carry hold the words. */
    async function concluded(): Promise<CaseRecord> {
      const record = await openCase(stores, p1)
      const { epoch, run } = await takeCase(stores, record.id)
      await stores.cases.answer(record.id, run, '0.0', entryOf({ reason: SECRET }))
      await stores.cases.conclude(record, epoch, endOf(record, SECRET, JSON.stringify({ said: SECRET })))
      return record
    }

    describe('of a post whose verdict waits for Kafka', () => {
      it('withdraws it if no publisher has it: the retraction takes its place', async () => {
        await concluded()
        await deletePost()
        await expectNoTrace()
        expect(await nextIds()).toEqual(['rumor~p1~r2'])
      })

      it('takes back no other than its own', async () => {
        const other = thread('p2')
        await stores.threads.putPost(other, postOf(other), ARRIVAL, RULES)
        await concludeCase(stores, await openCase(stores, other))
        await concluded()
        await deletePost()
        expect(await nextIds()).toEqual(['rumor~p2~r1', 'rumor~p1~r2'])
      })

      it('lets its retraction follow where a publisher has it in hand, and keeps none of its words', async () => {
        await concluded()
        const inHand = await stores.outbox.next('one', 10, 10)
        await deletePost()
        await expectNoTrace()
        expect(await nextIds('two')).toEqual([])
        await stores.outbox.done(inHand)
        expect(await nextIds('two')).toEqual(['rumor~p1~r2'])
      })

      it('has nothing of it sent to receivers by the publisher that has it in hand, but its retraction', async () => {
        await concluded()
        const inHand = await stores.outbox.next('one', 10, 10)
        await deletePost()
        await hookVerdicts(stores, p1, inHand, SECRET)
        await expectNoTrace()
        await stores.outbox.done(inHand)
        await hookVerdicts(stores, p1, await stores.outbox.next('one', 10, 10), SECRET)
        expect(await sentToReceiver(stores)).toEqual(['retracted'])
      })

      it('is not sent by a publisher in whose hand it has waited, and its retraction goes out', async () => {
        await concluded()
        const inHand = await stores.outbox.next('one', 10, 10)
        await deletePost()
        const tried = new Set(inHand.map(({ id }) => id))
        expect(await stores.outbox.stillToSend(inHand, tried)).toEqual({ sendable: [], withheld: [] })
        expect(await nextIds()).toEqual(['rumor~p1~r2'])
      })

      it('has nothing left of a comment that is deleted after it, whoever has its verdict in hand', async () => {
        await concluded()
        await stores.outbox.next('one', 10, 10)
        await deletePost()
        const left = { openIds: [], without: () => null, caseId: () => 'none', now: T0 }
        expect(await stores.threads.eraseLeft(p1, left)).toBe(true)
      })

      it('lets its retraction follow where the publisher that had it in hand is gone, and no sooner', async () => {
        await concluded()
        const inHand = await stores.outbox.next('one', 10, 10)
        await deletePost()
        await stores.pass(IDLE / 2)
        await stores.outbox.heartbeat(
          'one',
          inHand.map(({ id }) => id),
        )
        await stores.pass(IDLE - 20)
        expect(await stores.outbox.adopt('two', 10, IDLE)).toEqual([])
        expect(await nextIds('two')).toEqual([])
        await stores.pass(6 * IDLE)
        expect(await stores.outbox.adopt('two', 10, IDLE)).toEqual([])
        expect(await nextIds('two')).toEqual(['rumor~p1~r2'])
        // Who was presumed gone is there after all: it sends nothing, and says that it is done.
        const tried = new Set(inHand.map(({ id }) => id))
        for (const those of [tried, new Set<string>()])
          expect(await stores.outbox.stillToSend(inHand, those)).toEqual({ sendable: [], withheld: [] })
        await stores.outbox.done(inHand)
        expect(await nextIds('two')).toEqual([])
      })
    })

    describe('of a comment', () => {
      const unpublished = async (id: string): Promise<UnpublishedCase> => {
        const held = await stores.cases.unpublished(id)
        if (held === null) throw new Error(`${id} is not unpublished`)
        return held
      }
      /** The case without the comment, as the engine would restart it. */
      async function over(held: UnpublishedCase, change: Partial<CaseRestart> = {}): Promise<CaseRestart> {
        const state = await readThread(stores, p1)
        const record = {
          ...held.record,
          subject: recordOf(state).subject,
          carry: null,
          restartedAtEpoch: held.epoch + 1,
        }
        return { record, journal: new Map(), lostCalls: [], version: state.version, seen: state.version, ...change }
      }
      const deleteComment = () => stores.threads.putComments(p1, [unsaid('c1')], T0, RULES)

      it('restarts an open case: in a new run, with the answers that it may keep', async () => {
        const { id } = await openCase(stores, p1)
        const before = await takeCase(stores, id)
        await stores.cases.answer(id, before.run, '0.0', entryOf({ reason: SECRET }))
        await stores.cases.answer(id, before.run, '0.1', entryOf('harmless'))
        await deleteComment()
        const held = await unpublished(id)
        expect(held).toMatchObject({ epoch: before.epoch, run: before.run, concluded: false })
        const lost = { key: '0.0', ...callOf('call-1') }
        const given = await over(held, { journal: new Map([['0.0', entryOf('harmless')]]), lostCalls: [lost] })
        expect(await stores.cases.isOpen(id, before.run, '9.0')).toBe(true)
        expect(await stores.cases.restartUnpublished(held, given)).toBe('restarted')
        await expectNoTrace()
        expect(await stores.cases.isOpen(id, before.run, '9.0')).toBe(false)
        expect(await stores.cases.isOpen(id, before.run + 1, '9.0')).toBe(true)
        expect((await stores.cases.answer(id, before.run, '0.2', entryOf('late'))).outcome).toBe('stale')
        expect(await stores.cases.conclude(held.record, before.epoch, endOf(held.record))).toBe(false)
        const after = await takeCase(stores, id)
        expect(after).toMatchObject({ record: given.record, run: before.run + 1, lostCalls: [lost] })
        expect([...after.journal]).toEqual([['0.0', entryOf('harmless')]])
        expect(after.epoch).toBe((given.record.restartedAtEpoch ?? 0) + 1)
        expect((await readThread(stores, p1)).revisions.get('rumor')).toMatchObject({
          revision: 1,
          seen: given.version,
          openId: id,
        })
        expect(await stores.cases.countOpen()).toBe(1)
      })

      it('takes a verdict back that no publisher was handed: its case is open again, under its number', async () => {
        const { id } = await concluded()
        expect(await stores.cases.isOpen(id, 0, '9.0')).toBe(false)
        await deleteComment()
        const held = await unpublished(id)
        expect(held.concluded).toBe(true)
        expect(await stores.cases.restartUnpublished(held, await over(held))).toBe('restarted')
        await stores.threads.eraseLeft(p1, { openIds: [id], without: () => null, caseId: () => 'none', now: T0 })
        await expectNoTrace()
        expect(await stores.outbox.size()).toBe(0)
        expect(await stores.cases.countOpen()).toBe(1)
        await stores.pass(20)
        expect(await stores.cases.idle(10, 10)).toEqual([id])
        await concludeCase(stores, (await unpublished(id)).record)
        expect(await nextIds()).toEqual([id])
      })

      it('lets the next revision follow where a publisher has the verdict in hand, and keeps none of its words', async () => {
        const { id } = await concluded()
        const inHand = await stores.outbox.next('one', 10, 10)
        await deleteComment()
        const held = await unpublished(id)
        expect(await stores.cases.restartUnpublished(held, await over(held))).toBe('in-flight')
        await expectNoTrace()
        expect(await stores.cases.unpublished(id)).toBeNull()
        expect(await stores.cases.take(id)).toBeNull()
        expect(await stores.cases.countOpen()).toBe(0)
        const generation = async () => (await readThread(stores, p1)).generation
        const before = await generation()
        await stores.outbox.done(inHand)
        expect(await generation()).toBe(before + 1)
        expect(await openCase(stores, p1)).toMatchObject({ revision: 2, supersedes: id })
      })

      it.each([
        ['that has it in hand', 0],
        ['that stood still until it was presumed dead', 7 * IDLE],
      ])('has it sent to receivers without its words by the publisher %s', async (_, ms) => {
        const { id } = await concluded()
        const inHand = await stores.outbox.next('one', 10, 10)
        await deleteComment()
        const held = await unpublished(id)
        expect(await stores.cases.restartUnpublished(held, await over(held))).toBe('in-flight')
        await stores.pass(ms)
        await stores.outbox.adopt('two', 10, IDLE)
        await hookVerdicts(stores, p1, inHand, SECRET)
        await expectNoTrace()
        expect(await sentToReceiver(stores)).toEqual(['1: bare'])
      })

      it('has a verdict that does not hold it sent to receivers as it is', async () => {
        await concluded()
        const inHand = await stores.outbox.next('one', 10, 10)
        await stores.outbox.adopt('two', 10, IDLE)
        await hookVerdicts(stores, p1, inHand, 'harmless')
        await stores.outbox.done(inHand)
        await hookVerdicts(stores, p1, inHand, 'harmless')
        expect(await sentToReceiver(stores)).toEqual(['1: harmless'])
      })

      it('lets the next revision follow also where that publisher is gone', async () => {
        const { id } = await concluded()
        await stores.outbox.next('one', 10, 10)
        await deleteComment()
        const held = await unpublished(id)
        await stores.cases.restartUnpublished(held, await over(held))
        // Nobody will send it, and what follows it still waits.
        expect(await stores.outbox.size()).toBe(1)
        await stores.pass(7 * IDLE)
        await stores.outbox.adopt('two', 10, IDLE)
        expect(await stores.outbox.size()).toBe(0)
        expect(await openCase(stores, p1)).toMatchObject({ revision: 2 })
      })

      it('changes nothing where the case or its thread is not as it was read', async () => {
        const record = await openCase(stores, p1)
        await deleteComment()
        const held = await unpublished(record.id)
        const given = await over(held)
        const now = await takeCase(stores, record.id)
        expect(await stores.cases.restartUnpublished(held, given)).toBe('changed')
        await stores.cases.answer(record.id, now.run, '0.0', entryOf('came meanwhile'))
        expect(await stores.cases.restartUnpublished({ ...held, epoch: now.epoch }, given), 'an answer came').toBe(
          'changed',
        )
        const current = await unpublished(record.id)
        await stores.threads.putComments(p1, [said('c3')], T0, RULES)
        expect(await stores.cases.restartUnpublished(current, given)).toBe('changed')
        expect(await stores.cases.isOpen(record.id, now.run, '9.0')).toBe(true)
        const again = await over(current)
        expect(await stores.cases.conclude(record, now.epoch, endOf(record))).toBe(true)
        expect(await stores.cases.restartUnpublished(current, again)).toBe('changed')
        expect(await nextIds()).toEqual([record.id])
      })

      it('leaves nothing of what published revisions left behind', async () => {
        await concluded()
        await publishAll(stores)
        await deleteComment()
        const asked: unknown[] = []
        await stores.threads.eraseLeft(p1, {
          openIds: [],
          without(protocol, carry) {
            asked.push([protocol, carry])
            return { scores: 3 }
          },
          caseId: (protocol, revision) => `${protocol}~p1~r${revision}`,
          now: T0,
        })
        expect(asked).toEqual([['rumor', { said: SECRET }]])
        await expectNoTrace()
        expect((await readThread(stores, p1)).revisions.get('rumor')).toMatchObject({ carry: { scores: 3 } })
      })

      it('is in no case on a comment that was about to be shown with it', async () => {
        const ref = thread('p1~c2', 'default', 'comment')
        await stores.threads.putPost(ref, postOf(ref), { ...ARRIVAL, threaded: false, atOnce: true }, RULES)
        const nothing = { openIds: [], without: () => null, caseId: () => 'none', now: T0 }
        const open = (state: ThreadState) =>
          stores.threads.open(state, { cases: [seenBy(state)], waiting: [], dormant: [], nextDue: null, final: true })
        const before = await readThread(stores, ref)
        expect(await stores.threads.eraseLeft(ref, nothing)).toBe(true)
        expect(await open(before)).toEqual([])
        expect(await open(await readThread(stores, ref))).toHaveLength(1)
        // One that is not known is not made up.
        await stores.threads.eraseLeft(thread('p1~c3', 'default', 'comment'), nothing)
        expect(await stores.threads.statusOf(thread('p1~c3', 'default', 'comment'))).toBeNull()
      })

      it('is in no case that was about to open when what revisions left behind was erased', async () => {
        await concluded()
        await publishAll(stores)
        await deleteComment()
        const read = await readThread(stores, p1)
        const erase = (without: () => unknown) =>
          stores.threads.eraseLeft(p1, {
            openIds: [],
            without,
            caseId: (_, revision) => `rumor~p1~r${revision}`,
            now: T0,
          })
        await erase(() => null)
        const opening = (state: ThreadState) => {
          const record = recordOf(state, 'rumor', { carry: state.revisions.get('rumor')?.carry ?? null })
          return { cases: [{ record, seen: state.version }], waiting: [], dormant: [], nextDue: HOUR, final: false }
        }
        expect(await stores.threads.open(read, opening(read))).toEqual([])
        await expectNoTrace()
        const now = await readThread(stores, p1)
        await erase(() => null)
        expect(await stores.threads.open(now, opening(now)), 'nothing was left to erase').toEqual(['rumor~p1~r2'])
      })

      it('is unknown to cases that are published, or never were', async () => {
        const { id } = await concluded()
        await publishAll(stores)
        expect(await stores.cases.unpublished('rumor~p9~r1')).toBeNull()
        const left = await stores.cases.unpublished(id)
        if (left !== null)
          expect(await stores.cases.restartUnpublished(left, await over(left)), 'its thread has no case open').toBe(
            'changed',
          )
      })
    })
  })
}
