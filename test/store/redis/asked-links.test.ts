import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import type { ThreadRef } from '../../../src/contracts/facts/thread.ts'
import { commentKey } from '../../../src/contracts/facts/verdict-id.ts'
import { givenAround } from '../../../src/judging/engine/surroundings.ts'
import { KEEP_REQUESTS_MS, trailBytes } from '../../../src/judging/threads/asked.ts'
import { keysUnder, memberOf } from '../../../src/store/redis/keys.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { postOf, said, thread } from '../../contracts/samples.ts'
import { onRedis } from '../../support/on-redis.ts'

const KEEP_MS = 7 * 24 * 3_600_000
let client: Redis
onRedis.beforeAll(({ client: one }) => {
  client = one
})

function onKeys() {
  const keys = keysUnder(`test-${randomUUID()}`)
  const threads = redisThreads(client, keys, { keepTombstoneMs: KEEP_MS, keepAfterFinalMs: KEEP_MS })
  return { threads, keyOf: (above: ThreadRef) => keys.replies(memberOf(above)) }
}

it('a link that a question leaves is known as long as the question, and where a comment of the stream left one, as long as that', async () => {
  const { threads, keyOf } = onKeys()
  const left = () => client.pttl(keyOf(thread('p')))
  const link = (id: string, askedFor?: number) =>
    threads.linkReply(thread('p'), thread(commentKey('p', id), 'default', 'comment'), {
      most: 9,
      now: 0,
      ...(askedFor === undefined ? {} : { askedFor }),
    })
  await link('c1', KEEP_REQUESTS_MS)
  expect(await left()).toBeGreaterThan(KEEP_REQUESTS_MS - 60_000)
  expect(await left()).toBeLessThanOrEqual(KEEP_REQUESTS_MS)
  await link('c2')
  expect(await left()).toBeGreaterThan(KEEP_MS - 60_000)
  await link('c1', KEEP_REQUESTS_MS)
  expect(await left()).toBeGreaterThan(KEEP_MS - 60_000)
})

it('what a question about a comment counts beside another’s is about what its links take', async () => {
  for (const id of ['c', 'c'.repeat(80)]) {
    const { threads, keyOf } = onKeys()
    const [postId, parentId] = [`post-of-${id}`, `answered-by-${id}`]
    const above = [thread(postId), thread(commentKey(postId, parentId), 'default', 'comment')]
    for (const one of above)
      await threads.linkReply(one, thread(commentKey(postId, id), 'default', 'comment'), { most: 9, now: 0 })
    const taken = await Promise.all(above.map((one) => client.memory('USAGE', keyOf(one))))
    const around = givenAround(postId, null, said(parentId).comment)
    const more =
      trailBytes({ post: postOf(thread(id), { parentId, around }) }) - trailBytes({ post: postOf(thread(id)) })
    const bytes = taken.reduce<number>((sum, one) => sum + (one ?? 0), 0)
    expect(more).toBeGreaterThan(bytes)
    expect(more).toBeLessThan(3 * bytes)
  }
})
