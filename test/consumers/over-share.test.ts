import { describe, expect, it } from 'vitest'
import { backgroundErasures } from '../../consumers/background-erasures.ts'
import { comments } from '../../consumers/comments.ts'
import { counterspeech } from '../../consumers/counterspeech.ts'
import { intake, type TopicHandler } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import { deadLetter } from '../../src/contracts/facts/messages.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import { commentKey } from '../../src/contracts/facts/verdict-id.ts'
import type { HandleBatch, TopicReader } from '../../src/contracts/ports/topic.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, T0, thread } from '../contracts/samples.ts'
import { intakeContext } from '../support/intake-context.ts'
import { protocolNamed } from '../support/parts.ts'

const createdAt = '2024-05-01T12:00:00Z'
const post = (id: string, change = {}) => ({ id, tenant: 'big', text: `what ${id} says`, createdAt, ...change })
const comment = (id: string, change = {}) => ({ ...post(id, change), postId: 'p1' })
const reply = (id: string, change = {}) => ({ ...post(id, change), hateSpeech: 'this' })

/** Intake that lets a tenant hold so much; reads batches of one topic, and tells what came of them. */
async function setUp({ takeComments = false } = {}) {
  const stores = memoryStores(() => T0 + HOUR)
  const world: { most: number | null } = { most: null }
  const settled: string[] = []
  const dead: string[] = []
  const erased: string[] = []
  let handle: HandleBatch = async () => {}
  const handlers = new Map<string, TopicHandler>([
    ['posts', posts],
    ['comments', comments],
    ['counterspeech', counterspeech],
  ])
  const reader = {
    start: async (one: HandleBatch) => {
      handle = one
    },
  } as unknown as TopicReader // Nothing else of it is used.
  const context = intakeContext(stores, {
    mostHeld: () => world.most,
    erasures: backgroundErasures(async (_, ids) => void erased.push(...ids)),
    routes: {
      takeComments,
      of: ({ kind }) => [protocolNamed(kind === 'reply' ? 'counterspeech' : kind === 'comment' ? 'hate' : 'rumor')],
    },
    report(name, event) {
      if ('outcome' in event && 'count' in event) settled.push(`${event.count} ${event.outcome}`)
      if (name === 'message:dead' && 'offset' in event)
        dead.push(`${event.offset} ${'reason' in event && event.reason}`)
    },
  })
  await intake({ handlers, context, reader, marks: stores.marks }).start()
  let offset = 0
  const read = async (topic: string, messages: readonly object[]) => {
    settled.length = 0
    const from = { topic, partition: 0, key: null, headers: {}, timestamp: T0 }
    const incoming = messages.map((one) => ({
      ...from,
      offset: `${offset++}`,
      value: Buffer.from(JSON.stringify(one)),
    }))
    const batch = { topic, partition: 0, next: `${offset}`, atEnd: true, messages: incoming }
    const later: Promise<unknown>[] = []
    await handle(
      batch,
      async () => {},
      (work) => void later.push(work()),
    )
    await Promise.all(later)
    return [...settled]
  }
  return { stores, world, read, dead, erased }
}

describe('a tenant that holds its share', () => {
  it('leaves nothing by deletions of comments whose posts never came; others are erased as ever', async () => {
    const { stores, world, read, erased } = await setUp()
    await read('posts', [post('p1')])
    await read('comments', [comment('c1')])
    world.most = 0
    const gone = { text: undefined, deleted: true }
    const held = await stores.threads.heldBy('big', T0)
    expect(await read('comments', [{ ...comment('c9', gone), postId: 'never' }])).toEqual(['1 late'])
    expect([await stores.threads.heldBy('big', T0), erased]).toEqual([held, []])
    expect(await read('comments', [comment('c1', gone), comment('c2', gone)])).toEqual(['2 deleted'])
    expect(erased).toEqual(['c1', 'c2'])
  })

  it('has what it sends more become dead letters, each of which can be replayed', async () => {
    const { stores, world, read, dead } = await setUp()
    await read('posts', [post('p1')])
    world.most = await stores.threads.heldBy('big', T0)
    expect(await read('posts', [post('p2', { text: 'w'.repeat(9_000) }), post('p3', { tenant: 'small' })])).toEqual([
      '1 dead-letter',
      '1 judged',
    ])
    expect(await read('comments', [comment('c1')])).toEqual(['1 dead-letter'])
    expect(await read('counterspeech', [reply('r1')])).toEqual(['1 dead-letter'])
    expect(dead).toEqual(['1 over-share', '3 over-share', '4 over-share'])
    const letters = (await stores.outbox.next('one', 9, 0)).map((entry) =>
      deadLetter.parse(JSON.parse('letter' in entry ? entry.letter : '')),
    )
    // They wait in the memory that is short.
    expect(letters.map(({ raw, truncated }) => [raw.length < 1_500, truncated])[0]).toEqual([true, true])
    expect(letters.map(({ topic, offset, reason }) => [topic, offset, reason])).toEqual([
      ['posts', '1', 'over-share'],
      ['comments', '3', 'over-share'],
      ['counterspeech', '4', 'over-share'],
    ])
    expect(JSON.parse(Buffer.from(letters[1]?.raw ?? '', 'base64').toString())).toMatchObject({ id: 'c1' })
    expect(await stores.threads.read(thread('p2', 'big'))).toBeNull()
  })

  it('leaves no links of what is not kept, and those of what is', async () => {
    const { stores, world, read } = await setUp({ takeComments: true })
    await read('posts', [post('p1')])
    expect(await read('comments', [comment('c1', { parentId: 'c0' })])).toEqual(['1 judged'])
    expect(await read('counterspeech', [reply('r1', { postId: 'p1' })])).toEqual(['1 judged'])
    world.most = await stores.threads.heldBy('big', T0)
    const more = { text: 'w'.repeat(5_000) }
    const said = [comment('c2', { ...more, parentId: 'c0' }), comment('c1', { ...more, parentId: 'c0' })]
    expect(await read('comments', said)).toEqual(['2 dead-letter'])
    const replies = [reply('r1', { ...more, postId: 'p1' }), reply('r2', { ...more, postId: 'p2' })]
    expect(await read('counterspeech', replies)).toEqual(['2 dead-letter'])
    const linked = async (ref: ThreadRef) => (await stores.threads.repliesTo(ref, 9)).map(({ postId }) => postId).sort()
    expect(await linked(thread('p1', 'big'))).toEqual(['p1~c1', 'r1'])
    expect(await linked(thread(commentKey('p1', 'c0'), 'big', 'comment'))).toEqual(['p1~c1'])
    expect(await linked(thread('p2', 'big'))).toEqual([])
  })

  it('may still delete, and is taken at its word again once it holds less', async () => {
    const { stores, world, read, dead } = await setUp()
    await read('posts', [post('p1'), post('p2', { text: 'w'.repeat(500) })])
    world.most = await stores.threads.heldBy('big', T0)
    expect(await read('comments', [comment('c1', { deleted: true }), comment('c2')])).toEqual([
      '1 deleted',
      '1 dead-letter',
    ])
    expect(await read('posts', [post('p2', { deleted: true })])).toEqual(['1 deleted'])
    expect(await read('comments', [comment('c2')])).toEqual(['1 judged'])
    expect(await read('counterspeech', [reply('r1', { deleted: true })])).toEqual(['1 deleted'])
    expect(dead).toEqual(['3 over-share'])
  })
})
