import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Comment, Post } from '../../src/contracts/facts/thread.ts'
import { ownerOf } from '../../src/shelves/names.ts'
import { ARRIVAL, HOUR, originOf, postOf, RULES, retractionOf, said, T0, thread, unsaid } from './samples.ts'
import {
  concludeCase,
  hookVerdicts,
  type MakeStores,
  openCase,
  publishAll,
  readThread,
  type Stores,
  sentToReceiver,
} from './stores.ts'

const P1 = thread('p1', 'acme')
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
/** What a thread takes beside its words: its id stands in six keys. */
const bareBytes = (id = 'p1') => 1_000 + 6 * id.length
/** What stands in place of a deleted subject. */
const deletedBytes = (id = 'p1') => 500 + 3 * id.length
/** What is known of a post that nobody judges. */
const passedBytes = 250 + 'p1'.length
/** In one copy. */
const commentBytes = ({ id, ...comment }: Comment, by = '') => 2 * id.length + bytes({ by, ...comment }) + 200

/** What any stores promise of how much tenants hold by what they sent on the stream. */
export function heldContract(name: string, make: MakeStores): void {
  describe(`what tenants hold ${name}`, () => {
    let stores: Stores
    beforeEach(async () => {
      stores = await make()
    })
    afterEach(() => stores.close())

    const held = (tenant = 'acme') => stores.threads.heldBy(tenant, T0)
    const put = (post: Post, { judges = 1, most = null as number | null, place = {} } = {}) =>
      stores.threads.putPost(P1, post, { ...ARRIVAL, judges, ...place }, RULES, most)
    const say = (changes: Parameters<Stores['threads']['putComments']>[1], most: number | null = null) =>
      stores.threads.putComments(P1, changes, T0, RULES, most)
    const post = postOf(P1)

    it('is their words once and once more for each protocol, and what keeping them takes', async () => {
      const [one, other] = [said('c1'), said('c2', { text: 'ö' })]
      await put(post, { judges: 2 })
      await say([one])
      expect(await held()).toBe(bareBytes() + 3 * (bytes(post) + commentBytes(one.comment)))
      await say([other, one])
      const both = commentBytes(one.comment) + commentBytes(other.comment)
      expect(await held()).toBe(bareBytes() + 3 * (bytes(post) + both))
      expect([await held('other'), await held('acm')]).toEqual([0, 0])
      const edited = { ...post, text: 'less' }
      await put(edited, { judges: 1 })
      expect(await held()).toBe(bareBytes() + 2 * (bytes(edited) + both))
      await say([unsaid('c2'), said('c1', { text: 'longer words' })])
      const left = commentBytes(said('c1', { text: 'longer words' }).comment) + 2 * 'c2'.length + '{}'.length + 200
      expect(await held()).toBe(bareBytes() + 2 * (bytes(edited) + left))
      await stores.threads.deletePost(P1, retractionOf(P1))
      expect(await held()).toBe(deletedBytes())
    })

    it('has deletions, also of what never came, which beyond what they may hold are noted and not remembered', async () => {
      const remove = (ids: readonly string[], most: number | null = null) =>
        stores.threads.deleteUnknown(
          ids.map((id) => thread(id, 'acme')),
          T0,
          most,
        )
      expect(await remove(['p1', 'long id'])).toEqual([true, true])
      const both = deletedBytes() + deletedBytes('long id')
      expect([await held(), await held('other')]).toEqual([both, 0])
      expect(await remove(['p1', 'p2', 'p3'], both + deletedBytes())).toEqual([false, true, true])
      expect(await held()).toBe(both + deletedBytes())
      const owners = ['p1', 'p2', 'p3'].map((id) => ownerOf({ tenant: 'acme', id, kind: 'post' }))
      expect(await stores.erasures.deletedAmong(owners)).toEqual(new Set(owners))
      const come = ['p1', 'p2', 'p3'].map((id) => thread(id, 'acme'))
      const outcomes = await Promise.all(come.map((ref) => stores.threads.putPost(ref, postOf(ref), ARRIVAL, RULES)))
      expect(outcomes).toEqual(['deleted', 'deleted', 'judged'])
    })

    it('has images once, whatever is judged, and none that an edit took away', async () => {
      const url = `data:image/png;base64,${'A'.repeat(5_000)}`
      await put(postOf(P1, { media: [{ kind: 'image', url }] }), { judges: 3 })
      const many = await held()
      expect(many).toBeGreaterThan(5_000)
      expect(many).toBeLessThan(10_000)
      await put(post, { judges: 3 })
      expect(await held()).toBe(bareBytes() + 4 * bytes(post))
    })

    it('has where comments came from while their post is missing, and nothing once they have expired', async () => {
      const one = said('c1')
      await say([one])
      expect(await held()).toBe(bareBytes() + commentBytes(one.comment) + 'c1'.length + bytes(originOf('c1')))
      expect(await stores.threads.expireOrphans(P1, ({ offset }) => ({ key: offset, letter: '{}' }))).toBe(1)
      expect(await held()).toBe(0)
      await publishAll(stores)
      await say([said('c2')])
      await put(post, { judges: 0 })
      expect(await held()).toBe(bareBytes() + bytes(post) + commentBytes(said('c2').comment))
    })

    it('has how far posts reach that have not come, until they come or it is forgotten, and no more than they may hold', async () => {
      const raise = (id: string, reach: number, most: number | null = null) =>
        stores.threads.raiseReach(thread(id, 'acme'), reach, { keepMs: HOUR, now: T0, most })
      const each = 500 + 3 * 'p1'.length
      expect([await raise('p1', 5), await raise('p1', 9), await raise('p2', 5)]).toEqual(Array(3).fill('updated'))
      expect(await held()).toBe(2 * each)
      expect(await raise('p3', 5, 3 * each - 1)).toBe('late')
      expect(await raise('p2', 6, 0)).toBe('updated')
      expect(await held()).toBe(2 * each)
      await put(post)
      const whole = each + bareBytes() + 2 * bytes(post)
      expect([await held(), await raise('p1', 99, 0)]).toEqual([whole, 'updated'])
      expect(await held()).toBe(whole)
      expect(await stores.threads.heldBy('acme', T0 + HOUR)).toBe(whole - each)
    })

    it('has that nobody judges a post, and nothing of its words or comments', async () => {
      await say([said('c1')])
      const nobody = { ...ARRIVAL, threaded: false, atOnce: false }
      const pass = () => stores.threads.putPost(P1, post, nobody, RULES, 0)
      expect([await pass(), await pass()]).toEqual(['unrouted', 'unrouted'])
      await say([said('c2')])
      expect(await held()).toBe(passedBytes)
      await put(post)
      expect(await held()).toBe(passedBytes + bareBytes() + 2 * bytes(post))
    })

    it('has no more of what nobody judges than they may hold: beyond it that is not remembered', async () => {
      const nobody = { ...ARRIVAL, threaded: false, atOnce: false }
      const pass = (id: string, most: number | null) =>
        stores.threads.putPost(thread(id, 'acme'), postOf(thread(id, 'acme')), nobody, RULES, most)
      const outcomes = [await pass('p1', passedBytes), await pass('p1', 0), await pass('p2', 2 * passedBytes - 1)]
      expect(outcomes).toEqual(['unrouted', 'unrouted', 'unrouted'])
      expect([await held(), await held('other')]).toEqual([passedBytes, 0])
      const known = ['p1', 'p2'].map((id) => stores.threads.statusOf(thread(id, 'acme')))
      expect(await Promise.all(known)).toEqual(['unrouted', null])
    })

    it('has the links of what stands under its posts and comments, but for those of questions, which are counted with these', async () => {
      const reply = (id: string) => ({ ...thread(id, 'acme'), kind: 'reply' as const })
      const named = (one: string) => `acme/${one}`.length
      const first = (post: string) => 250 + 2 * named(`post:${post}`)
      const each = (id: string) => 100 + named(`reply:${id}`)
      const link = (post: string, id: string, more: { most?: number; askedFor?: number } = {}) =>
        stores.threads.linkReply(thread(post, 'acme'), reply(id), { most: 2, now: T0, ...more })
      expect([await link('p1', 'r1'), await link('p1', 'r1')]).toEqual(['linked', 'known'])
      expect([await held(), await held('other')]).toEqual([first('p1') + each('r1'), 0])
      expect([await link('p1', 'longer'), await link('p1', 'r3'), await link('a long post', 'r1')]).toEqual([
        ...['linked', 'full', 'linked'],
      ])
      const both = first('p1') + each('r1') + each('longer')
      expect(await held()).toBe(both + first('a long post') + each('r1'))
      expect(await link('asked', 'r1', { askedFor: HOUR })).toBe('linked')
      expect(await held()).toBe(both + first('a long post') + each('r1'))
      // What is taken back is given back, once, and never more than was counted in this hour.
      const unlink = (post: string, ids: readonly string[], now = T0) =>
        stores.threads.unlinkReplies(thread(post, 'acme'), ids.map(reply), now)
      await unlink('a long post', ['r1', 'r1', 'never'])
      expect(await held()).toBe(both)
      await unlink('p1', ['longer'])
      await unlink('p1', ['longer'])
      expect(await held()).toBe(both - each('longer'))
      await unlink('p1', ['r1'], T0 + 2 * HOUR)
      expect(await held()).toBe(both - each('longer'))
      await unlink('asked', ['r1'])
      expect(await held()).toBeLessThan(both - each('longer'))
      await unlink('asked', ['r1'])
      expect(await held()).toBeGreaterThanOrEqual(0)
    })

    it('is not more than they may hold: what would lift it is refused, and nothing of it is done', async () => {
      const size = bareBytes() + 2 * bytes(post)
      expect(await put(post, { most: size - 1 })).toBe('over-share')
      expect([await held(), await stores.threads.read(P1)]).toEqual([0, null])
      expect(await put(post, { most: size })).toBe('judged')
      const before = await readThread(stores, P1)
      expect(await say([said('c1')], size + 2 * commentBytes(said('c1').comment) - 1)).toEqual(['over-share'])
      expect(await put({ ...post, text: 'many more words' }, { most: size })).toBe('over-share')
      expect([await held(), await readThread(stores, P1)]).toEqual([size, before])
      // One that holds too much may send what is less, and delete.
      expect(await put({ ...post, text: 'few' }, { most: 10 })).toBe('updated')
      expect(await say([unsaid('c1'), said('c2')], 10)).toEqual(['deleted', 'over-share'])
      // Another tenant's share is another one.
      const [other, p2] = [thread('p2', 'other'), postOf(thread('p2', 'other'))]
      expect(await stores.threads.putPost(other, p2, ARRIVAL, RULES, bareBytes() + 2 * bytes(p2))).toBe('judged')
    })

    it('counts long ids as often as they stand in keys', async () => {
      const id = 'p'.repeat(512)
      await stores.threads.putPost(thread(id, 'acme'), postOf(thread(id, 'acme')), ARRIVAL, RULES)
      await stores.threads.putComments(thread(`${id}2`, 'acme'), [unsaid('c'.repeat(512))], T0, RULES)
      const [posts, deletions] = [
        bareBytes(id) + 2 * bytes(postOf(thread(id, 'acme'))),
        bareBytes(`${id}2`) + 1_024 + 202,
      ]
      expect(await held()).toBe(posts + deletions)
    })

    it('remembers no deletion of a comment of a post that has not come, beyond what they may hold', async () => {
      const size = bareBytes() + 2 * 'c1'.length + '{}'.length + 200
      expect(await say([unsaid('c1')], size - 1)).toEqual(['late'])
      expect([await held(), await stores.threads.read(P1)]).toEqual([0, null])
      expect(await say([unsaid('c1')], size)).toEqual(['deleted'])
      expect(await held()).toBe(size)
      // What has come is deleted whatever they hold.
      await say([said('c2')])
      expect(await say([unsaid('c2'), unsaid('c3')], 0)).toEqual(['deleted', 'late'])
      expect(await say([said('c2'), said('c3')])).toEqual(['deleted', 'orphan'])
    })

    it('takes from a batch what fits, and does not take what was refused for what it has when it is read again', async () => {
      await put(post)
      const place = (offset: number) => ({ place: { partition: 0, offset: String(offset), timestamp: T0 + offset } })
      const [long, short] = [said('c1', { text: 'w'.repeat(500) }), said('c2')]
      const most = (await held()) + 2 * commentBytes(short.comment)
      const batch = [
        { ...long, ...place(1) },
        { ...short, ...place(2) },
        { ...unsaid('c3'), ...place(3) },
      ]
      expect(await say(batch, most)).toEqual(['over-share', 'judged', 'deleted'])
      expect(await say(batch, most)).toEqual(['over-share', 'duplicate', 'duplicate'])
      expect(await say(batch)).toEqual(['judged', 'duplicate', 'duplicate'])
      expect(await say(batch)).toEqual(['duplicate', 'duplicate', 'duplicate'])
    })

    it('has what waits for receivers, and each lane for as long as that is known', async () => {
      const deliver = async () => {
        await concludeCase(stores, await openCase(stores, P1))
        const entries = await stores.outbox.next('one', 9, 0)
        await hookVerdicts(stores, P1, entries, 'words')
        return entries
      }
      await put(post)
      const before = await held()
      const lane = before + 300 + 'p1'.length
      const entries = await deliver()
      expect(await held()).toBe(lane + 500 + '1: words'.length + '1: bare'.length)
      await hookVerdicts(stores, P1, entries, 'words')
      expect([await held(), await held('other')]).toEqual([lane + 500 + '1: words'.length + '1: bare'.length, 0])
      await stores.outbox.done(entries)
      const none = { openIds: [], without: () => null, caseId: () => 'none', now: T0 }
      await stores.threads.eraseLeft(P1, none)
      expect(await held()).toBe(lane + 500 + 2 * '1: bare'.length)
      expect(await sentToReceiver(stores)).toEqual(['1: bare'])
      expect(await held()).toBe(lane)
      await deliver()
      await stores.threads.deletePost(P1, retractionOf(P1))
      expect(await held()).toBe(lane - before + deletedBytes() + 500 + '2: bare'.length)
      expect(await sentToReceiver(stores)).toEqual([])
      expect(await held()).toBe(lane - before + deletedBytes())
    })

    it('has what became of decisions, for as long as it can be read', async () => {
      await put(post)
      const before = await held()
      const decide = (offset: number, same = String(offset)) =>
        stores.decisions.decide(
          {
            ref: P1,
            protocol: 'rumor',
            withdraw: false,
            label: 'rumor',
            against: 7,
            force: false,
            opinion: false,
            by: 'ann',
            why: '',
            same,
            place: { partition: 0, offset: String(offset), timestamp: T0 + offset },
          },
          'rumor~p1~r',
          T0,
          () => null,
        )
      expect([await decide(1), await decide(2, '1')].map(({ outcome }) => outcome)).toEqual(['late', 'duplicate'])
      expect(await held()).toBe(before + 2 * 500)
      await decide(1)
      expect([await held(), await held('other')]).toEqual([before + 2 * 500, 0])
      expect(await stores.threads.heldBy('acme', T0 + HOUR)).toBe(before)
    })

    it('names the tenants that hold more than so much', async () => {
      await put(post)
      const small = thread('p2', 'small')
      await stores.threads.putPost(small, postOf(small), ARRIVAL, RULES)
      await say([said('c1')])
      const [most, least] = [await held(), await held('small')]
      const over = async (than: number) => (await stores.threads.tenantsOver(than, T0)).sort()
      expect(await over(most)).toEqual([])
      expect(await over(most - 1)).toEqual(['acme'])
      expect(await over(least - 1)).toEqual(['acme', 'small'])
      await stores.threads.deletePost(P1, retractionOf(P1))
      expect(await over(deletedBytes())).toEqual(['small'])
    })
  })
}
