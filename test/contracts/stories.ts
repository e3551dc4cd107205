import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { VerdictStory } from '../../src/contracts/facts/verdict-fields.ts'
import type { OutboxEntry } from '../../src/contracts/ports/cases.ts'
import type { HumanDecision } from '../../src/contracts/ports/decisions.ts'
import { aheadByReach } from '../../src/judging/threads/head-start.ts'
import { ARRIVAL, endOf, HOUR, postOf, RULES, retractionOf, T0, thread } from './samples.ts'
import { type MakeStores, openCase, publishAll, type Stores } from './stores.ts'

const OPPOSED = ['rumor', 'non-rumor']

/** What every store promises of posts that say the same. */
export function storiesContract(name: string, make: MakeStores): void {
  describe(`stories, ${name}`, () => {
    let stores: Stores
    beforeEach(async () => {
      stores = await make()
    })
    afterEach(async () => {
      await stores.close()
    })

    const put = (ref: ThreadRef, story: string | null = 's', change: { reach?: number; text?: string } = {}) =>
      stores.threads.putPost(
        ref,
        postOf(ref, change),
        { ...ARRIVAL, story, reachAhead: aheadByReach(change.reach) },
        RULES,
      )
    /** Judges a post as it stands; gives what its verdict says of its story, and what people are asked to look at. */
    const judge = async (ref: ThreadRef, label: string | null = 'rumor', final = false) => {
      const record = await openCase(stores, ref, { final })
      const taken = await stores.cases.take(record.id)
      const end = endOf(record)
      const verdict = end.verdict.replace('{', '{"schema":2,"story":null,')
      await stores.cases.conclude(record, taken?.epoch ?? 0, { ...end, verdict, label, opposed: OPPOSED })
      return said()
    }
    const said = async () => {
      const entries = await stores.outbox.next('one', 100, 0)
      await stores.outbox.done(entries)
      return { story: storyIn(entries), reviews: reviewsIn(entries) }
    }
    let decisions = 0
    const decide = async (ref: ThreadRef, label: string | null, against: number) => {
      decisions++
      const place = { partition: 0, offset: String(decisions), timestamp: T0 + decisions }
      const [same, withdraw] = [String(decisions), label === null]
      const asked = { ref, protocol: 'rumor', place, same, withdraw, label, against, by: 'ann', why: 'w' }
      const decision: HumanDecision = { ...asked, force: false, opinion: false }
      await stores.decisions.decide(decision, `rumor~${ref.postId}~r`, T0, ({ number }) => ({
        label: label ?? 'rumor',
        verdict: JSON.stringify({ schema: 2, story: null, id: `rumor~${ref.postId}~r${number}` }),
        transcript: '{}',
      }))
      return said()
    }
    const [a, b, c] = [thread('a'), thread('b'), thread('c')]

    it('are told in a verdict with all their posts, how far these reach, and the labels of their verdicts', async () => {
      await put(a, 's', { reach: 10 })
      await put(b, 's', { reach: 500_000 })
      await put(c, 'another', { reach: 7 })
      const first = { id: 's', members: 2, reach: 500_010, labels: { rumor: 1 } }
      expect((await judge(a)).story).toEqual(first)
      expect((await judge(b)).story).toEqual({ ...first, labels: { rumor: 2 } })
      expect((await judge(c)).story).toEqual({ id: 'another', members: 1, reach: 7, labels: { rumor: 1 } })
      expect((await judge(thread('d')).catch(() => ({ story: 'none' }))).story).toBe('none')
    })

    it('are not told in the verdict of a post without one, nor of another tenant', async () => {
      await put(a, null)
      await put(thread('a', 't2'))
      await put(b)
      expect((await judge(a)).story).toBeUndefined()
      expect((await judge(b)).story).toMatchObject({ members: 1 })
    })

    it('count the last verdict of each post, and none where that has no label', async () => {
      for (const ref of [a, b]) await put(ref)
      await judge(a, 'rumor')
      await judge(b, 'rumor')
      await put(a, 's', { text: 'in other letters' })
      expect((await judge(a, null)).story).toMatchObject({ labels: { rumor: 1 } })
      await put(a, 's', { text: 'in other letters again' })
      expect((await judge(a, 'unverified')).story).toMatchObject({ labels: { rumor: 1, unverified: 1 } })
    })

    it('lose a post that is edited to other words or deleted, with its label', async () => {
      for (const ref of [a, b, c]) await put(ref, 's', { reach: 10 })
      for (const ref of [a, b, c]) await judge(ref)
      await put(a, 'other words', { text: 'other words' })
      await stores.threads.deletePost(b, retractionOf(b))
      await publishAll(stores)
      await put(c, 's', { text: 'once more' })
      expect((await judge(c)).story).toEqual({ id: 's', members: 1, reach: 10, labels: { rumor: 1 } })
      expect((await judge(a)).story).toMatchObject({ id: 'other words', members: 1, labels: { rumor: 1 } })
    })

    it('reach as far as is said of their posts later, also before these come', async () => {
      await stores.threads.raiseReach(b, aheadByReach(3_000), { keepMs: HOUR, now: T0 })
      for (const ref of [a, b]) await put(ref, 's', { reach: 100 })
      await stores.threads.raiseReach(a, aheadByReach(2_000), { keepMs: HOUR, now: T0 })
      expect((await judge(a)).story).toMatchObject({ reach: 5_000 })
    })

    it('that differ ask for one look, and for another once they agreed meanwhile', async () => {
      for (const ref of [a, b, c]) await put(ref)
      expect((await judge(a, 'rumor')).reviews).toEqual([])
      expect((await judge(b, 'non-rumor')).reviews).toEqual([{ why: 'story-differs', verdict: 'rumor~b~r1' }])
      expect((await judge(c, 'non-rumor')).reviews).toEqual([])
      await put(a, 's', { text: 'again' })
      expect((await judge(a, 'non-rumor')).reviews).toEqual([])
      await put(c, 's', { text: 'again' })
      expect((await judge(c, 'rumor')).reviews).toEqual([{ why: 'story-differs', verdict: 'rumor~c~r2' }])
      // Who was to be looked at is gone: the next that differs is.
      await stores.threads.deletePost(c, retractionOf(c))
      const d = thread('d')
      await put(d)
      await publishAll(stores)
      expect((await judge(d, 'rumor')).reviews).toEqual([{ why: 'story-differs', verdict: 'rumor~d~r1' }])
    })

    it('do not differ by what says nothing either way', async () => {
      for (const ref of [a, b]) await put(ref)
      await judge(a, 'unverified')
      expect((await judge(b, 'rumor')).reviews).toEqual([])
    })

    it('change no other byte of a verdict, whatever others say in the same words', async () => {
      await put(a, null)
      for (let nth = 0; nth < 20; nth++) {
        await put(thread(`b${nth}`))
        await judge(thread(`b${nth}`), nth % 2 === 0 ? 'rumor' : 'non-rumor')
      }
      await put(b)
      await decide(thread('b0'), 'non-rumor', 1)
      const texts = await Promise.all(
        [a, b].map(async (ref) => {
          const record = await openCase(stores, ref)
          const taken = await stores.cases.take(record.id)
          const end = endOf(record)
          const verdict = end.verdict.replace('{', '{"schema":2,"story":null,')
          await stores.cases.conclude(record, taken?.epoch ?? 0, { ...end, verdict, label: 'rumor', opposed: OPPOSED })
          return end.verdict
        }),
      )
      const entries = await stores.outbox.next('one', 100, 0)
      const written = entries.flatMap((entry) => (entry.kind === 'verdict' ? [entry.verdict] : []))
      const expected = written.map((text) => {
        const { id, story } = JSON.parse(text) as { id: string; story?: VerdictStory }
        const own = texts.find((one) => one.includes(`"id":"${id}"`)) ?? ''
        return `{"schema":2,${story === undefined ? '' : `"story":${JSON.stringify(story)},`}${own.slice(1)}`
      })
      expect(written).toEqual(expected)
      expect(written.filter((text) => text.includes('"story"'))).toHaveLength(1)
    })

    it('name what a person decided, and ask people to look at each new post that machines see otherwise', async () => {
      for (const ref of [a, b, c]) await put(ref)
      await judge(a, 'rumor')
      const current = { label: 'non-rumor', verdictId: 'rumor~a~r2' }
      expect((await decide(a, 'non-rumor', 1)).story).toMatchObject({ labels: { 'non-rumor': 1 }, current })
      const after = await judge(b, 'rumor')
      expect(after.story).toMatchObject({ members: 3, current })
      expect(after.reviews).toEqual([{ why: 'story-decided', verdict: 'rumor~b~r1', label: 'non-rumor' }])
      expect(await judge(c, 'non-rumor')).toMatchObject({ story: { current }, reviews: [] })
    })

    it('of which others of it may be shown comments are found by a draw, a bounded number, and not once they are gone', async () => {
      for (const ref of [a, b]) await put(ref)
      await put(c, 'another')
      expect(await stores.threads.twins(thread('unknown'), 5)).toEqual([])
      expect(await stores.threads.twins(a, 7)).toEqual([])
      expect(await stores.threads.twins(c, 1)).toEqual([])
      expect(await stores.threads.twins(b, 3)).toEqual([a])
      expect(await stores.threads.twins(a, 7)).toEqual([b])
      for (let nth = 0; nth < 30; nth++) {
        await put(thread(`n${nth}`))
        await stores.threads.twins(thread(`n${nth}`), 100 - nth)
      }
      const found = await stores.threads.twins(thread('n0'), 100)
      expect(found.slice(0, 3)).toEqual([b, a, thread('n29')])
      expect(found).toHaveLength(16)
      await put(b, 'another', { text: 'edited to other words' })
      await stores.threads.deletePost(a, retractionOf(a))
      await publishAll(stores)
      expect((await stores.threads.twins(thread('n1'), 99)).slice(0, 1)).toEqual([thread('n29')])
      expect((await stores.traces?.('rumor~a'))?.filter((place) => place.includes('story'))).toEqual(
        stores.traces && [],
      )
    })

    it('name it no more once it is withdrawn, or its post is gone', async () => {
      for (const ref of [a, b, c]) await put(ref)
      for (const ref of [a, b]) await judge(ref)
      await decide(a, 'non-rumor', 1)
      const withdrawn = await decide(a, null, 2)
      expect(withdrawn.story).toMatchObject({ labels: { rumor: 2 } })
      expect(withdrawn.story).not.toHaveProperty('current')
      await decide(b, 'non-rumor', 1)
      await stores.threads.deletePost(b, retractionOf(b))
      await publishAll(stores)
      expect((await judge(c)).story).toEqual({ id: 's', members: 2, reach: 0, labels: { rumor: 2 } })
      expect((await stores.traces?.('rumor~b'))?.filter((place) => place.includes('story'))).toEqual(
        stores.traces && [],
      )
    })
  })
}

function storyIn(entries: readonly OutboxEntry[]): VerdictStory | undefined {
  const [verdict] = entries.flatMap((entry) => (entry.kind === 'verdict' ? [entry.verdict] : []))
  return (JSON.parse(verdict ?? '{}') as { story?: VerdictStory }).story
}

function reviewsIn(entries: readonly OutboxEntry[]) {
  return entries.flatMap((entry) => {
    if (entry.kind !== 'review') return []
    const { why, verdict, label } = entry.review
    return [{ why, verdict, ...(label === undefined ? {} : { label }) }]
  })
}
