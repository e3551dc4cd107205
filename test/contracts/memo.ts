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
  asker: string,
  leaseMs: number,
  subject: ThreadRef,
): Promise<MemoLookup> {
  const [looked] = await memo.look([key], asker, leaseMs, subject)
  if (looked === undefined) throw new Error('a look without an answer')
  return looked
}

const held = (asker: string, keys: readonly string[]) => keys.map((key) => ({ key, asker }))

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
    const look = (asker: string, subject = p1, key = 'k') => lookAt(memo, key, asker, LEASE, subject)
    const keep = async (asker: string, subject = p1, key = 'k', entry = entryOf()) =>
      (await memo.keep([{ key, entry: JSON.stringify(entry) }], asker, KEEP, subject))[0]
    const extend = async (asker: string, key = 'k') => (await memo.extend([{ key, asker }], LEASE))[0]

    it('gives the question to the first asker, and the length of its lease to the others', async () => {
      expect(await look('a')).toEqual({ state: 'mine' })
      const second = await look('b')
      expect(second.state).toBe('asked')
      if (second.state === 'asked') {
        expect(second.waitMs).toBeGreaterThan(0)
        expect(second.waitMs).toBeLessThanOrEqual(LEASE)
      }
    })

    it('gives it to one alone of many who look at once', async () => {
      const looks = await Promise.all(Array.from({ length: 50 }, (_, index) => look(`asker ${index}`)))
      expect(looks.filter(({ state }) => state === 'mine')).toHaveLength(1)
    })

    it('knows the answer from then on, for everybody', async () => {
      await look('a')
      expect(await keep('a')).toBe(true)
      for (const [asker, subject] of [['a', p1] as const, ['b', p1] as const, ['c', p2] as const])
        expect(await look(asker, subject)).toEqual({ state: 'known', entry: entryOf() })
    })

    it('knows each question by itself', async () => {
      await look('a')
      await keep('a')
      expect(await look('a', p1, 'another')).toEqual({ state: 'mine' })
    })

    it('takes many questions at once, and answers each by itself', async () => {
      await look('a', p1, 'known')
      await keep('a', p1, 'known')
      await look('a', p1, 'asked')
      const keys = ['mine', 'known', 'asked', 'mine too']
      const looks = await memo.look(keys, 'b', LEASE, p2)
      expect(looks.map(({ state }) => state)).toEqual(['mine', 'known', 'asked', 'mine'])
      expect(looks[1]).toEqual({ state: 'known', entry: entryOf() })
      expect(await memo.extend(held('b', ['mine', 'asked', 'mine too']), LEASE)).toEqual([true, false, true])
      const answers = keys.map((key) => ({ key, entry: JSON.stringify(entryOf({ raw: key })) }))
      expect(await memo.keep(answers, 'b', KEEP, p2)).toEqual([true, false, false, true])
      await memo.share(['mine', 'asked', 'no such question'], p1)
      expect(await look('c', p1, 'mine too')).toMatchObject({ state: 'known', entry: { raw: 'mine too' } })
      await memo.giveUp(['asked', 'known'], 'a')
      expect((await memo.look(keys, 'd', LEASE, p2)).map(({ state }) => state)).toEqual([
        'known',
        'known',
        'mine',
        'known',
      ])
      expect(await memo.forget(p1, 0)).toBe(3)
    })

    it('looks up each item of a prompt by itself', async () => {
      const items = ['frame.known', 'frame.asked', 'frame.new', 'other.known']
      await look('a', p1, 'frame.known')
      await keep('a', p1, 'frame.known', entryOf({ raw: 'known' }))
      await look('a', p1, 'frame.asked')
      const looks = await memo.look(items, 'b', LEASE, p1)
      expect(looks.map(({ state }) => state)).toEqual(['known', 'asked', 'mine', 'mine'])
      expect(looks[0]).toMatchObject({ entry: { raw: 'known' } })
      expect(await memo.extend(held('b', items), LEASE)).toEqual([false, false, true, true])
      const answers = items.map((key) => ({ key, entry: JSON.stringify(entryOf({ raw: key })) }))
      expect(await memo.keep(answers, 'b', KEEP, p1)).toEqual([false, false, true, true])
      await memo.giveUp(['frame.asked'], 'a')
      const after = await memo.look(items, 'c', LEASE, p1)
      expect(after.map(({ state }) => state)).toEqual(['known', 'mine', 'known', 'known'])
      expect(after[2]).toMatchObject({ entry: { raw: 'frame.new' } })
      expect(await memo.forget(p1, 0)).toBe(3)
    })

    it('extends the leases of many askers at once, and reports for each whether it still has its own', async () => {
      const all = Array.from({ length: 600 }, (_, nth) => ({ key: `e${nth % 30}.${nth}`, asker: `asker ${nth % 7}` }))
      for (const asker of new Set(all.map((one) => one.asker)))
        await memo.look(
          all.filter((one) => one.asker === asker).map(({ key }) => key),
          asker,
          LEASE,
          p1,
        )
      await memo.giveUp(['e3.33', 'e0.540'], 'asker 5')
      await memo.giveUp(['e0.540'], 'asker 1')
      await look('another', p1, 'e3.33')
      const extended = await memo.extend(all, 20 * LEASE)
      const lost = all.flatMap(({ key }, nth) => (extended[nth] === true ? [] : [key]))
      expect(lost).toEqual(['e3.33', 'e0.540'])
      await pass(2 * LEASE)
      expect(await look('another', p1, 'e4.34')).toMatchObject({ state: 'asked' })
      expect(await look('another', p1, 'e0.540')).toEqual({ state: 'mine' })
    })

    it('keeps many answers at once, and tells each asker of its own', async () => {
      const many = Array.from({ length: 30 }, (_, at) => ({
        asker: `asker ${at}`,
        frame: `f${at}`,
        size: 1 + (at % 20),
      }))
      const keysOf = ({ frame, size }: (typeof many)[number]) =>
        Array.from({ length: size }, (_, item) => `${frame}.${item}`)
      for (const one of many) await memo.look(keysOf(one), one.asker, LEASE, p1)
      // Every third has lost its leases.
      for (const [at, one] of many.entries()) if (at % 3 === 0) await memo.giveUp(keysOf(one), one.asker)
      const answersOf = (one: (typeof many)[number]) =>
        keysOf(one).map((key) => ({ key, entry: JSON.stringify(entryOf({ raw: key })) }))
      const kept = await Promise.all(many.map((one) => memo.keep(answersOf(one), one.asker, KEEP, p1)))
      for (const [at, one] of many.entries()) {
        expect(kept[at]).toEqual(keysOf(one).map(() => at % 3 !== 0))
        const looks = await memo.look(keysOf(one), 'b', LEASE, p2)
        for (const [item, looked] of looks.entries())
          expect(looked).toMatchObject(
            at % 3 === 0 ? { state: 'mine' } : { state: 'known', entry: { raw: `f${at}.${item}` } },
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
      const looks = await memo.look(['frame.first', 'frame.second'], 'b', LEASE, p1)
      expect(looks.map(({ state }) => state)).toEqual(['mine', 'known'])
    })

    it('may be asked the same again by the same asker: a reply may have been lost', async () => {
      await look('a')
      expect(await look('a')).toEqual({ state: 'mine' })
      expect(await keep('a')).toBe(true)
      expect(await keep('a')).toBe(true)
      await memo.giveUp(['k'], 'a')
      expect((await look('b')).state).toBe('known')
    })

    it('forgets the answer when its keeping time is over', async () => {
      await look('a')
      await keep('a')
      await pass(KEEP + 50)
      expect(await look('b')).toEqual({ state: 'mine' })
    })

    it('does not keep an answer longer because it is looked at', async () => {
      await look('a')
      await keep('a')
      await pass(KEEP / 2)
      expect((await look('b')).state).toBe('known')
      await pass(KEEP / 2 + 50)
      expect(await look('c')).toEqual({ state: 'mine' })
    })

    it('gives the question to the next when the asker gave it up', async () => {
      await look('a')
      await memo.giveUp(['k'], 'a')
      expect(await look('b')).toEqual({ state: 'mine' })
    })

    it('lets an asker abandon what nobody else waits for, and nothing of what somebody does', async () => {
      const keys = ['f.1', 'f.2']
      await memo.look(keys, 'a', LEASE, p1)
      expect(await memo.abandon(keys, 'another')).toBe(true)
      expect((await look('b', p2, 'f.2')).state).toBe('asked')
      expect(await extend('a', 'f.2')).toBe(true)
      expect(await memo.abandon(keys, 'a')).toBe(false)
      expect((await look('c', p2, 'f.1')).state).toBe('asked')
      expect(await keep('a', p1, 'f.1')).toBe(true)
      expect(await look('c', p2, 'f.1')).toEqual({ state: 'known', entry: entryOf() })
      await memo.look(['f.3'], 'a', LEASE, p1)
      expect(await memo.abandon(['f.3'], 'a')).toBe(true)
      expect(await look('b', p2, 'f.3')).toEqual({ state: 'mine' })
      expect(await memo.abandon([], 'a')).toBe(true)
    })

    it('takes no word from who does not hold the lease', async () => {
      await look('a')
      await memo.giveUp(['k'], 'b')
      expect(await extend('b')).toBe(false)
      expect(await keep('b')).toBe(false)
      expect((await look('c')).state).toBe('asked')
      expect(await extend('a', 'no such question')).toBe(false)
    })

    it('gives the question to the next when the lease has lapsed', async () => {
      await look('dead')
      await pass(LEASE + 50)
      expect(await look('b')).toEqual({ state: 'mine' })
      expect(await keep('dead')).toBe(false)
      expect(await extend('dead')).toBe(false)
      expect(await keep('b', p1, 'k', entryOf({ model: 'of b' }))).toBe(true)
      expect(await look('c')).toMatchObject({ state: 'known', entry: { model: 'of b' } })
    })

    it('leaves the question to who extends its lease', async () => {
      await look('a')
      for (let beat = 0; beat < 3; beat++) {
        await pass(LEASE * 0.6)
        expect(await extend('a')).toBe(true)
      }
      expect((await look('b')).state).toBe('asked')
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
      for (const key of ['k1', 'k2']) expect(await look('b', p2, key)).toEqual({ state: 'mine' })
      expect((await look('b', p2, 'k3')).state).toBe('known')
    })

    it('erases an answer that several subjects share when one of them goes', async () => {
      await look('a', p1)
      await keep('a', p1)
      await look('b', p2)
      expect(await memo.forget(p2, 0)).toBe(1)
      expect(await look('c', p1)).toEqual({ state: 'mine' })
    })

    it('erases an answer for a subject that shares it without having looked', async () => {
      await look('a', p1)
      await keep('a', p1)
      expect(await memo.share(['k'], p2)).toBe(true)
      expect(await memo.share(['no such question'], p2)).toBe(true)
      expect(await memo.forget(p2, 0)).toBe(1)
      expect(await look('c', p1)).toEqual({ state: 'mine' })
    })

    it('leaves to others what they alone know and ask, under a prompt that they share with a subject that goes', async () => {
      await look('a', p1, 'frame.mine')
      await keep('a', p1, 'frame.mine')
      await look('b', p2, 'frame.theirs')
      await keep('b', p2, 'frame.theirs')
      await look('b', p2, 'frame.asked')
      await look('a', p1, 'frame.mine too')
      expect(await memo.forget(p1, 0)).toBe(1)
      expect(await extend('b', 'frame.asked')).toBe(true)
      expect(await extend('a', 'frame.mine too')).toBe(false)
      expect(await keep('b', p2, 'frame.asked')).toBe(true)
      const looks = await memo.look(['frame.mine', 'frame.theirs', 'frame.asked'], 'c', LEASE, p2)
      expect(looks.map(({ state }) => state)).toEqual(['mine', 'known', 'known'])
      // Found by another, it goes with the other as well.
      await look('d', p1, 'frame.theirs')
      expect(await memo.forget(p1, 0)).toBe(1)
      expect(await look('c', p2, 'frame.theirs')).toEqual({ state: 'mine' })
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
      expect(await extend('a')).toBe(false)
      expect(await keep('a')).toBe(false)
      expect(await look('b')).toEqual({ state: 'mine' })
    })

    it('keeps nothing about a forgotten subject for the given time, and gives the question to each asker', async () => {
      await memo.forget(p1, 300)
      expect(await look('a')).toEqual({ state: 'mine' })
      expect(await look('b')).toEqual({ state: 'mine' })
      expect(await keep('a')).toBe(false)
      expect(await memo.share(['k'], p1), 'and says so').toBe(false)
      await pass(350)
      expect(await memo.share(['k'], p1)).toBe(true)
      await look('c')
      expect(await keep('c')).toBe(true)
    })
  })
}
