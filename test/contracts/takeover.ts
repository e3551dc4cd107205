import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CommentChange, ThreadRules } from '../../src/contracts/ports/threads.ts'
import { ARRIVAL, postOf, RULES, said, thread, unsaid } from './samples.ts'
import { type MakeStores, readThread, type Stores } from './stores.ts'

/** What whoever knows the code and no key can foresee of an id. */
const unkeyed = (id: string) => createHash('sha256').update(id).digest().readUIntBE(0, 6)
const TRIES = 20_000

/** One account, or one text, never has more of a thread's evidence than its share, whatever it does. */
export function takeoverContract(name: string, make: MakeStores): void {
  describe(`a thread that somebody wants for himself, ${name}`, () => {
    let stores: Stores
    const p1 = thread('p1')

    beforeEach(async () => {
      stores = await make()
      await stores.threads.putPost(p1, postOf(p1), ARRIVAL, RULES)
    })
    afterEach(async () => {
      await stores.close()
    })

    const honest = (count: number) =>
      Array.from({ length: count }, (_, at) => said(`h${at}`, { author: `honest ${at}` }))
    const of = (author: string, count: number) =>
      Array.from({ length: count }, (_, at) => said(`${author}${at}`, { author }))
    const put = async (changes: readonly CommentChange[], rules: ThreadRules) => {
      for (let start = 0; start < changes.length; start += 500)
        await stores.threads.putComments(p1, changes.slice(start, start + 500), ARRIVAL.now, rules)
    }
    const left = async () => {
      const { comments } = await readThread(stores, p1)
      return {
        honest: comments.filter(({ id }) => id.startsWith('h')).length,
        others: comments.filter(({ id }) => !id.startsWith('h')).length,
      }
    }

    it('keeps its share of honest comments beside as many whose ids were ground', async () => {
      const cap = 50
      const ground = Array.from({ length: TRIES }, (_, at) => ({ id: `g${at}`, lot: unkeyed(`g${at}`) }))
        .sort((a, b) => a.lot - b.lot)
        .slice(0, cap)
      const rules = { ...RULES, maxComments: cap }
      await put(honest(cap), rules)
      await put(
        ground.map(({ id }) => said(id, { author: `account ${id}` })),
        rules,
      )
      expect((await left()).honest).toBeGreaterThan(cap / 4)
    })

    it.each(['before', 'after'])('keeps 200 honest comments that came %s 10,000 of one author', async (when) => {
      const rules = { ...RULES, maxComments: 500, maxPerAuthor: 20 }
      if (when === 'before') await put(honest(200), rules)
      await put(of('x', 10_000), rules)
      if (when === 'after') await put(honest(200), rules)
      expect(await left()).toEqual({ honest: 200, others: 20 })
    })

    it('keeps all that it has room for beside deletions of ids that never were', async () => {
      const rules = { ...RULES, maxComments: 8 }
      await put(
        Array.from({ length: 8 }, (_, at) => unsaid(`foreign ${at}`)),
        rules,
      )
      await put(honest(8), rules)
      await put(
        Array.from({ length: 80 }, (_, at) => unsaid(`foreign too ${at}`)),
        rules,
      )
      expect(await left()).toEqual({ honest: 8, others: 0 })
    })

    it('keeps all that it has room for beside what one account said and took back', async () => {
      const rules = { ...RULES, maxComments: 8, maxPerAuthor: 3 }
      await put(honest(8), rules)
      for (const one of of('x', 100)) await put([one, unsaid(one.comment.id)], rules)
      expect(await left()).toEqual({ honest: 8, others: 0 })
    })

    it.each([1, 3])(
      'loses no more than an account’s share to one that speaks and takes it back, %i at a time',
      async (at) => {
        const rules = { ...RULES, maxComments: 8, maxPerAuthor: 3 }
        await put(honest(8), rules)
        const all = of('x', 90)
        for (let start = 0; start < all.length; start += at) {
          const some = all.slice(start, start + at)
          await put(some, rules)
          await put(
            some.map(({ comment: { id } }) => unsaid(id)),
            rules,
          )
        }
        expect((await left()).honest).toBeGreaterThanOrEqual(8 - at)
      },
    )

    it('lets no deleted comment come back for deletions of ids that never were, however many', async () => {
      const rules = { ...RULES, maxComments: 8 }
      const gone = honest(8)
      await put(gone, rules)
      await put(
        gone.map(({ comment: { id } }) => unsaid(id)),
        rules,
      )
      await put(
        Array.from({ length: 1_000 }, (_, at) => unsaid(`foreign ${at}`)),
        rules,
      )
      await put(gone, rules)
      expect(await left()).toEqual({ honest: 0, others: 0 })
    })

    it('is not judged early, and has its checkpoints left, where one account says much', async () => {
      const rules = { ...RULES, maxPerAuthor: 3, counts: [10, 30] }
      await put(of('x', 300), rules)
      expect(await readThread(stores, p1)).toMatchObject({ accepted: 300, countStage: 0, dueSince: null })
      await put(honest(7), rules)
      expect(await readThread(stores, p1)).toMatchObject({ countStage: 1 })
    })

    it('is not judged early for what one account said before its post came', async () => {
      const rules = { ...RULES, maxPerAuthor: 3, counts: [10] }
      const p2 = thread('p2')
      await stores.threads.putComments(p2, of('x', 30), ARRIVAL.now, rules)
      await stores.threads.putPost(p2, postOf(p2), ARRIVAL, rules)
      expect(await readThread(stores, p2)).toMatchObject({ accepted: 30, overAuthor: 27, countStage: 0 })
    })
  })
}
