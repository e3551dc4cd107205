import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CaseRecord, JournalEntry } from '../../src/contracts/facts/case.ts'
import { CaseWithheld, type UnpublishedCase } from '../../src/contracts/ports/cases.ts'
import { ownerOf } from '../../src/shelves/names.ts'
import { ARRIVAL, endOf, entryOf, postOf, RULES, retractionOf, thread } from './samples.ts'
import { hookVerdicts, type MakeStores, openCase, readThread, type Stores, sentToReceiver, takeCase } from './stores.ts'

/** What the stores promise of deleted subjects whose content is on shelves, or was shown to cases of other subjects. */
export function shownContract(name: string, make: MakeStores): void {
  describe(`what was shown of deleted subjects, ${name}`, () => {
    const [p1, p2] = [thread('p1'), thread('p2')]
    const owner = ownerOf({ tenant: 'default', id: 'p1', kind: 'post' })
    const SECRET = 'SECRET-words'
    let stores: Stores
    beforeEach(async () => {
      stores = await make()
      for (const ref of [p1, p2]) await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
    })
    afterEach(async () => {
      await stores.close()
    })

    const remove = (ref = p1) => stores.threads.deletePost(ref, retractionOf(ref))
    const shows = (id = 'item', of = owner): JournalEntry => ({
      ...entryOf({ shelves: [], text: SECRET }),
      shown: [{ shelf: 'precedents', id, owner: of }],
    })
    /** A case of p2 that was shown something of p1. */
    async function shownCase(protocol = 'safety'): Promise<{ record: CaseRecord; run: number }> {
      const record = await openCase(stores, p2, { protocol })
      const { run } = await takeCase(stores, record.id)
      expect(await stores.cases.answer(record.id, run, '0.0', shows(), record)).toMatchObject({
        outcome: 'stored',
      })
      return { record, run }
    }
    async function conclude(record: CaseRecord): Promise<boolean> {
      const { epoch } = await takeCase(stores, record.id)
      return stores.cases.conclude(record, epoch, endOf(record, SECRET))
    }
    async function unpublished(id: string): Promise<UnpublishedCase> {
      const found = await stores.cases.unpublished(id)
      if (found === null) throw new Error('no such case')
      return found
    }
    async function clean(id: string, journal = new Map<string, JournalEntry>()) {
      const found = await unpublished(id)
      const { version } = await readThread(stores, p2)
      const record = { ...found.record, restartedAtEpoch: found.epoch + 1 }
      const restart = { record, journal, lostCalls: [], version, seen: null, withheld: true }
      return stores.cases.restartUnpublished(found, restart)
    }
    const handed = async () =>
      (await stores.outbox.next('one', 10, 10)).map((one) => (one.kind === 'verdict' ? one.caseId : one.kind))

    it('knows an owner as deleted with the deletion itself, by its kind', async () => {
      const reply = ownerOf({ tenant: 'default', id: 'p1', kind: 'reply' })
      expect(await stores.erasures.deletedAmong([owner, reply])).toEqual(new Set())
      await remove()
      expect(await stores.erasures.deletedAmong([owner, reply])).toEqual(new Set([owner]))
      expect(await stores.erasures.onShelves(10)).toEqual([owner])
      await remove(thread('p1', 'default', 'reply'))
      expect(await stores.erasures.deletedAmong([owner, reply])).toEqual(new Set([owner, reply]))
    })

    it('learns from a recovery about a deletion that is not read again, as from the deletion itself', async () => {
      await shownCase()
      await stores.erasures.note(p1)
      expect(await stores.erasures.deletedAmong([owner])).toEqual(new Set([owner]))
      expect(await stores.erasures.onShelves(10)).toEqual([owner])
      expect(await stores.erasures.inCases(10)).toEqual([owner])
    })

    it('forgets at once who owned nothing, and the others when they have been erased for long', async () => {
      await remove()
      await remove(thread('p9'))
      const other = ownerOf({ tenant: 'default', id: 'p9', kind: 'post' })
      await stores.erasures.shelvesErased([owner, other], new Set([owner]))
      expect(await stores.erasures.onShelves(10)).toEqual([])
      expect(await stores.erasures.deletedAmong([owner, other])).toEqual(new Set([owner]))
      await stores.erasures.expire(60_000)
      expect(await stores.erasures.deletedAmong([owner])).toEqual(new Set([owner]))
      await stores.pass(20)
      await stores.erasures.expire(10)
      expect(await stores.erasures.deletedAmong([owner])).toEqual(new Set())
    })

    it('keeps an owner that was erased also where it is deleted again', async () => {
      await remove()
      await stores.erasures.shelvesErased([owner], new Set([owner]))
      await stores.pass(20)
      await remove()
      expect(await stores.erasures.onShelves(10)).toEqual([owner])
      await stores.erasures.shelvesErased([owner], new Set())
      expect(await stores.erasures.onShelves(10)).toEqual([])
      expect(await stores.erasures.deletedAmong([owner])).toEqual(new Set([owner]))
      const all: string[] = []
      for await (const some of stores.erasures.deletedOwners()) all.push(...some)
      expect(all).toEqual([owner])
    })

    it('keeps who was shown to a case until the case is clean, whatever the shelves hold', async () => {
      const { record } = await shownCase()
      await remove()
      await stores.erasures.shelvesErased([owner], new Set())
      await stores.pass(20)
      await stores.erasures.expire(0)
      expect(await stores.erasures.deletedAmong([owner])).toEqual(new Set([owner]))
      expect(await stores.erasures.inCases(10)).toEqual([owner])
      const shown = await stores.erasures.shownTo(owner, 10)
      expect(shown).toEqual([{ ref: p2, protocol: 'safety', caseId: record.id }])
      expect(await stores.erasures.casesCleaned(owner, shown)).toBe(0)
      expect(await stores.erasures.inCases(10)).toEqual([])
    })

    it('says how much waits, and since when', async () => {
      expect(await stores.erasures.waiting()).toEqual({
        shelves: { count: 0, oldest: null },
        cases: { count: 0, oldest: null },
      })
      await shownCase()
      await remove()
      const { shelves, cases } = await stores.erasures.waiting()
      expect([shelves.count, cases.count]).toEqual([1, 1])
      await stores.pass(20)
      await remove()
      await remove(thread('p9'))
      expect(await stores.erasures.waiting()).toEqual({ shelves: { ...shelves, count: 2 }, cases })
    })

    it('takes no answer that shows a deleted owner', async () => {
      const record = await openCase(stores, p2, { protocol: 'safety' })
      const { run } = await takeCase(stores, record.id)
      await remove()
      expect(await stores.cases.answer(record.id, run, '0.0', shows(), record)).toEqual({
        outcome: 'deleted',
        answers: 0,
      })
      expect((await unpublished(record.id)).journal.size).toBe(0)
      expect(await stores.cases.isWithheld(record.id)).toBe(false)
    })

    it('withholds a case that was shown one: it is not taken over, though it still takes answers, and not concluded', async () => {
      const { record, run } = await shownCase()
      const { epoch } = await takeCase(stores, record.id)
      expect(await stores.cases.isWithheld(record.id)).toBe(false)
      await remove()
      expect(await stores.cases.isWithheld(record.id)).toBe(true)
      await expect(stores.cases.take(record.id)).rejects.toThrow(CaseWithheld)
      const answered = await stores.cases.answer(record.id, run, '1.0', entryOf(1))
      expect(answered).toEqual({ outcome: 'stored', answers: 2 })
      expect(await stores.cases.conclude(record, epoch, endOf(record, SECRET))).toBe(false)
      expect(await stores.outbox.size()).toBe(0)
    })

    it('does not withhold a case that was shown something of somebody else', async () => {
      const { record } = await shownCase()
      await remove(thread('p9'))
      expect(await stores.cases.isWithheld(record.id)).toBe(false)
      expect(await conclude(record)).toBe(true)
      expect(await handed()).toEqual([record.id])
    })

    it('hands no verdict of such a case to a publisher, and lets the case begin again as if nobody had taken it', async () => {
      const { record } = await shownCase()
      expect(await conclude(record)).toBe(true)
      await remove()
      expect(await handed()).toEqual([])
      expect(await clean(record.id)).toBe('restarted')
      expect((await stores.traces?.(SECRET)) ?? []).toEqual([])
      expect(await stores.outbox.size()).toBe(0)
    })

    it('takes a verdict back that no publisher has asked for', async () => {
      const { record } = await shownCase()
      expect(await conclude(record)).toBe(true)
      await remove()
      expect(await clean(record.id)).toBe('restarted')
      expect((await stores.traces?.(SECRET)) ?? []).toEqual([])
      expect(await handed()).toEqual([])
      await stores.erasures.release(10)
      expect(await conclude(record)).toBe(true)
      expect(await handed()).toEqual([record.id])
    })

    it('leaves a verdict that a publisher has to that publisher, and erases the case', async () => {
      const { record } = await shownCase()
      expect(await conclude(record)).toBe(true)
      expect(await handed()).toEqual([record.id])
      await remove()
      expect(await clean(record.id)).toBe('in-flight')
    })

    it('takes a verdict from its publisher that has waited in its hand, and lets the case begin again under its number', async () => {
      const { record } = await shownCase()
      expect(await conclude(record)).toBe(true)
      const entries = await stores.outbox.next('one', 10, 10)
      expect(await stores.outbox.stillToSend(entries, new Set())).toEqual({ sendable: entries, withheld: [] })
      await remove()
      expect(await stores.outbox.stillToSend(entries, new Set())).toEqual({ sendable: [], withheld: [] })
      expect(await stores.outbox.size()).toBe(0)
      expect(await clean(record.id)).toBe('restarted')
      expect((await stores.traces?.(SECRET)) ?? []).toEqual([])
      await stores.erasures.release(10)
      expect(await conclude(record)).toBe(true)
      expect(await handed()).toEqual([record.id])
    })

    it('leaves it one that may be on its topic, to be sent by nobody until it is erased', async () => {
      const { record } = await shownCase()
      expect(await conclude(record)).toBe(true)
      const entries = await stores.outbox.next('one', 10, 10)
      const tried = new Set(entries.map(({ id }) => id))
      expect(await stores.outbox.stillToSend(entries, tried)).toEqual({ sendable: entries, withheld: [] })
      await remove()
      expect(await stores.outbox.stillToSend(entries, tried)).toEqual({ sendable: [], withheld: entries })
      await stores.pass(20)
      expect(await stores.outbox.adopt('two', 10, 10)).toEqual(entries)
      expect(await stores.outbox.stillToSend(entries, new Set())).toEqual({ sendable: [], withheld: entries })
      expect(await clean(record.id)).toBe('in-flight')
      expect(await stores.outbox.stillToSend(entries, tried)).toEqual({ sendable: [], withheld: [] })
      expect(await stores.outbox.size()).toBe(0)
    })

    it('has a verdict that a publisher has sent to receivers without its words, from the deletion on', async () => {
      const { record } = await shownCase()
      expect(await conclude(record)).toBe(true)
      const entries = await stores.outbox.next('one', 10, 10)
      await remove()
      await hookVerdicts(stores, p2, entries, SECRET)
      expect(await sentToReceiver(stores)).toEqual(['1: bare'])
    })

    it('retracts a verdict that was kept from its publisher when its own subject is deleted', async () => {
      const { record } = await shownCase()
      expect(await conclude(record)).toBe(true)
      await remove()
      expect(await handed()).toEqual([])
      await remove(p2)
      expect(await handed()).toEqual(['safety~p2~r2'])
      expect((await stores.traces?.(SECRET)) ?? []).toEqual([])
    })

    it('lets cleaned cases go on when they are released, as many as asked for, the longest waiting first', async () => {
      const [one, two] = [await shownCase('safety'), await shownCase('hate')]
      await remove()
      for (const { record } of [one, two]) {
        expect(await clean(record.id, new Map([['0.0', entryOf('what is left')]]))).toBe('restarted')
        await stores.pass(2)
        await expect(stores.cases.take(record.id)).rejects.toThrow(CaseWithheld)
        expect(await stores.cases.isWithheld(record.id)).toBe(true)
      }
      expect(await stores.erasures.release(1)).toEqual([one.record.id])
      expect((await takeCase(stores, one.record.id)).run).toBe(one.run + 1)
      await expect(stores.cases.take(two.record.id)).rejects.toThrow(CaseWithheld)
      expect(await stores.erasures.release(5)).toEqual([two.record.id])
      expect(await stores.erasures.release(5)).toEqual([])
      await takeCase(stores, two.record.id)
    })

    it('releases no case that has been deleted meanwhile', async () => {
      const { record } = await shownCase()
      await remove()
      await clean(record.id)
      await remove(p2)
      expect(await stores.erasures.release(5)).toEqual([])
      expect(await stores.cases.unpublished(record.id)).toBeNull()
    })

    it('has one process erase at a time, until it says nothing for long', async () => {
      expect(await stores.erasures.lead('shelves', 'one', 50)).toBe(true)
      expect(await stores.erasures.lead('shelves', 'two', 50)).toBe(false)
      expect(await stores.erasures.lead('cases', 'two', 50)).toBe(true)
      expect(await stores.erasures.lead('shelves', 'one', 50)).toBe(true)
      await stores.pass(60)
      expect(await stores.erasures.lead('shelves', 'two', 50)).toBe(true)
    })

    it('knows that a process without a library can’t know the shelves, once another has found one', async () => {
      expect(await stores.erasures.knowsShelves(false)).toBe(true)
      expect(await stores.erasures.knowsShelves(true)).toBe(true)
      expect(await stores.erasures.knowsShelves(false)).toBe(false)
    })
  })
}
