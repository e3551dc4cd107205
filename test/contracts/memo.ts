import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { Memo, MemoEntry, MemoLookup } from '../../src/contracts/ports/memo.ts'
import { thread } from './samples.ts'

/** A memo apart from those of every other test. */
export interface MemoUnderTest {
  readonly memo: Memo
  /** Lets this much time pass, for a clock that was handed in and for the server's own. */
  pass(ms: number): Promise<void>
}

const LEASE = 400
const KEEP = 2_000
const p1 = thread('p1')
const p2 = thread('p2')

export const entryOf = (change: Partial<MemoEntry> = {}): MemoEntry => ({
  answer: { reasoning: 'because', answer: 'Fake' },
  raw: '{"reasoning": "because", "answer": "Fake"}',
  model: 'small',
  promptTokens: 100,
  completionTokens: 10,
  ...change,
})

/** A look for one question. */
async function lookAt(
  memo: Memo,
  key: string,
  holder: string,
  leaseMs: number,
  subject: ThreadRef,
): Promise<MemoLookup> {
  const [looked] = await memo.lookUp([key], holder, leaseMs, subject)
  if (looked === undefined) throw new Error('a look without an answer')
  return looked
}

const leasesOf = (holder: string, keys: readonly string[]) => keys.map((key) => ({ key, holder }))

export function memoContract(where: string, make: () => Promise<MemoUnderTest>): void {
  describe(`the memo ${where}`, () => {
    let memo: Memo
    let pass: MemoUnderTest['pass']
    beforeEach(async () => {
      const made = await make()
      memo = made.memo
      pass = (ms) => made.pass(ms)
    })
    afterEach(async () => {
      for (const subject of [p1, p2]) await memo.forget(subject, 0)
    })
    const look = (holder: string, subject = p1, key = 'k') => lookAt(memo, key, holder, LEASE, subject)
    const keep = async (holder: string, subject = p1, key = 'k', entry = entryOf()) =>
      (await memo.keep([{ key, entry: JSON.stringify(entry) }], holder, KEEP, subject))[0]
    const renew = async (holder: string, key = 'k') => (await memo.renew([{ key, holder }], LEASE))[0]

    it('gives the question to the first holder, and the length of its lease to the others', async () => {
      expect(await look('a')).toEqual({ state: 'leased' })
      const second = await look('b')
      expect(second.state).toBe('leased-by-other')
      if (second.state === 'leased-by-other') {
        expect(second.expiresInMs).toBeGreaterThan(0)
        expect(second.expiresInMs).toBeLessThanOrEqual(LEASE)
      }
    })

    it('gives it to one alone of many who look at once', async () => {
      const looks = await Promise.all(Array.from({ length: 50 }, (_, index) => look(`holder ${index}`)))
      expect(looks.filter(({ state }) => state === 'leased')).toHaveLength(1)
    })

    it('knows the answer from then on, for everybody', async () => {
      await look('a')
      expect(await keep('a')).toBe(true)
      for (const [holder, subject] of [['a', p1] as const, ['b', p1] as const, ['c', p2] as const])
        expect(await look(holder, subject)).toEqual({ state: 'known', entry: entryOf() })
    })

    it('knows each question by itself', async () => {
      await look('a')
      await keep('a')
      expect(await look('a', p1, 'another')).toEqual({ state: 'leased' })
    })

    it('takes many questions at once, and answers each by itself', async () => {
      await look('a', p1, 'known')
      await keep('a', p1, 'known')
      await look('a', p1, 'asked')
      const keys = ['mine', 'known', 'asked', 'mine too']
      const looks = await memo.lookUp(keys, 'b', LEASE, p2)
      expect(looks.map(({ state }) => state)).toEqual(['leased', 'known', 'leased-by-other', 'leased'])
      expect(looks[1]).toEqual({ state: 'known', entry: entryOf() })
      expect(await memo.renew(leasesOf('b', ['mine', 'asked', 'mine too']), LEASE)).toEqual([true, false, true])
      const answers = keys.map((key) => ({ key, entry: JSON.stringify(entryOf({ raw: key })) }))
      expect(await memo.keep(answers, 'b', KEEP, p2)).toEqual([true, false, false, true])
      await memo.share(['mine', 'asked', 'no such question'], p1)
      expect(await look('c', p1, 'mine too')).toMatchObject({ state: 'known', entry: { raw: 'mine too' } })
      await memo.release(['asked', 'known'], 'a')
      expect((await memo.lookUp(keys, 'd', LEASE, p2)).map(({ state }) => state)).toEqual([
        'known',
        'known',
        'leased',
        'known',
      ])
      expect(await memo.forget(p1, 0)).toBe(3)
    })

    it('looks up each item of a prompt by itself', async () => {
      const items = ['frame.known', 'frame.asked', 'frame.new', 'other.known']
      await look('a', p1, 'frame.known')
      await keep('a', p1, 'frame.known', entryOf({ raw: 'known' }))
      await look('a', p1, 'frame.asked')
      const looks = await memo.lookUp(items, 'b', LEASE, p1)
      expect(looks.map(({ state }) => state)).toEqual(['known', 'leased-by-other', 'leased', 'leased'])
      expect(looks[0]).toMatchObject({ entry: { raw: 'known' } })
      expect(await memo.renew(leasesOf('b', items), LEASE)).toEqual([false, false, true, true])
      const answers = items.map((key) => ({ key, entry: JSON.stringify(entryOf({ raw: key })) }))
      expect(await memo.keep(answers, 'b', KEEP, p1)).toEqual([false, false, true, true])
      await memo.release(['frame.asked'], 'a')
      const after = await memo.lookUp(items, 'c', LEASE, p1)
      expect(after.map(({ state }) => state)).toEqual(['known', 'leased', 'known', 'known'])
      expect(after[2]).toMatchObject({ entry: { raw: 'frame.new' } })
      expect(await memo.forget(p1, 0)).toBe(3)
    })

    it('renews the leases of many holders at once, and reports for each whether it still has its own', async () => {
      const all = Array.from({ length: 600 }, (_, nth) => ({ key: `e${nth % 30}.${nth}`, holder: `holder ${nth % 7}` }))
      for (const holder of new Set(all.map((one) => one.holder)))
        await memo.lookUp(
          all.filter((one) => one.holder === holder).map(({ key }) => key),
          holder,
          LEASE,
          p1,
        )
      await memo.release(['e3.33', 'e0.540'], 'holder 5')
      await memo.release(['e0.540'], 'holder 1')
      await look('another', p1, 'e3.33')
      const renewed = await memo.renew(all, 20 * LEASE)
      const lost = all.flatMap(({ key }, nth) => (renewed[nth] === true ? [] : [key]))
      expect(lost).toEqual(['e3.33', 'e0.540'])
      await pass(2 * LEASE)
      expect(await look('another', p1, 'e4.34')).toMatchObject({ state: 'leased-by-other' })
      expect(await look('another', p1, 'e0.540')).toEqual({ state: 'leased' })
    })

    it('keeps many answers at once, and tells each holder of its own', async () => {
      const many = Array.from({ length: 30 }, (_, at) => ({
        holder: `holder ${at}`,
        frame: `f${at}`,
        size: 1 + (at % 20),
      }))
      const keysOf = ({ frame, size }: (typeof many)[number]) =>
        Array.from({ length: size }, (_, item) => `${frame}.${item}`)
      for (const one of many) await memo.lookUp(keysOf(one), one.holder, LEASE, p1)
      // Every third has lost its leases.
      for (const [at, one] of many.entries()) if (at % 3 === 0) await memo.release(keysOf(one), one.holder)
      const answersOf = (one: (typeof many)[number]) =>
        keysOf(one).map((key) => ({ key, entry: JSON.stringify(entryOf({ raw: key })) }))
      const kept = await Promise.all(many.map((one) => memo.keep(answersOf(one), one.holder, KEEP, p1)))
      for (const [at, one] of many.entries()) {
        expect(kept[at]).toEqual(keysOf(one).map(() => at % 3 !== 0))
        const looks = await memo.lookUp(keysOf(one), 'b', LEASE, p2)
        for (const [item, looked] of looks.entries())
          expect(looked).toMatchObject(
            at % 3 === 0 ? { state: 'leased' } : { state: 'known', entry: { raw: `f${at}.${item}` } },
          )
      }
    })

    it('keeps each item of a prompt for its own time', async () => {
      await look('a', p1, 'frame.first')
      await keep('a', p1, 'frame.first')
      await pass(KEEP * 0.6)
      await look('a', p1, 'frame.second')
      await keep('a', p1, 'frame.second')
      await pass(KEEP * 0.6)
      const looks = await memo.lookUp(['frame.first', 'frame.second'], 'b', LEASE, p1)
      expect(looks.map(({ state }) => state)).toEqual(['leased', 'known'])
    })

    it('may be asked the same again by the same holder: a reply may have been lost', async () => {
      await look('a')
      expect(await look('a')).toEqual({ state: 'leased' })
      expect(await keep('a')).toBe(true)
      expect(await keep('a')).toBe(true)
      await memo.release(['k'], 'a')
      expect((await look('b')).state).toBe('known')
    })

    it('gives a lease the place of an answer that is to be overwritten, and of no lease', async () => {
      await look('a')
      await keep('a')
      const overwrite = (holder: string) => memo.lookUp(['k'], holder, LEASE, p2, { overwrite: true })
      expect(await overwrite('b')).toEqual([{ state: 'leased' }])
      expect(await overwrite('c')).toMatchObject([{ state: 'leased-by-other' }])
      expect((await look('d')).state).toBe('leased-by-other')
      expect(await keep('b', p2, 'k', entryOf({ raw: 'anew' }))).toBe(true)
      expect(await look('d')).toMatchObject({ state: 'known', entry: { raw: 'anew' } })
    })

    it('forgets the answer when its keeping time is over', async () => {
      await look('a')
      await keep('a')
      await pass(KEEP + 50)
      expect(await look('b')).toEqual({ state: 'leased' })
    })

    it('does not keep an answer longer because it is looked at', async () => {
      await look('a')
      await keep('a')
      await pass(KEEP / 2)
      expect((await look('b')).state).toBe('known')
      await pass(KEEP / 2 + 50)
      expect(await look('c')).toEqual({ state: 'leased' })
    })

    it('gives the question to the next when the holder gave it up', async () => {
      await look('a')
      await memo.release(['k'], 'a')
      expect(await look('b')).toEqual({ state: 'leased' })
    })

    it('lets a holder release what nobody else waits for, and nothing of what somebody does', async () => {
      const keys = ['f.1', 'f.2']
      await memo.lookUp(keys, 'a', LEASE, p1)
      expect(await memo.releaseUnlessAwaited(keys, 'another')).toBe(true)
      expect((await look('b', p2, 'f.2')).state).toBe('leased-by-other')
      expect(await renew('a', 'f.2')).toBe(true)
      expect(await memo.releaseUnlessAwaited(keys, 'a')).toBe(false)
      expect((await look('c', p2, 'f.1')).state).toBe('leased-by-other')
      expect(await keep('a', p1, 'f.1')).toBe(true)
      expect(await look('c', p2, 'f.1')).toEqual({ state: 'known', entry: entryOf() })
      await memo.lookUp(['f.3'], 'a', LEASE, p1)
      expect(await memo.releaseUnlessAwaited(['f.3'], 'a')).toBe(true)
      expect(await look('b', p2, 'f.3')).toEqual({ state: 'leased' })
      expect(await memo.releaseUnlessAwaited([], 'a')).toBe(true)
    })

    it('takes no word from who does not hold the lease', async () => {
      await look('a')
      await memo.release(['k'], 'b')
      expect(await renew('b')).toBe(false)
      expect(await keep('b')).toBe(false)
      expect((await look('c')).state).toBe('leased-by-other')
      expect(await renew('a', 'no such question')).toBe(false)
    })

    it('gives the question to the next when the lease has lapsed', async () => {
      await look('dead')
      await pass(LEASE + 50)
      expect(await look('b')).toEqual({ state: 'leased' })
      expect(await keep('dead')).toBe(false)
      expect(await renew('dead')).toBe(false)
      expect(await keep('b', p1, 'k', entryOf({ model: 'of b' }))).toBe(true)
      expect(await look('c')).toMatchObject({ state: 'known', entry: { model: 'of b' } })
    })

    it('leaves the question to the holder that renews its lease', async () => {
      await look('a')
      for (let beat = 0; beat < 3; beat++) {
        await pass(LEASE * 0.6)
        expect(await renew('a')).toBe(true)
      }
      expect((await look('b')).state).toBe('leased-by-other')
    })

    it('keeps a late answer where nobody has asked again', async () => {
      await look('late')
      await pass(LEASE + 50)
      expect(await keep('late')).toBe(true)
      expect((await look('b')).state).toBe('known')
    })

    it('erases all that was asked about a subject, and nothing else', async () => {
      for (const key of ['k1', 'k2']) {
        await look('a', p1, key)
        await keep('a', p1, key)
      }
      await look('a', p2, 'k3')
      await keep('a', p2, 'k3')
      expect(await memo.forget(p1, 0)).toBe(2)
      expect(await memo.forget(p1, 0)).toBe(0)
      for (const key of ['k1', 'k2']) expect(await look('b', p2, key)).toEqual({ state: 'leased' })
      expect((await look('b', p2, 'k3')).state).toBe('known')
    })

    it('erases an answer that several subjects share when one of them goes', async () => {
      await look('a', p1)
      await keep('a', p1)
      await look('b', p2)
      expect(await memo.forget(p2, 0)).toBe(1)
      expect(await look('c', p1)).toEqual({ state: 'leased' })
    })

    it('erases an answer for a subject that shares it without having looked', async () => {
      await look('a', p1)
      await keep('a', p1)
      expect(await memo.share(['k'], p2)).toBe(true)
      expect(await memo.share(['no such question'], p2)).toBe(true)
      expect(await memo.forget(p2, 0)).toBe(1)
      expect(await look('c', p1)).toEqual({ state: 'leased' })
    })

    it('leaves to others what they alone know and ask, under a prompt that they share with a subject that goes', async () => {
      await look('a', p1, 'frame.mine')
      await keep('a', p1, 'frame.mine')
      await look('b', p2, 'frame.theirs')
      await keep('b', p2, 'frame.theirs')
      await look('b', p2, 'frame.asked')
      await look('a', p1, 'frame.mine too')
      expect(await memo.forget(p1, 0)).toBe(1)
      expect(await renew('b', 'frame.asked')).toBe(true)
      expect(await renew('a', 'frame.mine too')).toBe(false)
      expect(await keep('b', p2, 'frame.asked')).toBe(true)
      const looks = await memo.lookUp(['frame.mine', 'frame.theirs', 'frame.asked'], 'c', LEASE, p2)
      expect(looks.map(({ state }) => state)).toEqual(['leased', 'known', 'known'])
      // Found by another, it goes with the other as well.
      await look('d', p1, 'frame.theirs')
      expect(await memo.forget(p1, 0)).toBe(1)
      expect(await look('c', p2, 'frame.theirs')).toEqual({ state: 'leased' })
    })

    it('distinguishes a post from a reply and from another tenant’s post of the same id', async () => {
      await look('a', p1)
      await keep('a', p1)
      expect(await memo.forget(thread('p1', 'default', 'reply'), 0)).toBe(0)
      expect(await memo.forget(thread('p1', 'another'), 0)).toBe(0)
      expect((await look('b')).state).toBe('known')
    })

    it('erases more answers than go in one step', async () => {
      const many = Array.from({ length: 1_234 }, (_, index) => `k${index}`)
      await Promise.all(many.map(async (key) => (await look('a', p1, key)).state))
      await Promise.all(many.map((key) => keep('a', p1, key)))
      expect(await memo.forget(p1, 0)).toBe(1_234)
    })

    it('does not keep the answer of a call that was under way when its subject was forgotten', async () => {
      await look('a')
      await memo.forget(p1, 0)
      expect(await renew('a')).toBe(false)
      expect(await keep('a')).toBe(false)
      expect(await look('b')).toEqual({ state: 'leased' })
    })

    it('keeps nothing about a forgotten subject for the given time, and gives the question to each holder', async () => {
      await memo.forget(p1, 300)
      expect(await look('a')).toEqual({ state: 'leased' })
      expect(await look('b')).toEqual({ state: 'leased' })
      expect(await keep('a')).toBe(false)
      expect(await memo.share(['k'], p1), 'and says so').toBe(false)
      await pass(350)
      expect(await memo.share(['k'], p1)).toBe(true)
      await look('c')
      expect(await keep('c')).toBe(true)
    })
  })
}
