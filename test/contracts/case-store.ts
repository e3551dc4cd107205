import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CaseRecord } from '../../src/contracts/facts/case.ts'
import { charactersIn } from '../../src/contracts/facts/characters-in.ts'
import { CaseWithheld } from '../../src/contracts/ports/cases.ts'
import { ARRIVAL, callOf, endOf, entryOf, postOf, RULES, retractionOf, T0, thread } from './samples.ts'
import { concludeCase, type MakeStores, openCase, publishAll, readThread, type Stores, takeCase } from './stores.ts'

/** What every case store promises. */
export function caseStoreContract(name: string, make: MakeStores): void {
  describe(`the case store, ${name}`, () => {
    let stores: Stores
    let record: CaseRecord

    async function open(postId: string): Promise<CaseRecord> {
      const ref = thread(postId)
      await stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)
      return openCase(stores, ref)
    }
    const end = (words?: string) => endOf(record, words)

    beforeEach(async () => {
      stores = await make()
      record = await open('p1')
    })
    afterEach(async () => {
      await stores.close()
    })

    it('hands a case over as it was opened', async () => {
      const taken = await takeCase(stores, record.id)
      expect(taken).toEqual({ record, epoch: 1, run: taken.run, journal: new Map(), lostCalls: [] })
    })

    it('reports the length of its record before anybody reads it', async () => {
      expect(await stores.cases.recordLength(record.id)).toBeGreaterThan(charactersIn(record.subject))
      expect(await stores.cases.recordLength('rumor~nobody~r1')).toBe(0)
    })

    it('raises the epoch with each taking over and with nothing else', async () => {
      expect((await takeCase(stores, record.id)).epoch).toBe(1)
      expect((await stores.cases.peek(record.id))?.epoch).toBe(1)
      await stores.cases.answer(record.id, 0, '0.0', entryOf(1))
      expect((await takeCase(stores, record.id)).epoch).toBe(2)
    })

    it('gives every one of many takers at once an epoch of its own', async () => {
      const epochs = await Promise.all(
        Array.from({ length: 20 }, async () => (await takeCase(stores, record.id)).epoch),
      )
      expect(new Set(epochs).size).toBe(20)
    })

    it('lets the latest taker alone conclude, and once', async () => {
      const { epoch: old } = await takeCase(stores, record.id)
      const { epoch } = await takeCase(stores, record.id)
      expect(await stores.cases.conclude(record, old, end('the old one'))).toBe(false)
      expect(await stores.outbox.size()).toBe(0)
      expect(await stores.cases.conclude(record, epoch, end('the latest'))).toBe(true)
      expect(await stores.cases.conclude(record, epoch, end('once more'))).toBe(false)
      const entries = await stores.outbox.next('one', 10, 10)
      expect(entries).toEqual([
        {
          id: expect.any(String),
          kind: 'verdict',
          caseId: record.id,
          verdict: end('the latest').verdict,
          transcript: end().transcript,
        },
      ])
    })

    it('lets one of many racing takers conclude', async () => {
      const ended = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const { epoch } = await takeCase(stores, record.id)
          return stores.cases.conclude(record, epoch, end(String(index)))
        }).map((each) => each.catch(() => false)),
      )
      expect(ended.filter(Boolean)).toHaveLength(1)
      expect(await stores.outbox.size()).toBe(1)
    })

    it('has its thread due once more when its verdict is published, if it ended without having judged that', async () => {
      const ref = thread('p1')
      const unseen = async () => {
        const { version, revisions } = await readThread(stores, ref)
        return revisions.get('rumor')?.seen !== version
      }
      for (const again of [false, true]) {
        const open = again ? await openCase(stores, ref) : record
        const { epoch } = await takeCase(stores, open.id)
        await stores.cases.conclude(open, epoch, { ...endOf(open), again })
        expect(await stores.threads.due(0, 10)).toEqual([])
        await publishAll(stores)
        expect(await stores.threads.due(0, 10)).toEqual(again ? [ref] : [])
        expect(await unseen()).toBe(again)
      }
    })

    it('knows no concluded case any more, neither before its publication nor after it', async () => {
      const { epoch, run } = await takeCase(stores, record.id)
      await stores.cases.conclude(record, epoch, end())
      for (const moment of ['concluded', 'published']) {
        expect(await stores.cases.take(record.id), moment).toBeNull()
        expect(await stores.cases.peek(record.id)).toBeNull()
        expect((await stores.cases.answer(record.id, run, '0.0', entryOf(1))).outcome).toBe('stale')
        expect(await stores.cases.restart(record.id, epoch, record)).toBe(false)
        expect(await stores.cases.idle(0, 10)).toEqual([])
        expect(await stores.cases.countOpen()).toBe(0)
        await publishAll(stores)
      }
    })

    it('knows no case that was never opened', async () => {
      expect(await stores.cases.take('rumor~nobody~r1')).toBeNull()
      expect(await stores.cases.peek('rumor~nobody~r1')).toBeNull()
      expect((await stores.cases.answer('rumor~nobody~r1', 0, '0.0', entryOf(1))).outcome).toBe('stale')
      await stores.cases.loseCalls('rumor~nobody~r1', [{ key: '0.0', ...callOf('x', 'failed') }])
      expect(await stores.cases.countOpen()).toBe(1)
    })

    it('takes the first answer to an ask, whole', async () => {
      const { run } = await takeCase(stores, record.id)
      const first = {
        ...entryOf({ stance: 'support', reason: '火 "\\ \u0000' }),
        failed: { code: 'refused', detail: 'no' },
        raw: null,
      }
      expect((await stores.cases.answer(record.id, run, '0.0', first)).outcome).toBe('stored')
      expect(await stores.cases.answer(record.id, run, '0.0', entryOf('second'))).toEqual({
        outcome: 'exists',
        answers: 1,
      })
      expect((await stores.cases.answer(record.id, run, '0.10', entryOf('other'))).outcome).toBe('stored')
      const { journal } = await takeCase(stores, record.id)
      expect([...journal].sort(([a], [b]) => (a < b ? -1 : 1))).toEqual([
        ['0.0', first],
        ['0.10', entryOf('other')],
      ])
    })

    it('restarts: without the journal, in a new run that takes no answer to the old one', async () => {
      const { epoch, run } = await takeCase(stores, record.id)
      await stores.cases.answer(record.id, run, '0.0', entryOf('old'))
      const renewed = { ...record, versions: { script: 2, prompts: 'q', settings: 't' } }
      expect(await stores.cases.restart(record.id, epoch, renewed)).toBe(true)
      expect((await stores.cases.answer(record.id, run, '0.1', entryOf('too late'))).outcome).toBe('stale')
      const taken = await takeCase(stores, record.id)
      expect(taken).toMatchObject({ record: renewed, run: run + 1 })
      expect(taken.journal.size).toBe(0)
      expect((await stores.cases.answer(record.id, taken.run, '0.0', entryOf('new'))).outcome).toBe('stored')
    })

    it('restarts for the latest taker alone', async () => {
      const { epoch: old, run } = await takeCase(stores, record.id)
      await takeCase(stores, record.id)
      await stores.cases.answer(record.id, run, '0.0', entryOf('kept'))
      expect(await stores.cases.restart(record.id, old, record)).toBe(false)
      expect((await takeCase(stores, record.id)).journal.size).toBe(1)
    })

    it('is withheld for a while, in a new run, with its answers', async () => {
      const { epoch, run } = await takeCase(stores, record.id)
      await stores.cases.answer(record.id, run, '0.0', entryOf('kept'))
      await stores.cases.withhold(record.id, run, 500)
      await stores.cases.withhold(record.id, run, 60_000)
      await expect(stores.cases.take(record.id)).rejects.toThrow(CaseWithheld)
      expect(await stores.cases.isWithheld(record.id)).toBe(true)
      expect((await stores.cases.answer(record.id, run, '0.1', entryOf('too late'))).outcome).toBe('stale')
      expect(await stores.cases.conclude(record, epoch, end('the old one'))).toBe(false)
      expect(await stores.cases.conclude(record, epoch + 1, end('the new one'))).toBe(false)
      await stores.pass(1_000)
      const taken = await takeCase(stores, record.id)
      expect([taken.run, [...taken.journal.keys()]]).toEqual([run + 1, ['0.0']])
      expect(await stores.cases.conclude(record, taken.epoch, end('the latest'))).toBe(true)
      await stores.cases.withhold(record.id, taken.run, 60_000)
      expect(await stores.cases.isWithheld(record.id)).toBe(false)
    })

    it('remembers lost calls in order, each once, also over a restart', async () => {
      const spent = { promptTokens: 100, cachedTokens: 40, completionTokens: 10, costUsd: 0.125 }
      const lost = (id: string) => ({ key: '0.0', ...callOf(id, 'timeout'), ...(id === 'b' ? { spent } : {}) })
      await stores.cases.loseCalls(record.id, [])
      await stores.cases.loseCalls(record.id, [lost('a'), lost('b')])
      const { epoch } = await takeCase(stores, record.id)
      await stores.cases.restart(record.id, epoch, record)
      await stores.cases.loseCalls(record.id, [lost('c'), lost('a')])
      expect((await takeCase(stores, record.id)).lostCalls).toEqual([lost('a'), lost('b'), lost('c')])
    })

    it('counts an answer once if it is sent twice, as after a cut connection', async () => {
      const { run } = await takeCase(stores, record.id)
      for (let time = 0; time < 2; time++)
        expect((await stores.cases.answer(record.id, run, '0.0', entryOf(1))).outcome).toBe('stored')
      expect((await stores.cases.answer(record.id, run, '0.0', entryOf(2))).outcome).toBe('exists')
    })

    it('lists open cases that nobody took for a while, the longest untouched first', async () => {
      await stores.pass(50)
      const second = await open('p2')
      await stores.pass(50)
      const third = await open('p3')
      await stores.pass(50)
      await takeCase(stores, record.id)
      await stores.cases.peek(second.id)
      await stores.pass(100)
      expect(await stores.cases.countOpen()).toBe(3)
      expect((await stores.cases.openIds()).sort()).toEqual([record.id, second.id, third.id].sort())
      expect(await stores.cases.idle(0, 10)).toEqual([second.id, third.id, record.id])
      expect(await stores.cases.idle(0, 2)).toEqual([second.id, third.id])
      expect(await stores.cases.idle(0, 2, 1)).toEqual([third.id, record.id])
      expect(await stores.cases.idle(0, 2, 2)).toEqual([record.id])
      expect(await stores.cases.idle(0, 2, 3)).toEqual([])
      expect(await stores.cases.idle(140, 10)).toEqual([second.id, third.id])
      expect(await stores.cases.idle(100_000, 10)).toEqual([])
    })

    it('knows until when asks of a protocol were held: the latest that anybody noted', async () => {
      const { cases } = stores
      expect(await cases.unansweredUntil('rumor')).toBeNull()
      await cases.noteUnanswered('rumor', T0 + 2_000)
      await cases.noteUnanswered('rumor', T0 + 1_000)
      await cases.noteUnanswered('hate', T0)
      expect([await cases.unansweredUntil('rumor'), await cases.unansweredUntil('hate')]).toEqual([T0 + 2_000, T0])
    })

    describe('sets the cases of protocols that nobody works on apart', () => {
      const p1 = thread('p1')
      const two = async () => {
        const rumor = record
        const hate = await openCase(stores, p1, { protocol: 'hate' })
        return { rumor, hate }
      }

      it('and counts them no more, until they are worked on again', async () => {
        const { rumor, hate } = await two()
        expect(await stores.cases.partitionByProtocol(['hate', 'safety'])).toEqual({ back: [], unworked: [rumor.id] })
        expect(await stores.cases.countOpen()).toBe(1)
        expect(await stores.cases.openIds()).toEqual([hate.id])
        expect(await stores.cases.idle(0, 10)).toEqual([hate.id])
        expect(await stores.cases.partitionByProtocol(['hate'])).toEqual({ back: [], unworked: [rumor.id] })
        expect(await stores.cases.partitionByProtocol(['hate', 'rumor'])).toEqual({ back: [rumor.id], unworked: [] })
        expect(await stores.cases.countOpen()).toBe(2)
      })

      it('and gives their places to others', async () => {
        await two()
        await stores.threads.putPost(thread('p2'), postOf(thread('p2')), ARRIVAL, RULES)
        expect(await stores.threads.due(T0, 10, 2)).toEqual([])
        await stores.cases.partitionByProtocol([])
        expect(await stores.threads.due(T0, 10, 2)).toEqual([thread('p2')])
      })

      it('and lets whoever has the protocol on conclude one all the same', async () => {
        const { rumor } = await two()
        await stores.cases.partitionByProtocol([])
        await concludeCase(stores, rumor)
        expect((await stores.cases.partitionByProtocol([])).unworked).not.toContain(rumor.id)
        await publishAll(stores)
        expect((await readThread(stores, p1)).revisions.get('rumor')?.openId).toBeNull()
      })

      it('and finds them untouched since before when they come back, whoever took them meanwhile', async () => {
        const { rumor } = await two()
        await stores.pass(50)
        await stores.cases.partitionByProtocol(['hate'])
        await takeCase(stores, rumor.id)
        await stores.cases.partitionByProtocol(['hate', 'rumor'])
        expect(await stores.cases.idle(40, 10)).toContain(rumor.id)
      })

      it('and ends them with their deleted post', async () => {
        const { rumor } = await two()
        await stores.cases.partitionByProtocol([])
        await stores.threads.deletePost(p1, retractionOf(p1))
        expect(await stores.cases.partitionByProtocol([])).toEqual({ back: [], unworked: [] })
        expect(await stores.cases.peek(rumor.id)).toBeNull()
        expect(await stores.outbox.size()).toBe(2)
      })
    })

    it('is taken with its whole journal, whatever of it its worker knows already', async () => {
      const first = await takeCase(stores, record.id)
      for (const key of ['0.0', '0.1', '1.0']) await stores.cases.answer(record.id, first.run, key, entryOf(key))
      const known = { run: first.run, record, journal: new Map([['0.1', entryOf('0.1')]]) }
      const taken = await stores.cases.take(record.id, known)
      const whole = { '0.0': entryOf('0.0'), '0.1': entryOf('0.1'), '1.0': entryOf('1.0') }
      expect(Object.fromEntries(taken?.journal ?? [])).toEqual(whole)
      expect(taken?.record).toEqual(record)
      // Nor does an answer count that the journal does not have: the store has lost it.
      const lost = { ...known, journal: new Map([...known.journal, ['9.0', entryOf('9.0')]]) }
      expect(Object.fromEntries((await stores.cases.take(record.id, lost))?.journal ?? [])).toEqual(whole)
      // What it knows of another run counts for nothing.
      await stores.cases.restart(record.id, (taken?.epoch ?? 0) + 1, { ...record, restartedAt: 7 })
      const again = await stores.cases.take(record.id, known)
      expect([again?.run, again?.journal.size, again?.record.restartedAt]).toEqual([first.run + 1, 0, 7])
    })

    it('has an ask open until it is answered, in its run alone', async () => {
      const { run } = await takeCase(stores, record.id)
      const open = (key: string, ofRun = run) => stores.cases.isOpen(record.id, ofRun, key)
      expect([await open('0.0'), await open('0.0', run + 1)]).toEqual([true, false])
      await stores.cases.answer(record.id, run, '0.0', entryOf(1))
      expect([await open('0.0'), await open('0.1')]).toEqual([false, true])
      expect(await stores.cases.isOpen('rumor~nobody~r1', 0, '0.0')).toBe(false)
    })

    it('keeps a big journal whole', async () => {
      const { run } = await takeCase(stores, record.id)
      const keys = Array.from({ length: 300 }, (_, index) => `0.${index}`)
      const journaled = await Promise.all(
        keys.map((key) => stores.cases.answer(record.id, run, key, entryOf({ key, text: 'x'.repeat(1_000) }))),
      )
      // Each number once: exactly one of them ends the round.
      expect(journaled.map(({ answers }) => answers).sort((a, b) => a - b)).toEqual(keys.map((_, index) => index + 1))
      const { journal } = await takeCase(stores, record.id)
      expect(new Map(keys.map((key) => [key, journal.get(key)?.answer]))).toEqual(
        new Map(keys.map((key) => [key, { key, text: 'x'.repeat(1_000) }])),
      )
    })

    it('says in the thread that the subject is free only after publication', async () => {
      const { epoch } = await takeCase(stores, record.id)
      await stores.cases.conclude(record, epoch, end())
      expect((await readThread(stores, thread('p1'))).revisions.get('rumor')).toMatchObject({
        revision: 1,
        openId: 'rumor~p1~r1',
      })
      await publishAll(stores)
      expect((await readThread(stores, thread('p1'))).revisions.get('rumor')).toMatchObject({
        revision: 1,
        openId: null,
      })
    })
  })
}
