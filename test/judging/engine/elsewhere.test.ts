import { beforeEach, describe, expect, it } from 'vitest'
import { authorOf } from '../../../src/contracts/facts/author.ts'
import { samplingRanks } from '../../../src/contracts/facts/sampling-rank.ts'
import { weightedSlots } from '../../../src/contracts/facts/slots.ts'
import type { ThreadRef } from '../../../src/contracts/facts/thread.ts'
import { commentKey, idsInCommentKey } from '../../../src/contracts/facts/verdict-id.ts'
import { aroundOf, elsewhereOf } from '../../../src/judging/engine/elsewhere.ts'
import type { Protocol } from '../../../src/judging/engine/script.ts'
import { seededRandom } from '../../../src/lab/evaluation/statistics/random.ts'
import { memoryStores } from '../../../src/store/memory-stores.ts'
import { ARRIVAL, postOf, RULES, said, T0, thread, unsaid } from '../../contracts/samples.ts'

const drawing = { rank: samplingRanks('the key of the settings'), maxReplies: 1_000 }
let stores: ReturnType<typeof memoryStores>
beforeEach(() => {
  stores = memoryStores(() => T0)
})

/** A thread with comments by these authors; nobody's name is left out. */
async function grown(id: string, authors: readonly (string | null)[], story: string | null = 's'): Promise<ThreadRef> {
  const ref = thread(id)
  await stores.threads.putPost(ref, postOf(ref), { ...ARRIVAL, story }, RULES)
  const comments = authors.map((author, at) =>
    said(`c${at}`, { text: `${id} says ${at}`, createdAt: T0 + at, ...(author === null ? {} : { author }) }),
  )
  await stores.threads.putComments(ref, comments, T0, { ...RULES, maxComments: 2_000 })
  return ref
}

async function shownTo(ref: ThreadRef) {
  const state = await stores.threads.read(ref)
  if (state === null) throw new Error('no thread')
  return elsewhereOf(stores.threads, state, drawing, T0)
}

describe('what a thread is shown of others in the same words', () => {
  it('is at most as many as its own, three of a thread, one of an author, whoever writes how many', async () => {
    const random = seededRandom('an attacker')
    let most = 0
    for (let round = 0; round < 30; round++) {
      stores = memoryStores(() => T0)
      const crowd = Array.from({ length: 1 + random.below(40) }, (_, at) => `t${at}`)
      for (const id of crowd) {
        const names = Array.from({ length: random.below(12) }, () =>
          random.below(5) === 0 ? null : `x${random.below(30)}`,
        )
        await shownTo(await grown(id, names))
      }
      const names = Array.from({ length: random.below(20) }, (_, at) => (at % 4 === 3 ? null : `x${random.below(30)}`))
      const ref = await grown('victim', names)
      const shown = await shownTo(ref)
      const posts = shown.map(({ id }) => idsInCommentKey(id).postId)
      expect(shown.length).toBeLessThanOrEqual(names.length)
      for (const post of new Set(posts)) expect(posts.filter((one) => one === post).length).toBeLessThanOrEqual(3)
      const authors: (string | undefined)[] = []
      for (const { id } of shown) {
        const { postId, subjectId } = idsInCommentKey(id)
        const said = (await stores.threads.read(thread(postId)))?.comments.find((one) => one.id === subjectId)
        authors.push(said && authorOf(said))
      }
      expect(new Set(authors).size).toBe(authors.length)
      expect(authors.filter((author) => names.includes(author ?? null))).toEqual([])
      most = Math.max(most, shown.length)
    }
    expect(most).toBeGreaterThan(5)
  })

  it('is nothing of another story, of no story, or of a thread that was never judged so', async () => {
    await grown('never', ['x', 'y'])
    await shownTo(await grown('another', ['x', 'y'], 'another'))
    const alone = await grown('alone', ['a', 'b'], null)
    expect(await shownTo(alone)).toEqual([])
    expect(await shownTo(await grown('p', ['a', 'b']))).toEqual([])
    expect(await shownTo(await grown('q', ['c', 'd']))).toHaveLength(2)
  })

  it('is the words alone, under a name that no comment of its own has', async () => {
    await shownTo(await grown('t', ['x']))
    const [only] = await shownTo(await grown('p', ['a']))
    expect(only).toEqual({ id: commentKey('t', 'c0'), text: 't says 0', createdAt: T0 })
  })

  it('is linked, so that a deletion finds it, and is not shown once it is gone', async () => {
    const twin = await grown('t', ['x'])
    await shownTo(twin)
    const ref = await grown('p', ['a'])
    await shownTo(ref)
    const itself: ThreadRef = { ...twin, postId: commentKey('t', 'c0'), kind: 'comment' }
    expect(await stores.threads.repliesTo(twin, 9)).toEqual([itself])
    expect(await stores.threads.repliesTo(itself, 9)).toEqual([ref])
    const { read } = stores.threads
    let reads = 0
    stores.threads.read = async (of) => {
      // Deleted between the look and the link.
      if (of.postId === 't' && ++reads === 2) await stores.threads.putComments(twin, [unsaid('c0')], T0, RULES)
      return read(of)
    }
    expect(await shownTo(ref)).toEqual([])
    expect(reads).toBe(2)
  })

  it('is read of few threads at a time: none with more than a thousand comments, no more than that of all, one opening after the other', async () => {
    const names = (count: number, who: string) => Array.from({ length: count }, (_, at) => `${who}${at}`)
    await shownTo(await grown('large', names(1_001, 'l')))
    for (let nth = 0; nth < 8; nth++) await shownTo(await grown(`t${nth}`, names(300, 'own')))
    const refs = [await grown('p', names(300, 'own')), await grown('q', names(300, 'own'))]
    const { read } = stores.threads
    let [comments, reading, mostReading] = [0, 0, 0]
    stores.threads.read = async (ref) => {
      mostReading = Math.max(mostReading, ++reading)
      const state = await read(ref)
      comments += state?.comments.length ?? 0
      reading--
      return state
    }
    const turns = weightedSlots(1)
    const ready = [{ elsewhere: true }] as unknown as Protocol[] // as: of protocols it asks nothing else
    const around = async (ref: ThreadRef) => {
      const state = await read(ref)
      return state && aroundOf(stores.threads, state, { drawing, ready, turns, now: T0 })
    }
    const [one, other] = await Promise.all(refs.map(around))
    // Three threads fit, of people who have all been heard.
    expect([one?.elsewhere, other?.elsewhere, comments, mostReading]).toEqual([[], [], 2 * 900, 1])
  })
})
