import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CaseRecord } from '../../src/contracts/facts/case.ts'
import { keptHash } from '../../src/contracts/facts/kept-image.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { Post, ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { CommentChange, Origin, ThreadRules } from '../../src/contracts/ports/threads.ts'
import { aheadByReach } from '../../src/judging/threads/head-start.ts'
import {
  ARRIVAL,
  callOf,
  endOf,
  entryOf,
  HOUR,
  MINUTE,
  originOf,
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
  judgeOnce,
  type MakeStores,
  openCase,
  publishAll,
  readThread,
  type Stores,
  takeCase,
} from './stores.ts'

const FOREVER = Number.POSITIVE_INFINITY
/** "At once" for the due set, whatever the stream's clock says. */
const AT_ONCE = 0
const FIRST_DUE = T0 + 15 * MINUTE

const letterOf = (origin: Origin) => ({ key: origin.offset, letter: JSON.stringify(origin) })

/** What every thread store promises. */
export function threadStoreContract(name: string, make: MakeStores): void {
  describe(`the thread store, ${name}`, () => {
    let stores: Stores
    const p1 = thread('p1')

    beforeEach(async () => {
      stores = await make()
    })
    afterEach(async () => {
      await stores.close()
    })

    const putPost = (ref: ThreadRef = p1, change = {}, rules: ThreadRules = RULES) =>
      stores.threads.putPost(ref, postOf(ref, change), { ...ARRIVAL, firstDue: FIRST_DUE }, rules)
    const put = (changes: readonly CommentChange[], rules: ThreadRules = RULES, ref: ThreadRef = p1) =>
      stores.threads.putComments(ref, changes, T0 + 5, rules)
    const kept = async (ref: ThreadRef = p1) => (await readThread(stores, ref)).comments.map(({ id }) => id)
    const isDue = async (until: number, ref: ThreadRef = p1) =>
      (await stores.threads.due(until, 1_000)).some(
        ({ tenant, postId }) => tenant === ref.tenant && postId === ref.postId,
      )

    describe('takes', () => {
      it('a post and then its comments, in the order of time and id', async () => {
        expect(await putPost()).toBe('judged')
        const late = said('a', { createdAt: T0 + 3 })
        const changes = [late, said('c', { createdAt: T0 + 1 }), said('b', { createdAt: T0 + 1 })]
        expect(await put(changes)).toEqual(['judged', 'judged', 'judged'])
        const state = await readThread(stores, p1)
        expect(state.post).toEqual(postOf(p1))
        expect(state.comments.map(({ id }) => id)).toEqual(['b', 'c', 'a'])
        expect(state.comments[2]).toEqual(late.comment)
        expect(state).toMatchObject({ ref: p1, accepted: 3, final: false, dueSince: null, countStage: 0 })
      })

      it('how much intake left out of the long texts of the post, its images and its comments', async () => {
        const cut = { left: 1_234, of: 9_234 }
        const change = { cut, media: [{ kind: 'image' as const, alt: 'a sign', cut }] }
        await putPost(p1, change)
        await put([said('c1', { cut })])
        const { post, comments } = await readThread(stores, p1)
        expect(post).toEqual(postOf(p1, change))
        expect(comments).toEqual([said('c1', { cut }).comment])
      })

      it('how far a post reaches, without which it is the same post', async () => {
        const of = (text: string, reach?: number) => putPost(p1, { text, ...(reach !== undefined && { reach }) })
        expect(await of('the bridge ,"reach":7}')).toBe('judged')
        const first = await readThread(stores, p1)
        for (const reach of [120, 0.5, 1e21]) expect(await of('the bridge ,"reach":7}', reach)).toBe('duplicate')
        expect(await readThread(stores, p1)).toEqual({ ...first, post: { ...first.post, reach: 1e21 } })
        expect(await of('the bridge ,"reach":8}', 1e21)).toBe('updated')
        expect(await of('the bridge ,"reach":8}')).toBe('duplicate')
        expect((await readThread(stores, p1)).post?.reach).toBeUndefined()
      })

      it('by which mapping a post came, without which it is the same post', async () => {
        const of = (text: string, change: Partial<Post> = {}) => putPost(p1, { text, ...change })
        expect(await of('the bridge', { mapping: 'a1' })).toBe('judged')
        expect(await of('the bridge', { mapping: 'b2', reach: 7 })).toBe('duplicate')
        expect((await readThread(stores, p1)).post).toEqual(postOf(p1, { text: 'the bridge', mapping: 'b2', reach: 7 }))
        expect(await of('the bridge')).toBe('duplicate')
        expect(await of('the bridge ,"mapping":"b2"}', { mapping: 'b2' })).toBe('updated')
      })

      describe('a large image', () => {
        const [bridge, harbor] = ['bridge', 'harbor'].map((what) => `data:image/png;base64,${what.repeat(5_000)}`) as [
          string,
          string,
        ]
        const showing = (...urls: string[]) => ({ media: urls.map((url) => ({ kind: 'image' as const, url })) })
        /** What a model would be shown, of the post as it was when `state` was read. */
        const shown = async (state: { post: Post | null }, ref = p1) =>
          Promise.all(
            (state.post?.media ?? []).map(({ url = '' }) => {
              const hash = keptHash(url)
              return hash === null ? url : stores.threads.keptImage(ref, hash)
            }),
          )

        it('and has it as long as the post has it', async () => {
          await putPost(p1, showing(bridge, 'https://example.org/a.png', harbor, bridge))
          const first = await readThread(stores, p1)
          expect(await shown(first)).toEqual([bridge, 'https://example.org/a.png', harbor, bridge])
          expect(await putPost(p1, { ...showing(harbor), text: 'Edited.' })).toBe('updated')
          expect(await shown(await readThread(stores, p1))).toEqual([harbor])
        })

        it('also in a clip, of which it takes no more room in a case', async () => {
          const clips = [{ kind: 'video' as const, transcript: 'So it is.', frames: showing(bridge).media }]
          await putPost(p1, { ...showing(bridge), clips })
          const { post } = await readThread(stores, p1)
          const [video] = post?.clips ?? []
          expect(video).toEqual({ ...clips[0], frames: post?.media })
          expect(await putPost(p1, { ...showing(bridge), clips })).toBe('duplicate')
        })

        it('and has none of it after a deletion, nor of another subject', async () => {
          await putPost(p1, showing(bridge))
          const before = await readThread(stores, p1)
          expect(await shown(before)).toEqual([bridge])
          if (keptHash(before.post?.media?.[0]?.url ?? '') === null) return
          expect(await shown(before, thread('p2'))).toEqual([null])
          await stores.threads.deletePost(p1, retractionOf(p1))
          expect(await shown(before)).toEqual([null])
        })

        it('twice, as the same message', async () => {
          await putPost(p1, showing(bridge))
          expect(await putPost(p1, showing(bridge))).toBe('duplicate')
          expect(await putPost(p1, showing(harbor))).toBe('updated')
        })
      })

      it('comments before their post as orphans, and keeps them for it', async () => {
        expect(await put([said('c1'), said('c2')])).toEqual(['orphan', 'orphan'])
        expect((await readThread(stores, p1)).post).toBeNull()
        expect(await putPost()).toBe('judged')
        expect(await kept()).toEqual(['c1', 'c2'])
      })

      it('nothing twice', async () => {
        await putPost()
        await put([said('c1')])
        const before = await readThread(stores, p1)
        expect(await put([said('c1'), said('c2'), said('c2')])).toEqual(['duplicate', 'judged', 'duplicate'])
        const after = await readThread(stores, p1)
        expect(await put([said('c1'), said('c2')])).toEqual(['duplicate', 'duplicate'])
        expect(await putPost()).toBe('duplicate')
        expect(await readThread(stores, p1)).toEqual(after)
        expect(after.version).toBeGreaterThan(before.version)
        expect(after.accepted).toBe(2)
      })

      it('nothing from before the place that it has read to, which would put an old text over a new one', async () => {
        const at = (offset: number, partition = 3, timestamp = 1_000 + offset) => ({
          place: { partition, offset: String(offset), timestamp },
        })
        const c1 = (text: string, place: object) => ({ ...said('c1', { text }), ...place })
        const post = (text: string, place: object) =>
          stores.threads.putPost(p1, postOf(p1, { text }), { ...ARRIVAL, firstDue: FIRST_DUE, ...place }, RULES)
        const texts = async () => {
          const state = await readThread(stores, p1)
          return [state.post?.text, ...state.comments.map(({ text }) => text)]
        }
        expect([await post('old', at(7)), await post('new', at(9))]).toEqual(['judged', 'updated'])
        expect(await put([c1('old', at(20)), c1('new', at(25))])).toEqual(['judged', 'updated'])
        expect([await post('old', at(7)), await post('new', at(9))]).toEqual(['duplicate', 'duplicate'])
        expect(await put([c1('old', at(20)), c1('new', at(25))])).toEqual(['duplicate', 'duplicate'])
        expect(await put([{ ...unsaid('c1'), ...at(24) }])).toEqual(['duplicate'])
        expect(await texts()).toEqual(['new', 'new'])
        // Times may fall from one message to the next.
        expect([await post('late', at(10, 3, 900)), await post('new', at(9))]).toEqual(['updated', 'duplicate'])
        expect(await put([c1('late', at(26, 3, 900)), c1('new', at(25))])).toEqual(['updated', 'duplicate'])
        expect(await put([c1('new', at(25))])).toEqual(['duplicate'])
        expect(await texts()).toEqual(['late', 'late'])
        // Another partition, or a topic that was made anew, counts anew.
        expect(await post('another', at(1, 0))).toBe('updated')
        expect(await put([c1('anew', at(3, 3, 9_000))])).toEqual(['updated'])
        expect(await texts()).toEqual(['another', 'anew'])
        expect(await put([{ ...unsaid('c1'), ...at(4, 3, 9_001) }])).toEqual(['deleted'])
      })

      it('each message of several topics once, in whatever turn they are read and read again', async () => {
        const read = fc.record({ topic: fc.constantFrom('posts', 'posts-2', 'feed'), back: fc.nat({ max: 2 }) })
        let threads = 0
        const all = fc.asyncProperty(fc.array(read, { minLength: 2, maxLength: 12 }), async (reads) => {
          const ref = thread(`of several topics ${threads++}`)
          const taken = new Map<string, number>()
          for (const { topic, back } of reads) {
            const last = taken.get(topic) ?? 0
            const offset = Math.max(1, last + 1 - back)
            const text = `${topic} ${offset}`
            // The longer its name, the further back its broker's clock.
            const place = {
              topic,
              partition: 3,
              offset: String(offset),
              timestamp: 1_000 * (9 - topic.length) + offset,
            }
            const arrival = { ...ARRIVAL, firstDue: FIRST_DUE, place }
            const post = await stores.threads.putPost(ref, postOf(ref, { text }), arrival, RULES)
            const [comment] = await stores.threads.putComments(ref, [{ ...said('c1', { text }), place }], T0, RULES)
            const expected = offset <= last ? 'duplicate' : 'new'
            expect([post, comment].map((one) => (one === 'duplicate' ? one : 'new'))).toEqual([expected, expected])
            taken.set(topic, Math.max(last, offset))
          }
        })
        await fc.assert(all, { numRuns: 60, seed: 71 })
      })

      it('an edited comment in place of the old one', async () => {
        await putPost()
        await put([said('c1')])
        const { version } = await readThread(stores, p1)
        expect(await put([said('c1', { text: 'on second thought' })])).toEqual(['updated'])
        const state = await readThread(stores, p1)
        expect(state.comments.map(({ text }) => text)).toEqual(['on second thought'])
        expect(state.accepted).toBe(1)
        expect(state.version).toBeGreaterThan(version)
      })

      it('an edited post, and is due at once', async () => {
        await putPost()
        await judgeOnce(stores, p1)
        expect(await isDue(FOREVER)).toBe(false)
        const { version } = await readThread(stores, p1)
        expect(await putPost(p1, { text: 'corrected' })).toBe('updated')
        const state = await readThread(stores, p1)
        expect(state.post?.text).toBe('corrected')
        expect(state.dueSince).toBe(T0)
        expect(state.version).toBeGreaterThan(version)
        expect(await isDue(AT_ONCE)).toBe(true)
      })

      it('a deleted comment out, and does not let a redelivery bring it back', async () => {
        await putPost()
        await put([said('c1'), said('c2')])
        expect(await put([unsaid('c1')])).toEqual(['deleted'])
        expect(await kept()).toEqual(['c2'])
        expect(await put([said('c1'), unsaid('c1')])).toEqual(['deleted', 'duplicate'])
        expect(await kept()).toEqual(['c2'])
      })

      it('a comment whose deletion came first not at all', async () => {
        await putPost()
        expect(await put([unsaid('c1'), said('c1')])).toEqual(['deleted', 'deleted'])
        expect(await kept()).toEqual([])
      })

      it('comments whose words hold half a character, before their post and after it', async () => {
        const half = (id: string) => said(id, { text: 'half \ud800', author: '\udfff', createdAt: T0 })
        await put([half('c1'), said('late', { text: '\udbff "createdAt":1', createdAt: T0 + 2 * HOUR })])
        const rules = { ...RULES, counts: [1] }
        expect(await putPost(p1, { text: '\ud800' }, rules)).toBe('judged')
        expect(await isDue(AT_ONCE)).toBe(true)
        expect(await put([half('c2')])).toEqual(['judged'])
        expect(await kept()).toEqual(['c1', 'c2'])
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 2, late: 1, post: { text: '\ud800' } })
      })

      it('no comment from beyond the window', async () => {
        await putPost()
        const edge = said('edge', { createdAt: T0 + RULES.finalAge })
        const beyond = said('beyond', { createdAt: T0 + RULES.finalAge + 1 })
        expect(await put([edge, beyond])).toEqual(['judged', 'late'])
        expect(await put([beyond])).toEqual(['late'])
        expect(await kept()).toEqual(['edge'])
      })

      it('every id that is allowed: colons, digits alone, other scripts, the names of objects, 512 bytes', async () => {
        const ids = [
          'at://did:plc:z/post/3k',
          '0',
          '12345',
          'a~b@c',
          '評論 🔥',
          '__proto__',
          'constructor',
          'x y\n\t"',
          '{}',
          '%s',
          'é'.repeat(256),
        ]
        for (const id of ids) {
          const ref = thread(id)
          expect(await putPost(ref)).toBe('judged')
          expect(
            await put(
              ids.map((one) => said(one)),
              RULES,
              ref,
            ),
          ).toEqual(ids.map(() => 'judged'))
          expect(await isDue(FIRST_DUE, ref)).toBe(true)
          const record = await openCase(stores, ref)
          expect((await takeCase(stores, record.id)).record).toEqual(record)
        }
        for (const id of ids) {
          const state = await readThread(stores, thread(id))
          expect(state.post?.id).toBe(id)
          expect(new Set(state.comments.map((one) => one.id))).toEqual(new Set(ids))
        }
      })

      it('the threads of two tenants apart', async () => {
        const [a, b] = [thread('p1', 'a'), thread('p1', 'b')]
        await putPost(a, { text: 'from a' })
        await put([said('c1', { text: 'to a' })], RULES, a)
        expect(await put([said('c1', { text: 'to b' })], RULES, b)).toEqual(['orphan'])
        expect(await putPost(b, { text: 'from b' })).toBe('judged')
        const record = await openCase(stores, a)
        await stores.threads.deletePost(b, retractionOf(b))
        const state = await readThread(stores, a)
        expect([state.post?.text, state.comments[0]?.text]).toEqual(['from a', 'to a'])
        expect(await stores.cases.peek(record.id)).not.toBeNull()
        expect(await stores.threads.read(b)).toBeNull()
      })
    })

    describe('keeps of a thread', () => {
      const cap: ThreadRules = { ...RULES, maxComments: 7 }
      const many = Array.from({ length: 30 }, (_, index) => said(`c${index}`))

      it('the same sample in whatever order and batches the comments came', async () => {
        await putPost(thread('straight'))
        await put(many, cap, thread('straight'))
        const sample = await kept(thread('straight'))
        expect(sample).toHaveLength(7)
        let round = 0
        const orders = fc.shuffledSubarray(many, { minLength: many.length })
        await fc.assert(
          fc.asyncProperty(orders, fc.integer({ min: 1, max: 30 }), fc.boolean(), async (order, size, postFirst) => {
            const ref = thread(`shuffled ${round++}`)
            if (postFirst) await putPost(ref)
            for (let start = 0; start < order.length; start += size)
              await put(order.slice(start, start + size), cap, ref)
            if (!postFirst) await putPost(ref)
            const state = await readThread(stores, ref)
            expect(new Set(state.comments.map(({ id }) => id))).toEqual(new Set(sample))
            expect(state.accepted).toBe(30)
          }),
          { numRuns: 25 },
        )
      })

      it('nothing from beyond the window, whether it came before the post or after it', async () => {
        const beyond = Array.from({ length: 5 }, (_, index) => said(`late${index}`, { createdAt: T0 + 2 * HOUR }))
        const within = many.slice(0, 5)
        const [before, after] = [thread('before'), thread('after')]
        await put([...beyond, ...within], RULES, before)
        await putPost(before)
        await putPost(after)
        await put([...beyond, ...within], RULES, after)
        expect(await kept(before)).toEqual(await kept(after))
        for (const ref of [before, after])
          expect(await readThread(stores, ref)).toMatchObject({ accepted: 5, late: 5, overAuthor: 0 })
      })

      it('the number of those from beyond the window, each record of them counted once', async () => {
        await putPost()
        const at = (offset: number) => ({ place: { partition: 3, offset: String(offset), timestamp: offset } })
        const late = (id: string, offset: number) => ({ ...said(id, { createdAt: T0 + 2 * HOUR }), ...at(offset) })
        expect(await put([late('a', 1), late('b', 2)])).toEqual(['late', 'late'])
        expect(await put([late('a', 1), late('b', 2), late('c', 3)])).toEqual(['duplicate', 'duplicate', 'late'])
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 0, late: 3, comments: [] })
        await put([said('kept')])
        const edit = (text: string) => said('kept', { text, createdAt: T0 + 2 * HOUR })
        expect(await put([edit('one'), edit('two')])).toEqual(['late', 'late'])
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 1, late: 3 })
      })

      it('no count of a comment that was deleted: nine deleted and one new are one, and pass no checkpoint of ten', async () => {
        const rules = { ...RULES, counts: [10] }
        await putPost(p1, {}, rules)
        const nine = Array.from({ length: 9 }, (_, index) => said(`gone${index}`))
        await put(nine, rules)
        await put(
          nine.map(({ comment: { id } }) => unsaid(id)),
          rules,
        )
        await put([unsaid('gone0'), unsaid('never was'), said('new')], rules)
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 1, countStage: 0, dueSince: null })
      })

      it('no count from before a time in which nobody read its comments', async () => {
        const rules = { ...RULES, maxPerAuthor: 1 }
        const beyond = said('beyond', { createdAt: T0 + 2 * HOUR })
        const loud = ['x0', 'x1', 'x2'].map((id) => said(id, { author: 'x' }))
        const arrives = (text: string, threaded: boolean, atOnce: boolean, ref: ThreadRef = p1) =>
          stores.threads.putPost(ref, postOf(ref, { text }), { ...ARRIVAL, threaded, atOnce }, rules)
        await arrives('read', true, false)
        await put([...loud, beyond], rules)
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 3, overAuthor: 2, late: 1 })
        await arrives('judged alone', false, true)
        await arrives('read again', true, false)
        await put([said('c1'), said('c2')], rules)
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 2, overAuthor: 0, late: 0 })

        const orphaned = thread('orphaned')
        await put(loud, rules, orphaned)
        expect(await arrives('for nobody', false, false, orphaned)).toBe('unrouted')
        await arrives('for somebody', true, false, orphaned)
        expect(await readThread(stores, orphaned)).toMatchObject({ accepted: 0, overAuthor: 0, comments: [] })
      })

      it('everybody else’s comments beside what one account wrote and deleted', async () => {
        const rules = { ...cap, maxPerAuthor: 3 }
        const others = many.slice(0, 7)
        const flood = Array.from({ length: 40 }, (_, at) => said(`x${at}`, { author: 'x' }))
        await putPost()
        await put(others, rules)
        for (const one of flood) await put([one, unsaid(one.comment.id)], rules)
        expect(new Set(await kept())).toEqual(new Set(others.map(({ comment: { id } }) => id)))
        expect(await put(flood, rules)).toEqual(flood.map(() => 'deleted'))
      })

      it('an author’s place that a comment had taken which came before the post and proved late', async () => {
        const rules = { ...RULES, maxPerAuthor: 1 }
        for (let at = 0; at < 8; at++) {
          const ref = thread(`late orphan ${at}`)
          await put([said('beyond', { author: 'x', createdAt: T0 + 2 * HOUR })], rules, ref)
          await stores.threads.putPost(ref, postOf(ref), ARRIVAL, rules)
          await put([said(`within${at}`, { author: 'x' })], rules, ref)
          const { comments, overAuthor, late } = await readThread(stores, ref)
          expect(comments.map(({ id }) => id)).toEqual([`within${at}`])
          expect({ overAuthor, late }).toEqual({ overAuthor: 0, late: 1 })
        }
      })

      it('of all comments that name nobody those with the smallest ranks, beside everybody who is named', async () => {
        const rules = { ...RULES, maxPerAuthor: 3, maxUnnamed: 5, counts: [8] }
        const nameless = Array.from({ length: 30 }, (_, at) => said(`nameless${at}`))
        const named = ['x', 'y'].map((author) => said(author, { author }))
        await putPost()
        await put([...nameless, ...named], rules)
        const first = nameless
          .map(({ comment: { id } }) => id)
          .toSorted((a, b) => RULES.rank(p1, a) - RULES.rank(p1, b))
          .slice(0, 5)
        expect(new Set(await kept())).toEqual(new Set([...first, 'x', 'y']))
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 32, overAuthor: 25, countStage: 0 })
        // An edit keeps its place among the nameless, and loses it where it names somebody.
        await put([said(first[0] ?? '', { text: 'edited' }), said(first[1] ?? '', { author: 'z' })], rules)
        await put([said('nameless again')], rules)
        const nobodys = (await readThread(stores, p1)).comments.filter(({ author }) => author === undefined)
        expect(nobodys).toHaveLength(5)
      })

      describe('of one author', () => {
        const rules: ThreadRules = { ...RULES, maxPerAuthor: 3 }
        const of = (author: string, count: number) =>
          Array.from({ length: count }, (_, index) => said(`${author}${index}`, { author }))
        const byUrgency = (ids: readonly string[]) => ids.toSorted((a, b) => RULES.rank(p1, a) - RULES.rank(p1, b))

        it('the comments with the smallest ranks, and counts the others', async () => {
          await putPost()
          expect(await put([...of('x', 10), ...of('y', 2), said('nobody')], rules)).toEqual(
            Array.from({ length: 13 }, () => 'judged'),
          )
          const share = byUrgency(of('x', 10).map(({ comment: { id } }) => id)).slice(0, 3)
          expect(new Set(await kept())).toEqual(new Set([...share, 'y0', 'y1', 'nobody']))
          expect(await readThread(stores, p1)).toMatchObject({ accepted: 13, overAuthor: 7 })
        })

        it('no more than that under names that look the same, as each was given', async () => {
          await putPost()
          const names = ['x', 'x\u200b', '\u202ex\u202c', 'x\u00ad', '\u2066x\u2069', 'x ']
          await put(
            [...names, 'X'].map((author, at) => said(`v${at}`, { author })),
            rules,
          )
          const authors = (await readThread(stores, p1)).comments.flatMap(({ author }) => author ?? [])
          expect(names.filter((name) => authors.includes(name))).toHaveLength(3)
          expect(authors).toHaveLength(4)
        })

        it('the same ones in whatever order and batches they came, also beside a cap', async () => {
          const all = [...of('x', 12), ...of('y', 4), ...Array.from({ length: 5 }, (_, at) => said(`nobody${at}`))]
          const capped = { ...rules, maxComments: 8 }
          await putPost(thread('straight'))
          await put(all, capped, thread('straight'))
          const sample = await kept(thread('straight'))
          let round = 0
          const orders = fc.shuffledSubarray(all, { minLength: all.length })
          await fc.assert(
            fc.asyncProperty(orders, fc.integer({ min: 1, max: 21 }), async (order, size) => {
              const ref = thread(`authors ${round++}`)
              await putPost(ref)
              for (let start = 0; start < order.length; start += size)
                await put(order.slice(start, start + size), capped, ref)
              expect(await kept(ref)).toEqual(sample)
              const { accepted, overAuthor, comments } = await readThread(stores, ref)
              expect(accepted).toBe(21)
              expect(accepted - overAuthor).toBeGreaterThanOrEqual(comments.length)
            }),
            { numRuns: 20 },
          )
        })

        it('room for another where one was deleted, or came to be another author’s', async () => {
          await putPost()
          await put(of('x', 3), rules)
          await put([unsaid('x0'), said('x1', { author: 'z' })], rules)
          await put([said('x7', { author: 'x' }), said('x8', { author: 'x' })], rules)
          expect(await kept()).toEqual(['x1', 'x2', 'x7', 'x8'])
          expect(await readThread(stores, p1)).toMatchObject({ accepted: 4, overAuthor: 0 })
        })

        it('no more than that while their post has not come', async () => {
          await put(of('x', 10), rules)
          await putPost()
          expect(await kept()).toHaveLength(3)
          expect(await readThread(stores, p1)).toMatchObject({ accepted: 10, overAuthor: 7 })
        })
      })

      describe('under one key and then another', () => {
        const under = (key: string): ThreadRules => ({
          ...RULES,
          maxComments: 7,
          maxPerAuthor: 3,
          samplingKeyVersion: key,
          rank: (_, id) => samplingRanks(key)('a scope', id),
        })
        const by = (from: string, count: number) =>
          Array.from({ length: count }, (_, at) => said(`${from}${at}`, { author: `${from} ${at % 6}` }))
        const [early, later] = [by('e', 25), by('l', 25)]
        const rankOf = (id: string) => under(id.startsWith('e') ? 'one' : 'two').rank(p1, id)

        it('the same sample in whatever order they came under each, as by one sample of all; and says so', async () => {
          const one = { ...under('one'), samplingKeyVersion: 'both', rank: (_: ThreadRef, id: string) => rankOf(id) }
          await putPost(thread('straight'))
          await put([...early, ...later], one, thread('straight'))
          expect((await readThread(stores, thread('straight'))).rekeyed).toBe(false)
          const sample = await kept(thread('straight'))
          expect(sample).toHaveLength(7)
          let round = 0
          const orders = fc.tuple(
            fc.shuffledSubarray(early, { minLength: early.length }),
            fc.shuffledSubarray(later, { minLength: later.length }),
            fc.integer({ min: 1, max: 25 }),
          )
          await fc.assert(
            fc.asyncProperty(orders, async ([first, second, size]) => {
              const ref = thread(`keys ${round++}`)
              await putPost(ref)
              for (let start = 0; start < first.length; start += size)
                await put(first.slice(start, start + size), under('one'), ref)
              expect((await readThread(stores, ref)).rekeyed).toBe(false)
              for (let start = 0; start < second.length; start += size)
                await put(second.slice(start, start + size), under('two'), ref)
              expect(new Set(await kept(ref))).toEqual(new Set(sample))
              expect((await readThread(stores, ref)).rekeyed).toBe(true)
            }),
            { numRuns: 15 },
          )
        })

        it('each comment by the rank that it got when it came, though it be edited or come again', async () => {
          await putPost()
          const few = early.slice(0, 7)
          await put(few, under('one'))
          await put(
            few.map(({ comment: { id, author = '' } }) => said(id, { author, text: 'edited' })),
            under('two'),
          )
          await put(few, under('two'))
          expect((await readThread(stores, p1)).rekeyed).toBe(false)
          await put(later, under('two'))
          const ids = [...few, ...later].map(({ comment: { id } }) => id)
          const first = new Set(ids.toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, 7))
          // No author has more than three among them, so that the ranks alone decide.
          expect(new Set(await kept())).toEqual(first)
        })

        it('nothing of the first where the second begins with an empty thread', async () => {
          await putPost()
          await put(
            [early[0], unsaid('e0')].filter((one) => one !== undefined),
            under('one'),
          )
          await put(later, under('two'))
          expect((await readThread(stores, p1)).rekeyed).toBe(false)
        })
      })

      it('the same sample when a comment that was sampled out comes again', async () => {
        await putPost()
        await put(many, cap)
        const before = await kept()
        await put(many, cap)
        expect(await kept()).toEqual(before)
      })

      it('its deleted ones deleted, also where they had been sampled out', async () => {
        await putPost()
        await put(many, cap)
        await put(
          many.map(({ comment }) => unsaid(comment.id)),
          cap,
        )
        await put(many, cap)
        expect(await kept()).toEqual([])
      })
    })

    describe('has due', () => {
      it('a new post from its first due time on, the earliest first', async () => {
        const [b, c] = [thread('b'), thread('c')]
        const at = (ref: ThreadRef, firstDue: number) =>
          stores.threads.putPost(ref, postOf(ref), { ...ARRIVAL, firstDue }, RULES)
        await at(c, FIRST_DUE + 2)
        await at(b, FIRST_DUE + 1)
        await at(p1, FIRST_DUE)
        expect(await stores.threads.due(FIRST_DUE - 1, 10)).toEqual([])
        expect(await stores.threads.due(FIRST_DUE, 10)).toEqual([p1])
        expect(await stores.threads.due(FIRST_DUE + 5, 2)).toEqual([p1, b])
        expect(await stores.threads.due(FOREVER, 10)).toEqual([p1, b, c])
        expect(await stores.threads.countDue(FIRST_DUE - 1)).toBe(0)
        expect(await stores.threads.countDue(FIRST_DUE)).toBe(1)
        expect(await stores.threads.countDue(FOREVER)).toBe(3)
        expect(await stores.threads.countDue(-FOREVER)).toBe(0)
        expect(await stores.threads.countDue(FOREVER, 3)).toBe(3)
        expect(await stores.threads.countDue(FOREVER, 2)).toBe(0)
        expect(await stores.threads.tenantsOverDue(FOREVER, 2)).toEqual([p1.tenant])
        expect(await stores.threads.tenantsOverDue(FOREVER, 3)).toEqual([])
        expect(await stores.threads.tenantsOverDue(FIRST_DUE + 1, 2)).toEqual([])
        expect(await stores.threads.due(-FOREVER, 10)).toEqual([])
      })

      const counting: ThreadRules = { ...RULES, counts: [2, 4] }

      it('a thread at each count checkpoint, once', async () => {
        await putPost(p1, {}, counting)
        await put([said('c1')], counting)
        expect(await isDue(AT_ONCE)).toBe(false)
        await put([said('c2')], counting)
        expect(await isDue(AT_ONCE)).toBe(true)
        expect(await readThread(stores, p1)).toMatchObject({ countStage: 1, dueSince: T0 + 5 })
        await openCase(stores, p1, { nextDue: T0 + HOUR })
        await put([said('c3'), said('c2')], counting)
        expect(await isDue(AT_ONCE)).toBe(false)
        expect(await isDue(T0 + HOUR)).toBe(true)
        await put([said('c4')], counting)
        expect(await isDue(AT_ONCE)).toBe(true)
        expect((await readThread(stores, p1)).countStage).toBe(2)
      })

      it('a thread whose orphans alone had passed a checkpoint, as soon as its post comes', async () => {
        await put([said('c1'), said('c2'), said('c3'), said('c4'), said('c5')], counting)
        expect(await isDue(AT_ONCE)).toBe(false)
        await putPost(p1, {}, counting)
        expect(await isDue(AT_ONCE)).toBe(true)
        expect((await readThread(stores, p1)).countStage).toBe(2)
      })

      it.each([
        ['a late comment', [said('c9')], 'late'],
        ['an edited comment', [said('c1', { text: 'no, wait' })], 'updated'],
      ] as const)('a final thread again for %s, where the rules re-open', async (_, changes, outcome) => {
        for (const [ref, reopen] of [
          [thread('opens again'), true],
          [thread('stays shut'), false],
        ] as const) {
          const rules = { ...RULES, reopen }
          await putPost(ref)
          await put([said('c1')], rules, ref)
          await judgeOnce(stores, ref, { final: true })
          expect((await readThread(stores, ref)).final).toBe(true)
          expect(await put(changes, rules, ref)).toEqual([outcome])
          expect(await isDue(FOREVER, ref)).toBe(reopen)
        }
      })

      it('a final thread again for a deleted comment, whatever the rules: its verdict rests on it', async () => {
        const rules = { ...RULES, reopen: false }
        await putPost()
        await put([said('c1')], rules)
        await judgeOnce(stores, p1, { final: true })
        expect(await put([unsaid('never said')], rules)).toEqual(['deleted'])
        expect(await isDue(FOREVER)).toBe(false)
        expect(await put([unsaid('c1')], rules)).toEqual(['deleted'])
        expect(await isDue(FOREVER)).toBe(true)
      })

      it('a final thread not again for a comment from beyond the window', async () => {
        await putPost()
        await judgeOnce(stores, p1, { final: true })
        await put([said('c1', { createdAt: T0 + RULES.finalAge + 1 })])
        expect(await isDue(FOREVER)).toBe(false)
      })

      it('orphans when they have waited, and gives up where they came from once', async () => {
        await put([said('c1', { createdAt: T0 }), said('c2', { createdAt: T0 })])
        await put([unsaid('c2')])
        expect(await isDue(T0 + RULES.orphanWait - 1)).toBe(false)
        expect(await isDue(T0 + RULES.orphanWait)).toBe(true)
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(1)
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(0)
        expect(await stores.outbox.next('one', 10, 10)).toMatchObject([
          { kind: 'dead-letter', ...letterOf(originOf('c1')) },
        ])
        expect(await isDue(FOREVER)).toBe(false)
        expect(await stores.threads.read(p1)).toBeNull()
      })

      it('orphans that were read long after their time when they have waited as long', async () => {
        await put([{ ...said('c1', { createdAt: T0 }), reached: T0 + 24 * HOUR }, said('c2', { createdAt: T0 })])
        await put([{ ...unsaid('c3'), reached: T0 + 48 * HOUR }])
        expect(await isDue(T0 + 24 * HOUR + RULES.orphanWait - 1)).toBe(false)
        expect(await isDue(T0 + 24 * HOUR + RULES.orphanWait)).toBe(true)
      })

      it('an orphan that was edited with its last words', async () => {
        await put([said('c1', { createdAt: T0, text: 'first words' })])
        const edited = { ...originOf('c1'), offset: '9', raw: 'of the last words' }
        await put([{ ...said('c1', { createdAt: T0, text: 'last words' }), origin: () => edited }])
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(1)
        expect(await stores.outbox.next('one', 10, 10)).toMatchObject([{ kind: 'dead-letter', ...letterOf(edited) }])
      })

      it('every orphan, those as well that a full thread and a full share have no room for', async () => {
        const rules: ThreadRules = { ...RULES, maxComments: 4, maxPerAuthor: 2 }
        const many = Array.from({ length: 12 }, (_, at) => ({
          ...said(`c${at}`, at < 6 ? { author: 'x' } : {}),
          origin: () => ({ ...originOf(`c${at}`), offset: String(at), bytes: 100 }),
        }))
        for (const one of many) expect(await put([one], rules)).toEqual(['orphan'])
        expect(await kept()).toHaveLength(4)
        const letters: Origin[] = []
        const noting = (origin: Origin) => {
          letters.push(origin)
          return { key: 'k', letter: JSON.stringify(origin) }
        }
        expect(await stores.threads.expireOrphans(p1, noting)).toBe(12)
        const origins = letters.map(({ offset }) => offset)
        expect(origins.toSorted()).toEqual(many.map(({ origin }) => origin().offset).toSorted())
        expect(letters.filter(({ raw }) => raw !== '')).toHaveLength(4)
        expect(letters.every(({ bytes }) => bytes === 100)).toBe(true)
        expect(await stores.outbox.size()).toBe(12)
        expect(await stores.threads.read(p1)).toBeNull()
      })

      it('orphans without room beyond a number as one, with how many they are', async () => {
        const rules: ThreadRules = { ...RULES, maxComments: 1 }
        const many = Array.from({ length: 40 }, (_, at) => ({
          ...said(`c${at}`),
          origin: () => ({ ...originOf(`c${at}`), offset: String(at) }),
        }))
        await put(many.slice(0, 20), rules)
        for (const one of many.slice(20)) await put([one], rules)
        const letters: Origin[] = []
        const noting = (origin: Origin) => {
          letters.push(origin)
          return { key: 'k', letter: '{}' }
        }
        expect(await stores.threads.expireOrphans(p1, noting)).toBe(33)
        const [rest, ...others] = letters.toSorted((a, b) => (b.standsFor ?? 0) - (a.standsFor ?? 0))
        expect(rest).toMatchObject({ standsFor: 8, raw: '' })
        expect(others.every(({ standsFor }) => standsFor === undefined)).toBe(true)
        expect(new Set(letters.map(({ offset }) => offset)).size).toBe(33)
        expect(letters.filter(({ raw }) => raw !== '')).toHaveLength(1)
        expect(await stores.threads.read(p1)).toBeNull()
      })

      it('thousands of orphans, in steps', async () => {
        const many = Array.from({ length: 2_500 }, (_, at) => said(`c${at}`))
        for (let start = 0; start < many.length; start += 500) await put(many.slice(start, start + 500))
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(2_500)
        expect(await stores.outbox.size()).toBe(2_500)
        expect(await stores.threads.read(p1)).toBeNull()
        expect(await isDue(FOREVER)).toBe(false)
      })

      it('orphans no further while so many dead letters wait', async () => {
        await put(Array.from({ length: 1_200 }, (_, at) => said(`c${at}`, { createdAt: T0 })))
        const of = Array.from({ length: 20 }, () => ({ key: 'k', letter: '{}' }))
        await stores.outbox.putDeadLetters(of)
        expect(await stores.threads.expireOrphans(p1, letterOf, 20)).toBeNull()
        expect([await stores.outbox.size(), await isDue(FOREVER)]).toEqual([20, true])
        await stores.outbox.done(await stores.outbox.next('one', 1, 10))
        await stores.threads.expireOrphans(p1, letterOf, 20)
        const { letters } = await stores.outbox.backlog()
        expect(letters).toBeGreaterThan(20)
        await stores.outbox.done(await stores.outbox.next('one', 5_000, 10))
        await stores.threads.expireOrphans(p1, letterOf, 2_000)
        await stores.outbox.done(await stores.outbox.next('one', 5_000, 10))
        expect(await stores.threads.expireOrphans(p1, letterOf, 20)).toBe(0)
        expect([await stores.threads.read(p1), await isDue(FOREVER)]).toEqual([null, false])
      })

      it('no orphans whose post came just before they expired', async () => {
        await put([said('c1')])
        await putPost()
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(0)
        expect(await kept()).toEqual(['c1'])
        expect(await isDue(FIRST_DUE)).toBe(true)
      })

      it('also what only deletions of unknown comments have left, so that it does not stay for ever', async () => {
        expect(await put([unsaid('c1')])).toEqual(['deleted'])
        expect(await isDue(FOREVER)).toBe(true)
        await stores.threads.expireOrphans(p1, letterOf)
        expect(await stores.threads.read(p1)).toBeNull()
      })
    })

    describe('a post by itself', () => {
      const alone = { ...ARRIVAL, firstDue: FIRST_DUE, threaded: false, atOnce: true }
      const putAlone = (change = {}, ref = p1) => stores.threads.putPost(ref, postOf(ref, change), alone, RULES)

      it('is due at once, whatever the age checkpoint', async () => {
        expect(await putAlone()).toBe('judged')
        expect(await isDue(AT_ONCE)).toBe(true)
        expect(await readThread(stores, p1)).toMatchObject({
          postVersion: 1,
          nextAge: null,
          dueSince: T0,
          generation: 0,
        })
      })

      it('waits until the stream has come so far, where it has to; an edit is due at once', async () => {
        await stores.threads.putPost(p1, postOf(p1), { ...alone, notBefore: T0 + 7 }, RULES)
        expect(await readThread(stores, p1)).toMatchObject({ dueSince: null, nextAge: T0 + 7 })
        expect([await isDue(T0 + 6), await isDue(T0 + 7)]).toEqual([false, true])
        // From then on it waits for its turn.
        await stores.threads.orderDue(T0 + 7, T0 + 9, 10, 0)
        expect(await readThread(stores, p1)).toMatchObject({ dueSince: T0 + 9 })
        await stores.threads.putPost(p1, postOf(p1, { text: 'other' }), { ...alone, notBefore: T0 + 7 }, RULES)
        expect(await isDue(AT_ONCE)).toBe(true)
      })

      it('is due at once and keeps its checkpoint where its comments are read too', async () => {
        await stores.threads.putPost(p1, postOf(p1), { ...alone, threaded: true }, RULES)
        expect(await isDue(AT_ONCE)).toBe(true)
        expect((await readThread(stores, p1)).nextAge).toBe(FIRST_DUE)
        expect(await put([said('c1')])).toEqual(['judged'])
      })

      it('keeps no comments, neither earlier nor later ones', async () => {
        expect(await put([said('c1')])).toEqual(['orphan'])
        await putAlone()
        expect(await put([said('c2'), unsaid('c1')])).toEqual(['unrouted', 'unrouted'])
        expect((await readThread(stores, p1)).comments).toEqual([])
      })

      it('counts its own changes, and not those of its comments', async () => {
        await putPost()
        await put([said('c1')])
        expect((await readThread(stores, p1)).postVersion).toBe(1)
        await putPost(p1, { text: 'corrected' })
        expect((await readThread(stores, p1)).postVersion).toBe(2)
      })

      it('shares no thread with a reply of the same id', async () => {
        const reply = thread('p1', 'default', 'reply')
        expect(await putAlone()).toBe('judged')
        expect(await putAlone({ hateSpeech: 'what it answers' }, reply)).toBe('judged')
        expect((await readThread(stores, reply)).post?.hateSpeech).toBe('what it answers')
        expect((await readThread(stores, p1)).post?.hateSpeech).toBeUndefined()
        expect((await stores.threads.due(AT_ONCE, 10)).map(({ kind }) => kind).sort()).toEqual(['post', 'reply'])
        await judgeOnce(stores, reply, { protocol: 'counterspeech' })
        expect((await readThread(stores, p1)).revisions.size).toBe(0)
      })
    })

    describe('tenants take turns', () => {
      const [loud, quiet] = ['loud', 'quiet']
      const putMany = async (tenant: string, count: number, now = T0) => {
        const refs = Array.from({ length: count }, (_, index) => thread(`${tenant} ${index}`, tenant))
        const arrival = { ...ARRIVAL, now, threaded: false, atOnce: true }
        for (let from = 0; from < count; from += 500)
          await Promise.all(
            refs.slice(from, from + 500).map((ref) => stores.threads.putPost(ref, postOf(ref), arrival, RULES)),
          )
        return refs
      }
      const tenantsOf = (refs: readonly ThreadRef[]) => refs.map(({ tenant }) => tenant)
      const openDue = async (limit: number, maxOpen?: number) => {
        const refs = await stores.threads.due(AT_ONCE, limit, maxOpen)
        const records: CaseRecord[] = []
        for (const ref of refs) records.push(await openCase(stores, ref))
        return records
      }

      it('so that five threads are among the first ten, whoever else has five thousand that came before', async () => {
        await putMany(loud, 5_000)
        await putMany(quiet, 5, T0 + 1)
        const first = tenantsOf(await stores.threads.due(AT_ONCE, 10))
        expect(first.filter((tenant) => tenant === quiet)).toHaveLength(5)
        expect(first).toHaveLength(10)
        expect(await stores.threads.countDue(AT_ONCE)).toBe(5_005)
      })

      it('in the order in which their threads became due at once, and those before what was due by the clock', async () => {
        const checkpoint = thread('by the clock')
        await stores.threads.putPost(checkpoint, postOf(checkpoint), { ...ARRIVAL, firstDue: T0 }, RULES)
        const [zebra, ape] = [thread('zebra'), thread('ape')]
        for (const [ref, now] of [
          [zebra, T0 + 1],
          [ape, T0 + 2],
        ] as const)
          await stores.threads.putPost(ref, postOf(ref), { ...ARRIVAL, now, threaded: false, atOnce: true }, RULES)
        expect(await stores.threads.due(T0, 10)).toEqual([zebra, ape, checkpoint])
        await stores.threads.putPost(zebra, postOf(zebra, { text: 'edited' }), { ...ARRIVAL, now: T0 + 3 }, RULES)
        expect(await stores.threads.due(AT_ONCE, 10), 'an edit does not cost its turn').toEqual([zebra, ape])
      })

      describe('and within a tenant come first', () => {
        const alone = { ...ARRIVAL, threaded: false, atOnce: true }
        const [early, wide, later] = [thread('early'), thread('wide'), thread('later')]
        const put = (ref: ThreadRef, now: number, reach?: number) =>
          stores.threads.putPost(
            ref,
            postOf(ref, reach === undefined ? {} : { reach }),
            { ...alone, now, reachAhead: aheadByReach(reach) },
            RULES,
          )
        const order = () => stores.threads.due(AT_ONCE, 10)

        it('posts that reach many, though they came last', async () => {
          await put(early, T0)
          await put(later, T0 + 1, 10)
          await put(wide, T0 + 2, 1_000)
          expect(await order()).toEqual([wide, later, early])
        })

        it('a post whose reach has risen, by a message of its own or by its own again, and never falls', async () => {
          await put(early, T0, 5)
          await put(wide, T0 + 1)
          const before = await readThread(stores, wide)
          expect(await stores.threads.raiseReach(wide, aheadByReach(6), { keepMs: HOUR, now: T0 })).toBe('updated')
          expect(await order()).toEqual([wide, early])
          expect(await stores.threads.raiseReach(wide, aheadByReach(2), { keepMs: HOUR, now: T0 })).toBe('duplicate')
          expect(await put(wide, T0 + 2, 1)).toBe('duplicate')
          expect(await order(), 'a lower reach').toEqual([wide, early])
          const { post: _, ...state } = await readThread(stores, wide)
          expect(state, 'no edit').toEqual({ ...before, post: undefined })
          expect(await put(early, T0 + 3, 100)).toBe('duplicate')
          expect(await order()).toEqual([early, wide])
        })

        it('a post whose reach was said before it came', async () => {
          expect(await stores.threads.raiseReach(wide, aheadByReach(50), { keepMs: HOUR, now: T0 })).toBe('updated')
          expect(await stores.threads.raiseReach(wide, aheadByReach(50), { keepMs: HOUR, now: T0 })).toBe('duplicate')
          expect(await stores.threads.read(wide)).toBeNull()
          await put(early, T0, 5)
          await put(wide, T0 + 1)
          expect(await order()).toEqual([wide, early])
        })

        it('no post that was deleted', async () => {
          await put(wide, T0)
          await stores.threads.deletePost(wide, retractionOf(wide))
          expect(await stores.threads.raiseReach(wide, aheadByReach(50), { keepMs: HOUR, now: T0 })).toBe('deleted')
          expect(await order()).toEqual([])
        })

        it('those that the stream has made due, once they have their places', async () => {
          const clocked = { ...ARRIVAL, firstDue: T0, reachAhead: aheadByReach(100) }
          await stores.threads.putPost(wide, postOf(wide), clocked, RULES)
          await stores.threads.putPost(later, postOf(later), { ...clocked, firstDue: T0 + HOUR }, RULES)
          await put(early, T0, 10)
          await stores.threads.orderDue(T0, T0 + 5, 10, 0)
          expect(await order()).toEqual([wide, early])
          expect(await stores.threads.due(T0 + HOUR, 10)).toEqual([wide, early, later])
        })

        it('those that nobody has judged, before those that are due again by their age alone', async () => {
          const clocked = { ...ARRIVAL, firstDue: T0 }
          for (const ref of [early, later]) await stores.threads.putPost(ref, postOf(ref), clocked, RULES)
          await openCase(stores, early)
          await publishAll(stores)
          await stores.threads.orderDue(FOREVER, T0 + HOUR, 10, HOUR)
          const [first] = await stores.threads.due(AT_ONCE, 1)
          expect(first).toEqual(later)
        })

        it('those that have waited for long, whatever others reach', async () => {
          await put(early, T0)
          await put(wide, T0 + aheadByReach(1e12) + 1, 1e12)
          expect(await order()).toEqual([early, wide])
        })

        it('and it is known since when the one has waited that waits longest', async () => {
          expect(await stores.threads.dueSince('default')).toBeNull()
          await stores.threads.putPost(later, postOf(later), { ...ARRIVAL, firstDue: T0 }, RULES)
          expect(await stores.threads.dueSince('default'), 'not yet among those').toBeNull()
          await put(early, T0 + 3)
          await put(wide, T0 + 4, 1_000)
          expect(await stores.threads.dueSince('default')).toBe(T0 + 3)
          expect(await stores.threads.dueSince(quiet)).toBeNull()
        })

        it('but before other tenants’ threads none for its reach', async () => {
          const other = thread('other', quiet)
          await put(other, T0)
          await put(wide, T0 + 1, 1e6)
          await put(early, T0 + 2)
          expect(await order()).toEqual([other, wide, early])
        })
      })

      it('only for what is due', async () => {
        await putMany(loud, 3)
        await stores.threads.putPost(p1, postOf(p1), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
        expect(tenantsOf(await stores.threads.due(FIRST_DUE - 1, 10))).toEqual([loud, loud, loud])
        expect(tenantsOf(await stores.threads.due(FIRST_DUE, 2)).sort()).toEqual(['default', loud])
      })

      it('and one that is alone has all the places', async () => {
        await putMany(loud, 20)
        expect(await openDue(6, 8)).toHaveLength(6)
        expect(await openDue(20, 8)).toHaveLength(2)
        expect(await openDue(20, 8)).toEqual([])
        expect(await stores.threads.countDue(AT_ONCE)).toBe(12)
      })

      it('so that others find a place beside one that has all, and the next that come free', async () => {
        await putMany(loud, 20)
        const open = await openDue(20, 8)
        await putMany(quiet, 4)
        const late = await openDue(20, 8)
        expect(tenantsOf(late.map(({ tenant, subjectId }) => thread(subjectId, tenant)))).toEqual([quiet])
        expect(await openDue(20, 8)).toEqual([])
        const after: string[] = []
        for (const record of open) {
          await concludeCase(stores, record)
          after.push(...(await openDue(20, 8)).map(({ tenant }) => tenant))
        }
        expect(after).toEqual([quiet, quiet, quiet, loud, loud, loud, loud, loud])
        expect(await stores.cases.countOpen()).toBe(9)
      })

      it('also where several have cases that never end: there is a place left for one that comes', async () => {
        const stuck = ['a', 'b', 'c', 'd', 'e']
        for (const tenant of stuck) {
          await putMany(tenant, 50)
          while ((await openDue(64, 40)).length > 0);
        }
        expect(await stores.cases.countOpen()).toBeLessThanOrEqual(45 + stuck.length)
        await putMany(quiet, 1)
        expect((await openDue(64, 40)).map(({ tenant }) => tenant)).toEqual([quiet])
      })

      it('and a deleted thread’s open case takes nobody’s place', async () => {
        const refs = await putMany(loud, 20)
        expect(await openDue(20, 8)).toHaveLength(8)
        const [first = p1] = refs
        await stores.threads.deletePost(first, retractionOf(first))
        expect(await openDue(20, 8)).toHaveLength(1)
        expect(await openDue(20, 8)).toEqual([])
      })

      it('whatever happens: every thread is opened once, and none stays due', async () => {
        const step = fc.oneof(
          fc.record({ put: fc.constantFrom('a', 'b', 'c'), count: fc.integer({ min: 1, max: 12 }) }),
          fc.record({ open: fc.integer({ min: 1, max: 10 }) }),
          fc.record({ conclude: fc.integer({ min: 1, max: 10 }) }),
        )
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
            await stores.close()
            stores = await make()
            const [put, opened, open]: [Set<string>, string[], CaseRecord[]] = [new Set(), [], []]
            const openSome = async (limit: number) => {
              const some = await openDue(limit, 8)
              opened.push(...some.map(({ id }) => id))
              open.push(...some)
              // Eight and an eighth, and of each other tenant one in any case.
              expect(open.length).toBeLessThanOrEqual(9 + 2)
              return some.length
            }
            const concludeSome = async (count: number) => {
              for (const record of open.splice(0, count)) await concludeCase(stores, record)
            }
            for (const one of steps)
              if ('put' in one) for (const { postId } of await putMany(one.put, one.count)) put.add(postId)
              else if ('open' in one) await openSome(one.open)
              else await concludeSome(one.conclude)
            while ((await openSome(5)) > 0) await concludeSome(3)
            await concludeSome(9)
            while ((await openSome(5)) > 0) await concludeSome(9)
            expect(new Set(opened).size).toBe(opened.length)
            expect(opened).toHaveLength(put.size)
            expect(await stores.threads.countDue(FOREVER)).toBe(0)
          }),
          { numRuns: 15 },
        )
      })
    })

    describe('replies to a post', () => {
      const [one, two] = [thread('r1', 'default', 'reply'), thread('r2', 'default', 'reply')]

      it('are noted, each once, by the post that they answer', async () => {
        for (const reply of [one, two])
          expect(await stores.threads.linkReply(p1, reply, { most: 2, now: T0 })).toBe('linked')
        expect(await stores.threads.linkReply(p1, one, { most: 2, now: T0 })).toBe('known')
        const noted = new Set((await stores.threads.repliesTo(p1, 9)).map(({ postId, kind }) => `${kind} ${postId}`))
        expect(noted).toEqual(new Set(['reply r1', 'reply r2']))
        expect(await stores.threads.repliesTo(thread('p2'), 9)).toEqual([])
        expect(await stores.threads.repliesTo(thread('p1', 'other'), 9)).toEqual([])
      })

      it('are linked up to a bound, and make room when they are unlinked', async () => {
        expect(await stores.threads.linkReply(p1, one, { most: 1, now: T0 })).toBe('linked')
        expect(await stores.threads.linkReply(p1, two, { most: 1, now: T0 })).toBe('full')
        expect(await stores.threads.linkReply(p1, one, { most: 1, now: T0 })).toBe('known')
        expect(await stores.threads.linkReply(p1, two, { most: 2, now: T0 })).toBe('linked')
        expect(await stores.threads.repliesTo(p1, 1)).toHaveLength(1)
        await stores.threads.unlinkReplies(p1, [one], T0)
        expect(await stores.threads.repliesTo(p1, 9)).toEqual([two])
      })

      it('are refused by one that was deleted', async () => {
        await stores.threads.deletePost(p1, retractionOf(p1))
        expect(await stores.threads.linkReply(p1, one, { most: 2, now: T0 })).toBe('deleted')
        expect(await stores.threads.repliesTo(p1, 9)).toEqual([])
      })
    })

    describe('an edit that routes a thread another way', () => {
      const alone = { ...ARRIVAL, firstDue: FIRST_DUE, threaded: false, atOnce: true }
      const threaded = { ...ARRIVAL, firstDue: FIRST_DUE }

      it('forgets how many comments there were when nobody reads them any more', async () => {
        await putPost()
        await put([said('c1'), said('c2')])
        await stores.threads.putPost(p1, postOf(p1, { text: 'x' }), alone, RULES)
        expect(await readThread(stores, p1)).toMatchObject({ accepted: 0, countStage: 0, comments: [] })
      })

      it('begins the thread anew where its comments are read again', async () => {
        await stores.threads.putPost(p1, postOf(p1), alone, RULES)
        await judgeOnce(stores, p1, { protocol: 'hate', final: true })
        await stores.threads.putPost(p1, postOf(p1, { text: 'x' }), threaded, RULES)
        expect(await readThread(stores, p1)).toMatchObject({ final: false, nextAge: FIRST_DUE })
        expect(await put([said('c1')])).toEqual(['judged'])
      })
    })

    describe('a post that nobody judges', () => {
      const nobody = { ...ARRIVAL, firstDue: FIRST_DUE, threaded: false, atOnce: false }

      it('is unrouted and leaves nothing but that', async () => {
        await put([said('c1')])
        expect(await stores.threads.putPost(p1, postOf(p1), nobody, RULES)).toBe('unrouted')
        expect(await stores.threads.putPost(p1, postOf(p1), nobody, RULES)).toBe('unrouted')
        expect(await put([said('c2')])).toEqual(['unrouted'])
        expect(await stores.threads.read(p1)).toBeNull()
        expect(await isDue(FOREVER)).toBe(false)
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(0)
      })

      it('says what stands of it without its words, as it is read with them', async () => {
        expect([await stores.threads.outline(p1), await stores.threads.head(p1)]).toEqual([null, null])
        await stores.threads.putPost(p1, postOf(p1), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
        await put([said('c1'), said('c2'), unsaid('c1'), unsaid('c3')])
        const record = await openCase(stores, p1, { nextDue: FIRST_DUE })
        const { accepted, late, final, dueSince, nextAge, dormantFor } = await readThread(stores, p1)
        const outline = await stores.threads.outline(p1)
        expect(outline).toMatchObject({ accepted, late, final, dueSince, nextAge, dormantFor, kept: 1 })
        expect(outline?.revisions.get('rumor')).toMatchObject({ revision: 1, final: false, openId: record.id })
        const { post, version } = await readThread(stores, p1)
        const head = await stores.threads.head(p1)
        expect(head).toMatchObject({ post, version, dueSince })
        expect(head?.revisions.get('rumor')).toMatchObject({ revision: 1, final: false, openId: record.id })
        const judged = thread('judged')
        await stores.threads.putPost(judged, postOf(judged), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
        await judgeOnce(stores, judged)
        expect((await stores.threads.outline(judged))?.revisions.get('rumor')?.published).toBe(1)
        await stores.threads.deletePost(p1, retractionOf(p1))
        expect([await stores.threads.outline(p1), await stores.threads.head(p1)]).toEqual([null, null])
      })

      it('weighs as much as the comments that it keeps, deleted ones among them, and a long post', async () => {
        const weight = async () => Math.round((await stores.threads.weigh(p1)).weight)
        expect(await weight()).toBe(0)
        await stores.threads.putPost(p1, postOf(p1), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
        await put([said('c1'), said('c2'), unsaid('c1'), unsaid('c3')])
        expect(await weight()).toBe(3)
        const media: Post['media'] = [{ kind: 'image', url: `data:image/png;base64,${'A'.repeat(1_000_000)}` }]
        await putPost(p1, { media })
        expect(await weight(), 'an image is set aside').toBe(3)
        await putPost(p1, { media, text: 'A'.repeat(1_000_000) })
        expect(await weight()).toBe(103)
      })

      it('uses the share of its author, of its own without one, and a reply that of the text that it answers', async () => {
        const share = async (ref: ThreadRef, post: Partial<Post>) => {
          await stores.threads.putPost(ref, postOf(ref, post), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
          return (await stores.threads.weigh(ref)).share
        }
        const ref = (postId: string, change: Partial<ThreadRef> = {}) => ({ ...p1, postId, ...change })
        const anns = await share(ref('a1'), { author: 'ann' })
        expect(await share(ref('a2'), { author: 'ann' })).toBe(anns)
        const text = { kind: 'reply', hateSpeech: 'They should all go.' } as const
        const answers = await share(ref('r1', { kind: 'reply' }), { hateSpeech: text.hateSpeech })
        expect(await share(ref('r2', { kind: 'reply' }), { hateSpeech: text.hateSpeech })).toBe(answers)
        const others = [
          await share(ref('a3', { tenant: 'another' }), { author: 'ann' }),
          await share(ref('b1'), { author: 'bob' }),
          await share(ref('n1'), {}),
          await share(ref('n2'), {}),
        ]
        expect(new Set([anns, answers, ...others]).size).toBe(6)
        expect(others.join()).not.toContain('bob')
        await stores.threads.putPost(p1, postOf(p1, { author: 'bob' }), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
        expect(await share(p1, { author: 'ann', text: 'edited' })).toBe(anns)
      })

      it('has a status of its own, as have those that are judged, deleted or unknown', async () => {
        const [p2, p3, p4] = ['p2', 'p3', 'p4'].map((postId) => ({ ...p1, postId })) as [
          ThreadRef,
          ThreadRef,
          ThreadRef,
        ]
        await stores.threads.putPost(p1, postOf(p1), nobody, RULES)
        await stores.threads.putPost(p2, postOf(p2), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
        await stores.threads.putPost(p3, postOf(p3), { ...nobody, atOnce: true }, RULES)
        await stores.threads.putPost(p4, postOf(p4), { ...ARRIVAL, firstDue: FIRST_DUE }, RULES)
        await stores.threads.deletePost(p4, retractionOf(p4))
        const all = [p1, p2, p3, p4, { ...p1, tenant: 'another' }]
        expect(await Promise.all(all.map((ref) => stores.threads.statusOf(ref)))).toEqual([
          'unrouted',
          'threaded',
          'post-only',
          'deleted',
          null,
        ])
      })

      it('is judged when an edit routes it', async () => {
        await stores.threads.putPost(p1, postOf(p1), nobody, RULES)
        expect(await putPost(p1, { text: 'corrected' })).toBe('judged')
        expect(await put([said('c1')])).toEqual(['judged'])
      })

      it('is not taken for one that never came', async () => {
        await put([said('c1')])
        await stores.threads.putPost(p1, postOf(p1), nobody, RULES)
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(0)
        expect(await put([said('c2')])).toEqual(['unrouted'])
      })

      it('can be deleted', async () => {
        await stores.threads.putPost(p1, postOf(p1), nobody, RULES)
        expect(await stores.threads.deletePost(p1, retractionOf(p1))).toBe('deleted')
        expect(await putPost()).toBe('deleted')
      })
    })

    describe('pauses', () => {
      const held = { cases: [], waiting: [], dormant: ['rumor'], nextDue: null, final: false }

      it('a protocol for everybody, until it is resumed', async () => {
        expect(await stores.threads.paused()).toEqual(new Set())
        await stores.threads.pause('rumor')
        await stores.threads.pause('hate')
        expect(await stores.threads.paused()).toEqual(new Set(['rumor', 'hate']))
        await stores.threads.resume('hate', T0)
        expect(await stores.threads.paused()).toEqual(new Set(['rumor']))
      })

      it('and makes due what waited, each thread once', async () => {
        await stores.threads.pause('rumor')
        await putPost()
        const state = await readThread(stores, p1)
        expect(state.dormantFor).toEqual([])
        await stores.threads.open(state, held)
        await stores.threads.open(state, held)
        expect(await isDue(FOREVER)).toBe(false)
        expect(await readThread(stores, p1)).toMatchObject({ dormantFor: ['rumor'], dueSince: null })
        expect(await stores.threads.resume('rumor', T0 + 7)).toBe(1)
        expect(await isDue(AT_ONCE)).toBe(true)
        const after = await readThread(stores, p1)
        expect(after.dormantFor).toEqual([])
        expect(after.dueSince).toBe(T0 + 7)
        expect(after.generation).toBeGreaterThan(after.observedGeneration)
        expect(await stores.threads.resume('rumor', T0)).toBe(0)
      })

      it('nothing that was resumed between reading and opening: it stays due', async () => {
        await putPost()
        await stores.threads.open(await readThread(stores, p1), held)
        expect(await isDue(FIRST_DUE)).toBe(true)
        expect(await stores.threads.resume('rumor', T0)).toBe(0)
      })

      it('nobody’s deleted threads: they are not woken', async () => {
        await stores.threads.pause('rumor')
        await putPost()
        await stores.threads.open(await readThread(stores, p1), held)
        await stores.threads.deletePost(p1, retractionOf(p1))
        expect(await stores.threads.resume('rumor', T0)).toBe(0)
        expect(await isDue(FOREVER)).toBe(false)
      })
    })

    describe('a protocol that is off, and has judged the thread', () => {
      const absent = { cases: [], waiting: [], dormant: [], absent: ['hate'], nextDue: null, final: false }
      beforeEach(async () => {
        await putPost()
      })

      it('learns when it is woken which threads were due meanwhile, each once', async () => {
        await judgeOnce(stores, p1, { protocol: 'hate' })
        await putPost(p1, { text: 'edited' })
        await stores.threads.open(await readThread(stores, p1), absent)
        expect(await isDue(FOREVER)).toBe(false)
        expect(await stores.threads.paused()).toEqual(new Set())
        expect(await stores.threads.wake('hate', T0 + 7)).toBe(1)
        expect(await isDue(AT_ONCE)).toBe(true)
        expect(await stores.threads.wake('hate', T0)).toBe(0)
      })

      it('learns when its open case is published', async () => {
        const record = await openCase(stores, p1, { protocol: 'hate' })
        await putPost(p1, { text: 'edited' })
        await stores.threads.open(await readThread(stores, p1), absent)
        expect(await isDue(FOREVER)).toBe(false)
        await concludeCase(stores, record)
        await publishAll(stores)
        expect(await isDue(AT_ONCE)).toBe(true)
        expect(await stores.threads.wake('hate', T0)).toBe(0)
      })

      it('keeps no thread from being forgotten', async () => {
        await judgeOnce(stores, p1, { protocol: 'hate', final: true })
        await stores.threads.open(await readThread(stores, p1), { ...absent, final: true })
        await stores.threads.deletePost(p1, retractionOf(p1))
        expect(await stores.threads.wake('hate', T0)).toBe(0)
      })
    })

    describe('opens', () => {
      it('one case a protocol, and says so in the thread', async () => {
        await putPost()
        const state = await readThread(stores, p1)
        const cases = [seenBy(state, 'rumor'), seenBy(state, 'hate')]
        const opened = await stores.threads.open(state, {
          cases,
          waiting: [],
          dormant: [],
          nextDue: T0 + HOUR,
          final: false,
        })
        expect(opened).toEqual(['rumor~p1~r1', 'hate~p1~r1'])
        const after = await readThread(stores, p1)
        expect(after.revisions.get('rumor')).toEqual({
          revision: 1,
          seen: state.version,
          final: false,
          openId: 'rumor~p1~r1',
          carry: null,
        })
        expect(after.revisions.get('hate')).toEqual({
          revision: 1,
          seen: state.version,
          final: false,
          openId: 'hate~p1~r1',
          carry: null,
        })
        expect((await takeCase(stores, 'hate~p1~r1')).record).toEqual(cases[1]?.record)
        expect(await stores.cases.countOpen()).toBe(2)
        expect(await isDue(T0 + HOUR - 1)).toBe(false)
        expect(await isDue(T0 + HOUR)).toBe(true)
      })

      it('a revision once, however many open it from the same state', async () => {
        await putPost()
        const state = await readThread(stores, p1)
        const opening = { cases: [seenBy(state)], waiting: [], dormant: [], nextDue: null, final: false }
        expect(await stores.threads.open(state, opening)).toEqual(['rumor~p1~r1'])
        const { epoch } = await takeCase(stores, 'rumor~p1~r1')
        expect(await stores.threads.open(state, opening)).toEqual([])
        expect(await stores.cases.conclude(recordOf(state), epoch, endOf(recordOf(state)))).toBe(true)
        await publishAll(stores)
        expect(await stores.threads.open(state, opening)).toEqual([])
        expect(await stores.cases.countOpen()).toBe(0)
      })

      it('the next revision only when the last is published, and is due for it then', async () => {
        await putPost()
        const record = await openCase(stores, p1)
        await put([said('c1')])
        const state = await readThread(stores, p1)
        const opening = { cases: [], waiting: ['rumor'], dormant: [], nextDue: null, final: false }
        expect(await stores.threads.open(state, opening)).toEqual([])
        expect(await isDue(FOREVER)).toBe(false)
        await concludeCase(stores, record)
        expect(await isDue(FOREVER)).toBe(false)
        expect((await readThread(stores, p1)).revisions.get('rumor')?.openId).not.toBeNull()
        await publishAll(stores)
        expect(await isDue(AT_ONCE)).toBe(true)
        const after = await readThread(stores, p1)
        expect(after.revisions.get('rumor')?.openId).toBeNull()
        expect(after.dueSince).not.toBeNull()
        expect((await openCase(stores, p1)).id).toBe('rumor~p1~r2')
      })

      it('again for a protocol that was found open in the act', async () => {
        await putPost()
        const state = await readThread(stores, p1)
        const record = await openCase(stores, p1)
        const second = {
          cases: [seenBy(state, 'rumor', { final: true })],
          waiting: [],
          dormant: [],
          nextDue: null,
          final: true,
        }
        expect(await stores.threads.open(state, second)).toEqual([])
        expect((await readThread(stores, p1)).final).toBe(false)
        await concludeCase(stores, record)
        await publishAll(stores)
        expect(await isDue(AT_ONCE)).toBe(true)
      })

      it('nothing away: what waits for a case that was published meanwhile stays due', async () => {
        await putPost()
        const record = await openCase(stores, p1, { nextDue: T0 + HOUR })
        await put([said('c1')])
        const state = await readThread(stores, p1)
        expect(state.revisions.get('rumor')?.openId).not.toBeNull()
        await concludeCase(stores, record)
        await publishAll(stores)
        await stores.threads.open(state, { cases: [], waiting: ['rumor'], dormant: [], nextDue: null, final: false })
        expect(await isDue(FOREVER)).toBe(true)
      })

      it.each([
        ['a count checkpoint passed', [said('c1'), said('c2')]],
        ['an edit of the post', 'edit'],
      ] as const)('nothing away: %s between reading and opening stays due', async (_, change) => {
        const rules = { ...RULES, counts: [2] }
        await putPost(p1, {}, rules)
        const state = await readThread(stores, p1)
        if (change === 'edit') await putPost(p1, { text: 'corrected' }, rules)
        else await put(change, rules)
        await stores.threads.open(state, {
          cases: [seenBy(state)],
          waiting: [],
          dormant: [],
          nextDue: T0 + HOUR,
          final: false,
        })
        expect(await isDue(AT_ONCE)).toBe(true)
      })

      it('nothing for the last time that it was not shown: a comment between reading and opening keeps the thread due', async () => {
        await putPost()
        const state = await readThread(stores, p1)
        await put([said('between')])
        const last = { cases: [seenBy(state)], waiting: [], dormant: [], nextDue: null, final: true }
        expect(await stores.threads.open(state, last)).toEqual([])
        expect(await isDue(FOREVER)).toBe(true)
        const again = await readThread(stores, p1)
        expect(again.comments.map(({ id }) => id)).toContain('between')
        expect(await stores.threads.open(again, { ...last, cases: [seenBy(again)] })).toHaveLength(1)
        expect(await isDue(FOREVER)).toBe(false)
      })

      it('nothing away: a second late comment between reading and opening stays due', async () => {
        await putPost()
        await judgeOnce(stores, p1, { final: true })
        await put([said('c1')])
        const state = await readThread(stores, p1)
        await put([said('c2')])
        await stores.threads.open(state, {
          cases: [seenBy(state)],
          waiting: [],
          dormant: [],
          nextDue: null,
          final: true,
        })
        expect(await isDue(AT_ONCE)).toBe(true)
      })

      it('nothing away: a second edit of the post between reading and opening stays due', async () => {
        await putPost()
        await judgeOnce(stores, p1, { final: true })
        await putPost(p1, { text: 'second' })
        const state = await readThread(stores, p1)
        await putPost(p1, { text: 'third' })
        await stores.threads.open(state, {
          cases: [seenBy(state)],
          waiting: [],
          dormant: [],
          nextDue: null,
          final: true,
        })
        expect(await isDue(AT_ONCE)).toBe(true)
      })

      it('due no longer what it has opened for', async () => {
        await putPost(p1, {}, { ...RULES, counts: [1] })
        await put([said('c1')], { ...RULES, counts: [1] })
        await openCase(stores, p1, { nextDue: T0 + HOUR })
        expect(await isDue(T0 + HOUR - 1)).toBe(false)
        expect((await readThread(stores, p1)).dueSince).toBeNull()
      })

      it('the final snapshot as such', async () => {
        await putPost()
        await judgeOnce(stores, p1)
        expect((await readThread(stores, p1)).final).toBe(false)
        await openCase(stores, p1, { final: true })
        expect((await readThread(stores, p1)).final).toBe(true)
        expect(await isDue(FOREVER)).toBe(false)
      })

      it('with what the revision before it left', async () => {
        await putPost()
        const record = await openCase(stores, p1)
        await concludeCase(stores, record, JSON.stringify({ scores: { c1: 1 } }))
        await publishAll(stores)
        expect((await readThread(stores, p1)).revisions.get('rumor')?.carry).toEqual({ scores: { c1: 1 } })
        const next = await openCase(stores, p1)
        await concludeCase(stores, next, null)
        expect((await readThread(stores, p1)).revisions.get('rumor')?.carry).toBeNull()
      })

      it('nothing on a thread that is gone or never had a post', async () => {
        await putPost()
        const state = await readThread(stores, p1)
        await stores.threads.deletePost(p1, retractionOf(p1))
        const opening = { cases: [seenBy(state)], waiting: [], dormant: [], nextDue: T0 + HOUR, final: false }
        expect(await stores.threads.open(state, opening)).toEqual([])
        expect(await stores.cases.peek('rumor~p1~r1')).toBeNull()
        expect(await isDue(FOREVER)).toBe(false)
      })
    })

    describe('opens nothing', () => {
      it('on a comment that was deleted between reading and opening: it stays due, and opens without it', async () => {
        await putPost()
        await put([said('c1'), said('c2')])
        const before = await readThread(stores, p1)
        await put([unsaid('c1')])
        const opening = { waiting: [], dormant: [], nextDue: T0 + HOUR, final: false }
        expect(await stores.threads.open(before, { cases: [seenBy(before)], ...opening })).toEqual([])
        expect(await isDue(FOREVER)).toBe(true)
        const after = await readThread(stores, p1)
        expect(after.deletions).toBe(before.deletions + 1)
        expect(await stores.threads.open(after, { cases: [seenBy(after)], ...opening })).toEqual(['rumor~p1~r1'])
      })
    })

    describe('deletes', () => {
      it('a post with its comments, and stays deaf to redeliveries', async () => {
        await putPost()
        await put([said('c1')])
        expect(await stores.threads.deletePost(p1, retractionOf(p1))).toBe('deleted')
        expect(await stores.threads.deletePost(p1, retractionOf(p1))).toBe('duplicate')
        expect(await stores.threads.read(p1)).toBeNull()
        expect(await putPost()).toBe('deleted')
        expect(await put([said('c1'), said('c2'), unsaid('c3')])).toEqual(['deleted', 'deleted', 'deleted'])
        expect(await stores.threads.read(p1)).toBeNull()
        expect(await isDue(FOREVER)).toBe(false)
        expect(await stores.outbox.size()).toBe(0)
      })

      it('many of which it knows nothing in one step, and does nothing with the others', async () => {
        const [posted, orphaned, answered, gone] = ['posted', 'orphaned', 'answered', 'gone'].map((id) => thread(id))
        if (!posted || !orphaned || !answered || !gone) throw new Error('unnamed')
        await putPost(posted)
        await put([said('c1')], RULES, orphaned)
        await stores.threads.linkReply(answered, thread('r1', 'default', 'reply'), { most: 9, now: T0 })
        await stores.threads.deletePost(gone, retractionOf(gone))
        const unknown = [p1, thread('p1', 'other'), thread('p1', 'default', 'reply')]
        const others = [posted, orphaned, answered, gone]
        expect(await stores.threads.deleteUnknown([...unknown, ...others], T0)).toEqual([
          ...unknown.map(() => true),
          ...others.map(() => false),
        ])
        for (const ref of unknown) {
          expect(await stores.threads.deletePost(ref, retractionOf(ref))).toBe('duplicate')
          expect(await putPost(ref)).toBe('deleted')
        }
        expect((await readThread(stores, posted)).post).not.toBeNull()
        expect(await putPost(orphaned)).toBe('judged')
        expect(await stores.outbox.size()).toBe(0)
        expect(await stores.threads.deleteUnknown([], T0)).toEqual([])
      })

      it('a post that has not come yet', async () => {
        await put([said('c1')])
        expect(await stores.threads.deletePost(p1, retractionOf(p1))).toBe('deleted')
        expect(await putPost()).toBe('deleted')
        expect(await stores.threads.expireOrphans(p1, letterOf)).toBe(0)
        expect(await isDue(FOREVER)).toBe(false)
      })

      it('open cases, fences their workers, and publishes the next revision of each protocol once', async () => {
        await putPost()
        await judgeOnce(stores, p1, { protocol: 'rumor' })
        const rumor = await openCase(stores, p1, { protocol: 'rumor' })
        const hate = await openCase(stores, p1, { protocol: 'hate' })
        const { epoch, run } = await takeCase(stores, rumor.id)
        await stores.threads.deletePost(p1, retractionOf(p1))
        expect(await stores.cases.take(rumor.id)).toBeNull()
        expect(await stores.cases.peek(hate.id)).toBeNull()
        expect(await stores.cases.countOpen()).toBe(0)
        expect(await stores.cases.idle(0, 10)).toEqual([])
        expect((await stores.cases.answer(rumor.id, run, '0.0', entryOf(1))).outcome).toBe('stale')
        expect(await stores.cases.conclude(rumor, epoch, endOf(rumor))).toBe(false)
        await stores.threads.deletePost(p1, retractionOf(p1))
        const entries = await stores.outbox.next('one', 10, 10)
        expect(new Set(entries.map((entry) => (entry.kind === 'verdict' ? entry.caseId : entry.kind)))).toEqual(
          new Set(['rumor~p1~r3', 'hate~p1~r2']),
        )
        await stores.outbox.done(entries)
        expect(await stores.outbox.size()).toBe(0)
        expect(await putPost()).toBe('deleted')
      })

      it('every trace of the text', async ({ skip }) => {
        const { traces } = stores
        if (traces === undefined) return skip('nobody can look into this store')
        const [secret, other] = ['SECRET-words', 'OTHER-words']
        await putPost(p1, { text: secret, author: secret })
        await putPost(thread('p2'), { text: other })
        const first = await openCase(stores, p1)
        await stores.cases.answer(first.id, 0, '0.0', entryOf({ reason: secret }))
        await concludeCase(stores, first, JSON.stringify({ said: secret }))
        await publishAll(stores)
        await put([said('c1', { text: secret }), said('c2', { text: secret }), said('c3', { text: secret })])
        await put([unsaid('c3')])
        const second = await openCase(stores, p1)
        const taken = await takeCase(stores, second.id)
        await stores.cases.answer(second.id, taken.run, '0.0', entryOf({ reason: secret }))
        await stores.cases.loseCalls(second.id, [{ key: '0.1', ...callOf(secret, 'failed') }])
        await put([said('c9', { text: secret })], RULES, thread('only an orphan'))
        expect((await traces(secret)).length).toBeGreaterThan(4)
        await stores.threads.deletePost(p1, retractionOf(p1))
        await stores.threads.deletePost(thread('only an orphan'), retractionOf(thread('only an orphan')))
        expect((await stores.cases.answer(second.id, taken.run, '0.1', entryOf({ reason: secret }))).outcome).toBe(
          'stale',
        )
        await stores.cases.loseCalls(second.id, [{ key: '0.1', ...callOf(secret, 'failed') }])
        await stores.cases.conclude(second, taken.epoch, endOf(second, secret, JSON.stringify({ said: secret })))
        await put([said('c1', { text: secret })])
        await putPost(p1, { text: secret })
        expect(await traces(secret)).toEqual([])
        expect(await traces(other)).not.toEqual([])
      })
    })
  })
}
