import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { OutboxEntry } from '../../src/contracts/ports/cases.ts'
import { ARRIVAL, postOf, RULES, thread } from './samples.ts'
import { concludeCase, type MakeStores, openCase, readThread, type Stores } from './stores.ts'

const WAIT_MS = 20

/** What every outbox promises. */
export function outboxContract(name: string, make: MakeStores): void {
  describe(`the outbox, ${name}`, () => {
    let stores: Stores

    beforeEach(async () => {
      stores = await make()
    })
    afterEach(async () => {
      await stores.close()
    })

    const next = (publisher: string, limit = 100, waitMs = WAIT_MS) => stores.outbox.next(publisher, limit, waitMs)
    const letters = (...keys: string[]) =>
      stores.outbox.putDeadLetters(keys.map((key) => ({ key, letter: `letter of ${key}` })))
    const keysOf = (entries: readonly OutboxEntry[]) =>
      entries.map((entry) =>
        entry.kind === 'dead-letter' ? entry.key : entry.kind === 'verdict' ? entry.caseId : 'unknown',
      )
    const verdict = async (postId: string) => {
      const ref = thread(postId)
      await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
      await concludeCase(stores, await openCase(stores, ref))
    }

    it('gives verdicts, and dead letters behind them, in the order in which they came, each once', async () => {
      await letters('a', 'b')
      await verdict('p1')
      await letters('c')
      expect(await stores.outbox.size()).toBe(4)
      const entries = await next('one', 2)
      expect(keysOf(entries)).toEqual(['rumor~p1~r1', 'a', 'b'])
      expect(entries[1]).toMatchObject({ kind: 'dead-letter', key: 'a', letter: 'letter of a' })
      expect(keysOf(await next('one', 3))).toEqual(['c'])
      expect(await next('one')).toEqual([])
      expect(await stores.outbox.size()).toBe(4)
    })

    it('counts dead letters and verdicts apart, and gives no letters to who has no room for them', async () => {
      await letters('a')
      expect(await stores.outbox.backlog()).toEqual({ verdicts: 0, letters: 1, oldestVerdict: null })
      await stores.pass(20)
      await verdict('p1')
      await letters('b')
      const { oldestVerdict, ...counts } = await stores.outbox.backlog()
      expect(counts).toEqual({ verdicts: 1, letters: 2 })
      expect(oldestVerdict).toBeGreaterThan((await stores.outbox.oldest()) ?? Number.POSITIVE_INFINITY)
      const given = await stores.outbox.next('one', 10, WAIT_MS, { withLetters: false })
      expect(keysOf(given)).toEqual(['rumor~p1~r1'])
      expect(await stores.outbox.next('one', 10, WAIT_MS, { withLetters: false })).toEqual([])
      await stores.outbox.done(given)
      expect(await stores.outbox.backlog()).toEqual({ verdicts: 0, letters: 2, oldestVerdict: null })
      expect(keysOf(await next('one'))).toEqual(['a', 'b'])
    })

    it('gives each entry to one publisher alone', async () => {
      await letters(...Array.from({ length: 40 }, (_, index) => `k${index}`))
      const taken = await Promise.all(['one', 'two', 'one', 'two'].map((publisher) => next(publisher, 10)))
      expect(new Set(taken.flat().map(({ id }) => id)).size).toBe(40)
    })

    it('wakes a waiting publisher at the first entry', async () => {
      const waiting = next('one', 10, 5_000)
      const started = performance.now()
      await stores.pass(30)
      await letters('a')
      expect(keysOf(await waiting)).toEqual(['a'])
      expect(performance.now() - started).toBeLessThan(2_000)
    })

    it('waits no longer than requested', async () => {
      const started = performance.now()
      expect(await next('one', 10, 50)).toEqual([])
      expect(performance.now() - started).toBeGreaterThan(30)
      expect(performance.now() - started).toBeLessThan(2_000)
    })

    it('does not wait if no wait was requested', async () => {
      const late = new Promise<'still waiting'>((resolve) => setTimeout(resolve, 500, 'still waiting'))
      expect(await Promise.race([next('one', 10, 0), late])).toEqual([])
    })

    it('gives what a publisher left behind to another, not sooner', async () => {
      await letters('a', 'b', 'c')
      const taken = await next('one')
      expect(await stores.outbox.adopt('two', 10, 100)).toEqual([])
      await stores.pass(150)
      const adopted = await stores.outbox.adopt('two', 2, 100)
      expect(adopted).toEqual(taken.slice(0, 2))
      expect(await stores.outbox.adopt('three', 10, 100)).toEqual(taken.slice(2))
      expect(await stores.outbox.adopt('three', 10, 100)).toEqual([])
      await stores.outbox.done(taken)
      expect(await stores.outbox.size()).toBe(0)
    })

    it('leaves entries with a publisher that says it is still sending them', async () => {
      await letters('a', 'b')
      const [a, b] = await next('one')
      await stores.pass(100)
      await stores.outbox.heartbeat('one', [a?.id ?? ''])
      await stores.outbox.heartbeat('one', [])
      await stores.pass(60)
      expect(keysOf(await stores.outbox.adopt('two', 10, 120))).toEqual(['b'])
      expect(b).toBeDefined()
    })

    it('has nothing sent again that another publisher has done', async () => {
      await letters('a', 'b')
      const entries = await next('one')
      await stores.pass(50)
      await stores.outbox.done(await stores.outbox.adopt('two', 1, 10))
      for (const tried of [new Set<string>(), new Set(entries.map(({ id }) => id))])
        expect(await stores.outbox.stillToSend(entries, tried)).toEqual({ sendable: entries.slice(1), withheld: [] })
    })

    it('does not bring back by a late heartbeat what is done', async () => {
      await letters('a')
      const entries = await next('one')
      await stores.outbox.done(entries)
      await stores.outbox.heartbeat(
        'one',
        entries.map(({ id }) => id),
      )
      await stores.pass(50)
      expect(await stores.outbox.adopt('two', 10, 10)).toEqual([])
      expect(await stores.outbox.size()).toBe(0)
    })

    it('says since when its oldest entry has waited, whether somebody is sending it or not', async () => {
      expect(await stores.outbox.oldest()).toBeNull()
      await letters('a')
      const first = await stores.outbox.oldest()
      await stores.pass(50)
      await letters('b')
      expect(await stores.outbox.oldest()).toBe(first)
      const [a, b] = await next('one')
      expect(await stores.outbox.oldest()).toBe(first)
      await stores.outbox.done(a === undefined ? [] : [a])
      expect(await stores.outbox.oldest()).toBeGreaterThan(first ?? Number.POSITIVE_INFINITY)
      await stores.outbox.done(b === undefined ? [] : [b])
      expect(await stores.outbox.oldest()).toBeNull()
    })

    it('forgets what is done, also when it is done twice', async () => {
      await letters('a', 'b')
      const [a, ...rest] = await next('one')
      await stores.outbox.done(a === undefined ? [] : [a, a])
      expect(await stores.outbox.size()).toBe(1)
      await stores.outbox.done(rest)
      await stores.outbox.done(rest)
      expect(await stores.outbox.size()).toBe(0)
      expect(await stores.outbox.adopt('two', 10, 0)).toEqual([])
    })

    it('keeps for another what a publisher leaves behind that ends, or was not heard of for long', async () => {
      await stores.outbox.leave('nobody')
      await stores.outbox.forget(0)
      await letters('a', 'b', 'c')
      const taken = [...(await next('one', 1)), ...(await next('two', 1)), ...(await next('three', 1))]
      await stores.outbox.leave('one')
      await stores.pass(30)
      await stores.outbox.forget(20)
      expect(await stores.outbox.adopt('four', 10, 20)).toEqual(taken)
      await stores.outbox.done(taken)
      // Who was forgotten while it lived goes on.
      await stores.outbox.forget(0)
      await letters('d')
      expect(keysOf(await next('one'))).toEqual(['d'])
    })

    it('frees the subject of a verdict that another publisher has finished', async () => {
      await verdict('p1')
      await next('one')
      await stores.pass(50)
      const adopted = await stores.outbox.adopt('two', 10, 20)
      await stores.outbox.done(adopted)
      expect((await readThread(stores, thread('p1'))).revisions.get('rumor')?.openId).toBeNull()
      expect(await stores.cases.countOpen()).toBe(0)
    })

    it('frees a subject by its own verdict alone', async () => {
      await verdict('p1')
      await verdict('p2')
      await letters('a')
      const entries = await next('one')
      await stores.outbox.done(
        entries.filter(
          (entry) => entry.kind === 'dead-letter' || (entry.kind === 'verdict' && entry.caseId === 'rumor~p2~r1'),
        ),
      )
      expect((await readThread(stores, thread('p1'))).revisions.get('rumor')?.openId).not.toBeNull()
      expect((await readThread(stores, thread('p2'))).revisions.get('rumor')?.openId).toBeNull()
    })

    it('hands out what became of appeals as it was put', async () => {
      const outcome = {
        schema: 1,
        id: 'é1',
        tenant: 'acme',
        outcome: 'upheld',
        at: '2026-05-01T10:00:00.000Z',
      } as const
      await stores.outbox.putAppealOutcomes([outcome])
      const [entry] = await next('one')
      expect(entry).toEqual({ id: expect.any(String), kind: 'appeal', outcome })
      if (entry !== undefined) await stores.outbox.done([entry])
      expect(await next('two')).toEqual([])
    })

    it('keeps dead letters byte for byte', async () => {
      const letter = JSON.stringify({ raw: Buffer.alloc(256 * 1024, 7).toString('base64'), detail: '火 \u2028 "' })
      await stores.outbox.putDeadLetters([{ key: '評論:1', letter }])
      await stores.outbox.putDeadLetters([])
      expect(await next('one')).toEqual([{ id: expect.any(String), kind: 'dead-letter', key: '評論:1', letter }])
    })
  })
}
