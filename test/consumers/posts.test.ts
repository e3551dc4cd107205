import { describe, expect, test, vi } from 'vitest'
import { posts } from '../../consumers/posts.ts'
import type { ValidMessage } from '../../consumers/read-message.ts'
import type { PostMessage } from '../../src/contracts/facts/messages.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { router } from '../../src/judging/engine/routes.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { postOf, RULES, retractionOf, said, T0, thread } from '../contracts/samples.ts'
import { judgeOnce, readThread, type Stores } from '../contracts/stores.ts'
import { intakeContext } from '../support/intake-context.ts'
import { protocolNamed } from '../support/parts.ts'

test('an edit under a key that would not draw its post leaves a judged thread its comments, and takes no other in', async () => {
  const memory = memoryStores(() => T0)
  const stores: Stores = { ...memory, pass: async () => {}, close: async () => {} }
  const rumor = protocolNamed('rumor')
  const routesUnder = (key: string) => router([rumor], { rumor: [{ sample: 0.5 }] }, samplingRanks(key))
  const take = async (key: string, postId: string, text: string) => {
    // Its words may be many megabytes, and only who judged it is asked for.
    const threads = { ...memory.threads, read: () => Promise.reject(new Error('the whole thread was read')) }
    const context = intakeContext(memory, { routes: routesUnder(key), clock: () => T0, threads })
    const from = { topic: 'posts', partition: 0, offset: text, headers: {}, timestamp: Number(text) }
    const message = { id: postId, tenant: 'default', text, createdAt: T0 }
    return posts.handle(context, [{ message, from } as unknown as ValidMessage<PostMessage>], async () => {})
  }
  const keys = Array.from({ length: 50 }, (_, at) => `key ${at}`)
  const isDrawn = (key: string) => routesUnder(key).of(thread('p'), postOf(thread('p'))).length === 1
  const [first = '', other = ''] = [keys.find(isDrawn), keys.find((key) => !isDrawn(key))]
  expect([first, other]).not.toContain('')

  expect(await take(first, 'p', '1')).toEqual(['judged'])
  await stores.threads.putComments(thread('p'), [said('c1'), said('c2')], T0, RULES)
  await judgeOnce(stores, thread('p'))
  expect(await take(other, 'p', '2')).toEqual(['updated'])
  expect((await readThread(stores, thread('p'))).comments).toHaveLength(2)
  expect(await take(other, 'p', '3')).toEqual(['updated'])

  const unseen = keys.find((id) => routesUnder(other).of(thread(id), postOf(thread(id))).length === 0) ?? ''
  expect(await take(other, unseen, '1')).toEqual(['unrouted'])
})

describe('deletions', () => {
  const deletion = (postId: string, more: object = { deleted: true }) =>
    ({
      message: { id: postId, tenant: 'default', createdAt: T0, ...more },
      from: { topic: 'posts', partition: 0, offset: '1', headers: {}, timestamp: T0 },
    }) as unknown as ValidMessage<PostMessage>

  function deleting(change: { erase?: (ref: ThreadRef) => Promise<void> } = {}) {
    const stores = memoryStores(() => T0)
    const erased: string[] = []
    const heartbeats = { sent: 0 }
    const context = intakeContext(stores, {
      async erase(ref) {
        await change.erase?.(ref)
        erased.push(`${ref.kind} ${ref.postId}`)
        return stores.threads.deletePost(ref, retractionOf(ref))
      },
      clock: () => T0,
    })
    const heartbeat = async () => {
      heartbeats.sent++
    }
    return {
      stores,
      erased,
      heartbeats,
      context,
      take: (...read: ValidMessage<PostMessage>[]) => posts.handle(context, read, heartbeat),
    }
  }

  test('of different posts are not waited for one by one, and each has its outcome, in order', async () => {
    let [inWork, most] = [0, 0]
    const { take, heartbeats } = deleting({
      async erase() {
        most = Math.max(most, ++inWork)
        await new Promise((resolve) => setImmediate(resolve))
        inWork--
      },
    })
    const many = Array.from({ length: 120 }, (_, nth) => `p${nth}`)
    await take(...many.map((id) => deletion(id, { text: 'words' })))
    const before = heartbeats.sent
    expect(new Set(await take(...many.map((id) => deletion(id))))).toEqual(new Set(['deleted']))
    expect(most).toBe(50)
    expect(heartbeats.sent - before).toBe(3)
  })

  test('of subjects that nobody knows take one step of the store for all, and none of its own', async () => {
    const { stores, take, erased } = deleting()
    await take(deletion('known', { text: 'words' }))
    const steps = vi.spyOn(stores.threads, 'deleteUnknown')
    const many = Array.from({ length: 240 }, (_, nth) => deletion(`p${nth}`))
    const outcomes = await take(...many, deletion('known'), deletion('new', { text: 'words' }))
    expect(outcomes).toEqual([...many.map(() => 'deleted'), 'deleted', 'judged'])
    expect([steps.mock.calls.length, erased]).toEqual([1, ['post known']])
    expect(await take(deletion('p7', { text: 'words' }), deletion('p8'))).toEqual(['deleted', 'duplicate'])
    expect((await stores.erasures.waiting()).shelves.count).toBe(241)
  })

  test('and a post does not wait for those before it', async () => {
    let goOn = () => {}
    const held = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const { stores, take } = deleting({ erase: () => held })
    await take(deletion('p1', { text: 'words' }))
    const taking = take(deletion('p1'), deletion('p2', { text: 'words' }))
    await vi.waitUntil(async () => (await stores.threads.read(thread('p2'))) !== null)
    goOn()
    expect(await taking).toEqual(['deleted', 'judged'])
  })

  test('keep their order with what else is said of the same post', async () => {
    const { take, stores } = deleting()
    const words = deletion('p1', { text: 'words' })
    const outcomes = await take(words, deletion('p2'), deletion('p1'), deletion('p1'), words, deletion('p3'))
    expect(outcomes).toEqual(['judged', 'deleted', 'deleted', 'duplicate', 'deleted', 'deleted'])
    expect((await stores.threads.read(thread('p1')))?.post ?? null).toBeNull()
  })

  test('of a post with many replies are taken when a page of these is erased; the others are later', async () => {
    const rest = Promise.withResolvers<void>()
    let pages = 0
    const { context, stores } = deleting({
      erase: async ({ kind }) => {
        if (kind === 'reply' && pages++ >= 50) await rest.promise
      },
    })
    await posts.handle(context, [deletion('p1', { text: 'words' })], async () => {})
    for (let nth = 0; nth < 70; nth++)
      await stores.threads.linkReply(thread('p1'), { ...thread(`r${nth}`), kind: 'reply' }, { most: 100, now: 0 })
    const begun: Promise<unknown>[] = []
    const later = (work: () => Promise<unknown>) => void begun.push(work())
    expect(await posts.handle(context, [deletion('p1')], async () => {}, later)).toEqual(['deleted'])
    expect(await stores.threads.repliesTo(thread('p1'), 100)).toHaveLength(20)
    rest.resolve()
    await Promise.all(begun)
    expect(await stores.threads.repliesTo(thread('p1'), 100)).toEqual([])
  })

  test('of a post with many replies erase these in pages, with a heartbeat each, and go on where they broke off', async () => {
    const replies = 130
    let left = 75
    const { stores, take, erased, heartbeats } = deleting({
      async erase({ kind }) {
        if (kind === 'reply' && left-- === 0) throw new Error('killed')
      },
    })
    for (let nth = 0; nth < replies; nth++)
      await stores.threads.linkReply(thread('p1'), thread(`r${nth}`, 'default', 'reply'), { most: replies, now: 0 })
    await expect(take(deletion('p1'))).rejects.toThrow('killed')
    expect(heartbeats.sent).toBe(1)
    left = Number.POSITIVE_INFINITY
    const before = erased.length
    expect(await take(deletion('p1'))).toEqual(['duplicate'])
    expect(new Set(erased).size).toBe(replies + 1)
    // The first page is not erased again.
    expect(erased.length - before).toBe(1 + replies - 50)
    expect(await stores.threads.repliesTo(thread('p1'), 9)).toEqual([])
  })
})
