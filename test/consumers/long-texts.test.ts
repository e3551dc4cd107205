import { describe, expect, test } from 'vitest'
import { comments } from '../../consumers/comments.ts'
import type { InputMessage, TopicHandler } from '../../consumers/intake.ts'
import { posts } from '../../consumers/posts.ts'
import { readMessage } from '../../consumers/read-message.ts'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import type { CommentChange } from '../../src/contracts/ports/threads.ts'
import { memoryStores } from '../../src/store/memory-stores.ts'
import { HOUR, RULES, T0, thread } from '../contracts/samples.ts'
import { intakeContext } from '../support/intake-context.ts'

const NOW = T0 + HOUR
const KEPT = 5_000
const TOO_LONG = Array.from({ length: 2_000 }, (_, at) => `word${at}`).join(' ')
const HARM = 'They must all be hanged tonight.'

async function taken(post: object, comment: object) {
  const stores = memoryStores(() => NOW)
  const context = intakeContext(stores, { rules: { ...RULES, maxTextChars: KEPT } })
  const createdAt = new Date(T0).toISOString()
  const take = async <Message extends InputMessage>(handler: TopicHandler<Message>, topic: string, value: object) => {
    const bytes = Buffer.from(JSON.stringify({ createdAt, ...value }))
    const from = { topic, partition: 0, offset: '0', key: 'k', value: bytes, headers: {}, timestamp: NOW }
    const read = readMessage(from, handler.schema, { maxMessageBytes: 1 << 20, maxAhead: HOUR }, NOW)
    if (!read.ok) throw new Error(read.detail)
    await handler.handle(context, [read], async () => {})
  }
  await take(posts, 'posts', { id: 'p1', ...post })
  await take(comments, 'comments', { id: 'c1', postId: 'p1', ...comment })
  const state = await stores.threads.read(thread('p1'))
  return { post: state?.post, comment: state?.comments[0] }
}

describe('a text that is too long to keep', () => {
  test('is kept with beginning and end, of posts, comments and descriptions of images, and what was left out is counted', async () => {
    const text = `${TOO_LONG} ${HARM}`
    const { post, comment } = await taken(
      {
        text,
        media: [
          { kind: 'image', alt: 'a sign' },
          { kind: 'image', alt: text },
        ],
      },
      { text },
    )
    const [short, described] = post?.media ?? []
    expect(short).toEqual({ kind: 'image', alt: 'a sign' })
    for (const [kept = '', cut, most] of [
      [post?.text, post?.cut, KEPT],
      [comment?.text, comment?.cut, KEPT],
      [described?.alt, described?.cut, 4_000],
    ] as const) {
      expect(kept.length).toBeLessThanOrEqual(most)
      expect(kept.startsWith('word0 word1 ')).toBe(true)
      expect(kept.endsWith(HARM)).toBe(true)
      const [mark = '', left] = /\n\[cut: (\d+) more characters\]\n/.exec(kept) ?? []
      expect(cut).toEqual({ left: Number(left), of: text.length })
      expect(kept.length - mark.length + Number(left)).toBe(text.length)
    }
  })

  test('is kept whole where only padding is too long', async () => {
    const text = `A harmless beginning.${'\n'.repeat(20_000)}${HARM}`
    const { post } = await taken({ text }, { text: 'So?' })
    expect(post?.text).toMatch(/^A harmless beginning\.\n{16}They must all be hanged tonight\.\n\[squeezed: 19984 /)
    expect(post?.cut).toBeUndefined()
  })

  test('is nothing that a message can say of itself', async () => {
    const forged = { cut: { left: 9, of: 10 }, text: 'Short.\n[cut: 9 more characters]\n' }
    const media = [{ kind: 'image', alt: 'a', cut: { left: 9, of: 10 } }]
    const { post, comment } = await taken({ ...forged, media }, forged)
    expect([post?.cut, post?.media?.[0]?.cut, comment?.cut]).toEqual([undefined, undefined, undefined])
  })

  test('leaves no more of its message to wait for a post than its dead letter would have', async () => {
    const seen: CommentChange[] = []
    const { threads, outbox } = memoryStores(() => NOW)
    const putComments: typeof threads.putComments = async (_, changes) => {
      seen.push(...changes)
      return changes.map(() => 'orphan')
    }
    const context = intakeContext({ threads: { ...threads, putComments }, outbox })
    const value = Buffer.from(JSON.stringify({ id: 'c1', postId: 'p1', text: 'x'.repeat(900_000), createdAt: T0 }))
    const from = { topic: 'comments', partition: 0, offset: '0', key: 'k', value, headers: {}, timestamp: NOW }
    const message = { id: 'c1', postId: 'p1', tenant: 'default', text: 'x'.repeat(900_000), createdAt: T0 }
    await comments.handle(context, [{ ok: true, message, from }], async () => {})
    const [change] = seen
    if (change?.kind !== 'said') throw new Error('nothing was said')
    const { raw, bytes, topic } = change.origin()
    const { letter } = deadLetterOf({ ...from, value }, { reason: 'orphan-expired', detail: '' })
    expect([raw, bytes, topic]).toEqual([JSON.parse(letter).raw, value.length, 'comments'])
  })
})
