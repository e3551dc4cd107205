import { expect, it } from 'vitest'
import { comments } from '../../consumers/comments.ts'
import { intake, type TopicHandler } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import type { MessageBatch, TopicReader } from '../../src/contracts/ports/topic.ts'
import type { TraceLinks } from '../../src/contracts/ports/traces.ts'
import { router } from '../../src/judging/engine/routes.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { T0, thread } from '../contracts/samples.ts'
import { intakeContext } from '../support/intake-context.ts'
import { protocolNamed } from '../support/parts.ts'

const contextOf = (nth: number) => `00-${`${nth}`.repeat(32)}-${`${nth}`.repeat(16)}-01`
const when = new Date(T0).toISOString()

/** Gives an intake these messages of one topic, each with a header; resolves to what it noted, and what was in the store then. */
async function noted(
  topic: string,
  messages: readonly (readonly [value: object, traceparent: string | null])[],
  change: Parameters<typeof intakeContext>[1] = {},
) {
  const stores = memoryStores(() => T0)
  const found: [unknown, readonly string[]][] = []
  let before: unknown
  const links: TraceLinks = {
    async note(of) {
      before = await stores.threads.read(thread('p1'))
      found.push(...of)
    },
    read: async () => [],
    forget: async () => {},
  }
  let handle: Parameters<TopicReader['start']>[0] = async () => {}
  const reader: TopicReader = {
    async start(given) {
      handle = given
    },
    positions: async () => [],
    setPaused() {},
    downSince: null,
    async close() {},
  }
  const handlers = new Map<string, TopicHandler>([
    ['posts', posts],
    ['comments', comments],
  ])
  await intake({ reader, handlers, context: intakeContext(stores, { links, ...change }), marks: stores.marks }).start()
  const batch: MessageBatch = {
    topic,
    partition: 0,
    next: String(messages.length),
    atEnd: true,
    messages: messages.map(([value, traceparent], offset) => ({
      topic,
      partition: 0,
      offset: String(offset),
      key: 'p1',
      timestamp: T0,
      value: Buffer.from(JSON.stringify(value)),
      headers: traceparent === null ? {} : { traceparent },
    })),
  }
  await handle(
    batch,
    async () => {},
    (work) => void work(),
  )
  return { found, before, after: await stores.threads.read(thread('p1')) }
}

it('notes the trace contexts of messages by their threads, before anything comes of them', async () => {
  const post = { id: 'p1', text: 'so', createdAt: when }
  const { found, before, after } = await noted('posts', [[post, contextOf(1)]])
  expect(found).toEqual([[thread('p1'), [contextOf(1)]]])
  expect(before).toBeNull()
  expect(after).not.toBeNull()
})

it('takes the first of several contexts, and none that is not written as one', async () => {
  const say = (id: string, postId = 'p1') => ({ id, postId, text: 'so', createdAt: when })
  const { found } = await noted('comments', [
    [say('a'), contextOf(2)],
    [say('b', 'p2'), `${contextOf(3)}, ${contextOf(4)}`],
    [say('c'), contextOf(5)],
    [say('d'), 'a stranger’s words'],
    [say('e'), contextOf(0)],
    [say('f'), contextOf(6).replace('00-', 'ff-')],
    [say('g'), null],
  ])
  expect(found).toEqual([
    [thread('p1'), [contextOf(2), contextOf(5)]],
    [thread('p2'), [contextOf(3)]],
  ])
})

it('notes those of comments that routes take beside the comments, too', async () => {
  const routes = router([protocolNamed('hate', { subject: 'post' })], { hate: [{ subjects: ['comment'] }] }, () => 0)
  const { found } = await noted('comments', [[{ id: 'a', postId: 'p1', text: 'so', createdAt: when }, contextOf(2)]], {
    routes,
  })
  expect(found).toEqual([
    [thread('p1'), [contextOf(2)]],
    [thread('p1~a', 'default', 'comment'), [contextOf(2)]],
  ])
})
