import { expect, test } from 'vitest'
import { backgroundErasures } from '../../consumers/background-erasures.ts'
import { comments } from '../../consumers/comments.ts'
import type { IntakeContext } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { commentKey } from '../../src/contracts/facts/verdict-id.ts'
import { type Route, router } from '../../src/judging/engine/routes.ts'
import type { Protocol } from '../../src/judging/engine/script.ts'
import { surroundingsOf } from '../../src/judging/engine/surroundings.ts'
import { askedThread } from '../../src/judging/threads/asked.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, postOf, RULES, retractionOf, T0, thread } from '../contracts/samples.ts'
import { intakeContext } from '../support/intake-context.ts'
import { protocolNamed } from '../support/parts.ts'

const comment = (postId: string, id: string): ThreadRef => thread(commentKey(postId, id), 'default', 'comment')
const TAKEN: Route[] = [{ subjects: ['post', 'comment'] }]

/** An intake under these routes of `hate`, beside what its stores know. */
function taking(
  stores = memoryStores(() => T0),
  routes: Route[] = TAKEN,
  change: Partial<Protocol> = {},
  maxReplies = 9,
  more: Partial<IntakeContext> = {},
) {
  const erased: [string, ...string[]][] = []
  const context = intakeContext(stores, {
    routes: router([protocolNamed('hate', { subject: 'post', ...change })], { hate: routes }, () => 0),
    erase: (ref) => stores.threads.deletePost(ref, retractionOf(ref)),
    erasures: backgroundErasures(async (ref, ids) => void erased.push([`${ref.kind} ${ref.postId}`, ...ids])),
    clock: () => T0,
    maxReplies,
    ...more,
  })
  let offset = 0
  const take = async (handler: typeof posts | typeof comments, more: object) => {
    const from = {
      topic: 'any',
      partition: 0,
      offset: `${offset++}`,
      key: null,
      value: null,
      headers: {},
      timestamp: T0,
    }
    const message = { tenant: 'default', createdAt: T0, ...more }
    const [outcome] = await handler.handle(context, [{ ok: true, message, from }] as never, async () => {}) // Of its own topic.
    return outcome
  }
  return {
    stores,
    erased,
    post: (id: string, more: object = { text: `${id} says` }) => take(posts, { id, ...more }),
    comment: (postId: string, id: string, more: object = { text: `${id} says` }) =>
      take(comments, { postId, id, ...more }),
    statusOf: (ref: ThreadRef) => stores.threads.statusOf(ref),
  }
}

test('each comment that a route takes is a subject of its own, also where its thread is not kept, or deleted', async () => {
  const it = taking()
  await it.post('p')
  expect(await it.comment('p', 'c')).toBe('judged')
  expect([await it.statusOf(comment('p', 'c')), await it.statusOf(comment('p', 'c2'))]).toEqual(['post-only', null])
  expect((await it.stores.threads.due(T0, 9)).map(({ kind, postId }) => `${kind} ${postId}`).sort()).toEqual([
    'comment p~c',
    'post p',
  ])
  expect([await it.comment('p', 'c', { deleted: true }), await it.statusOf(comment('p', 'c'))]).toEqual([
    'deleted',
    'deleted',
  ])
  expect(await it.comment('p', 'c')).toBe('deleted')
  // One before its post is judged; the post takes it along.
  await it.comment('late', 'c')
  await it.post('late', { deleted: true })
  expect(await it.statusOf(comment('late', 'c'))).toBe('deleted')
  await it.comment('late', 'c2')
  expect(await it.statusOf(comment('late', 'c2'))).toBeNull()
})

test('nothing is kept of comments that no route takes, but those that were judged before are still erased', async () => {
  for (const [routes, change] of [
    [[{}], {}],
    [TAKEN, { faithful: true }],
    [TAKEN, { subject: 'thread' }],
    [[{ subjects: ['comment'], sample: 0 }], {}],
  ] as [Route[], Partial<Protocol>][]) {
    const it = taking(undefined, routes, change)
    await it.post('p')
    await it.comment('p', 'c')
    expect([routes, await it.statusOf(comment('p', 'c'))]).toEqual([routes, null])
  }
  const { stores, comment: judge } = taking()
  await judge('p', 'c')
  const off = taking(stores, [{}])
  await off.comment('p', 'c', { deleted: true })
  await off.comment('p', 'c2', { deleted: true })
  expect([await off.statusOf(comment('p', 'c')), await off.statusOf(comment('p', 'c2'))]).toEqual(['deleted', null])
})

test('what was asked about a comment goes with it, with what it answers and with its post, whether or not a route takes it', async () => {
  const ask = async ({ stores }: ReturnType<typeof taking>, subject: ThreadRef) => {
    for (const above of [thread('p'), comment('p', 'parent')])
      await stores.threads.linkReply(above, subject, { most: 9, now: 0 })
    const asked = askedThread(
      thread('f1', 'default', 'asked'),
      { post: postOf(thread('c')), comments: [], postOnly: true },
      T0,
      RULES,
    )
    const more = { protocols: ['hate'], webhook: false, until: T0 + HOUR, most: null }
    await stores.threads.putAsked({ thread: asked, subject, ...more }, T0)
  }
  for (const [of, id] of [
    ['comments', 'c'],
    ['comments', 'parent'],
    ['posts', 'p'],
  ] as const)
    for (const routes of [TAKEN, [{}]]) {
      const it = taking(undefined, routes)
      await ask(it, comment('p', 'c'))
      await (of === 'posts' ? it.post(id, { deleted: true }) : it.comment('p', id, { deleted: true }))
      expect([id, await it.stores.threads.askedAbout(comment('p', 'c'), 9)]).toEqual([id, []])
    }
})

test('what could not be erased with its post is not judged, and what could not be erased from it is not shown', async () => {
  const it = taking(undefined, TAKEN, {}, 1)
  await it.post('p')
  expect(await it.comment('p', 'a')).toBe('judged')
  expect(await it.comment('p', 'b')).toBe('dead-letter')
  // The parent has one answer already, under another post of this reckoning.
  await it.stores.threads.linkReply(comment('q', 'parent'), comment('q', 'first'), { most: 1, now: 0 })
  await it.comment('q', 'child', { text: 'child', parentId: 'parent' })
  expect((await it.stores.threads.head(comment('q', 'child')))?.post?.parentId).toBeUndefined()
})

test('a comment waits a little for a post that nobody knows, and no longer for one that nobody judges', async () => {
  const due = async ({ stores }: ReturnType<typeof taking>, at: number) =>
    (await stores.threads.due(at, 9)).filter(({ kind }) => kind === 'comment').map(({ postId }) => postId)
  // By a message from the future the stream has come no further.
  for (const [reached, until] of [
    [T0 - HOUR, T0 - HOUR + 5_000],
    [T0 + HOUR, T0 + 5_000],
  ] as const) {
    const it = taking(undefined, TAKEN, {}, 9, { reached })
    await it.post('known')
    await it.comment('known', 'c')
    await it.comment('unknown', 'c')
    await it.comment('unknown', 'd', { text: 'answers', parentId: 'c' })
    expect(await due(it, until - 1)).toEqual(['known~c'])
    expect((await due(it, until + 1)).sort()).toEqual(['known~c', 'unknown~c', 'unknown~d'])
  }
  const unrouted = taking(undefined, [{ subjects: ['comment'] }], {}, 9, { reached: T0 })
  await unrouted.post('p')
  await unrouted.comment('p', 'c')
  expect(await due(unrouted, 0)).toEqual(['p~c'])
})

test('a comment is shown with what it answers and its post, whoever answers whom, and a deleted one leaves those that answer it', async () => {
  const it = taking()
  await it.post('p', { text: 'the post', media: [{ kind: 'image', alt: 'a street' }] })
  await it.comment('p', 'a', { text: 'a says', parentId: 'b' })
  await it.comment('p', 'b', { text: 'b says', parentId: 'a' })
  await it.comment('p', 'own', { text: 'own says', parentId: 'own' })
  await it.comment('p', 'top', { text: 'top says', parentId: 'p' })
  await it.comment('x', 'c', { text: 'c says', parentId: 'a' })
  const around = async (postId: string, id: string) => {
    const ref = comment(postId, id)
    const { post } = (await it.stores.threads.head(ref)) ?? {}
    if (!post) throw new Error('it is not there')
    const { under, comments: answered = [] } = (await surroundingsOf(it.stores.threads, ref, post)) ?? {}
    return [under?.text ?? null, ...answered.map(({ text }) => text)]
  }
  const post = 'the post\na street'
  expect([await around('p', 'a'), await around('p', 'b')]).toEqual([
    [post, 'b says'],
    [post, 'a says'],
  ])
  expect([await around('p', 'own'), await around('p', 'top'), await around('x', 'c')]).toEqual([[post], [post], [null]])
  await it.comment('p', 'b', { deleted: true })
  expect(await around('p', 'a')).toEqual([post])
  expect(it.erased).toEqual([
    ['post p', 'b'],
    ['comment p~a', 'b'],
  ])
})

test('a thousand comments on one post, each by another account, are one share: whoever comes after them is among the first', async () => {
  const it = taking(undefined, TAKEN, {}, 2_000)
  for (const id of ['p', 'q']) await it.post(id)
  for (let nth = 0; nth < 1_000; nth++)
    await it.comment('p', `c${nth}`, { text: `says ${nth}`, author: `author ${nth}` })
  await it.comment('q', 'c', { text: 'another thread', author: 'author 1' })
  await it.post('bystander', { text: 'a post', author: 'somebody' })
  const due = await it.stores.threads.due(T0, 6)
  expect(due.map(({ kind, postId }) => `${kind} ${postId}`).toSorted()).toEqual(
    expect.arrayContaining(['comment q~c', 'post bystander']),
  )
})

test('a comment that is edited to answer another is linked to the one before no more, if that never came: nobody was shown it', async () => {
  const it = taking()
  await it.post('p')
  await it.comment('p', 'known')
  for (const parentId of ['ghost-1', 'ghost-2', 'known', 'ghost-3'])
    await it.comment('p', 'c', { text: 'words', parentId })
  const linked = async (id: string) => (await it.stores.threads.repliesTo(comment('p', id), 9)).length
  expect([await linked('ghost-1'), await linked('ghost-2'), await linked('known'), await linked('ghost-3')]).toEqual([
    0, 0, 1, 1,
  ])
})
