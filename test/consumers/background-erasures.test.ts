import { describe, expect, test, vi } from 'vitest'
import { backgroundErasures } from '../../consumers/background-erasures.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import type { BackgroundRunner } from '../../src/contracts/ports/topic.ts'
import { thread } from '../contracts/samples.ts'

const [p1, p2] = [thread('p1'), thread('p2')]

/** Erasures that the test ends, and the work that was begun for later. */
function slow() {
  const erased: { post: string; ids: string[]; end: () => void; fail: (error: Error) => void }[] = []
  const begun: Promise<unknown>[] = []
  const { comments: erase } = backgroundErasures((ref: ThreadRef, deleted) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    erased.push({ post: ref.postId, ids: [...deleted], end: resolve, fail: reject })
    return promise
  })
  const later: BackgroundRunner = (work) => void begun.push(work())
  const beats = { sent: 0 }
  const heartbeat = async () => void beats.sent++
  return {
    erased,
    begun,
    beats,
    later,
    delay: (ref: ThreadRef, ...ids: string[]) => erase(ref, new Set(ids), heartbeat, later),
    erase,
    heartbeat,
  }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('deleted comments', () => {
  test('are erased while their batch goes on, and are done when they are erased', async () => {
    const { erased, begun, delay } = slow()
    await delay(p1, 'c1')
    await turn()
    expect(erased.map(({ ids }) => ids)).toEqual([['c1']])
    let done = false
    void begun[0]?.then(() => {
      done = true
    })
    await turn()
    expect(done).toBe(false)
    erased[0]?.end()
    await turn()
    expect(done).toBe(true)
  })

  test('of one thread are erased one time after the other, all that came meanwhile together', async () => {
    const { erased, begun, delay } = slow()
    await delay(p1, 'c1')
    await turn()
    for (const id of ['c2', 'c3', 'c4']) await delay(p1, id)
    await delay(p2, 'd1')
    await turn()
    expect(erased.map(({ post, ids }) => [post, ...ids])).toEqual([
      ['p1', 'c1'],
      ['p2', 'd1'],
    ])
    erased[0]?.end()
    await turn()
    expect(erased.at(-1)).toMatchObject({ post: 'p1', ids: ['c2', 'c3', 'c4'] })
    for (const { end } of erased) end()
    await Promise.all(begun)
    expect(erased).toHaveLength(3)
  })

  test('are as failed as their erasure, and those after them are erased all the same', async () => {
    const { erased, begun, delay } = slow()
    await delay(p1, 'c1')
    await turn()
    await delay(p1, 'c2')
    erased[0]?.fail(new Error('Redis is away'))
    await expect(begun[0]).rejects.toThrow('Redis is away')
    await turn()
    erased[1]?.end()
    await expect(begun[1]).resolves.toBeUndefined()
  })

  test('of many threads at once are waited for, with heartbeats', async () => {
    const { erased, begun, beats, delay } = slow()
    for (let nth = 0; nth < 16; nth++) await delay(thread(`p${nth}`), 'c1')
    let waited = true
    const last = delay(thread('last'), 'c1').then(() => {
      waited = false
    })
    await vi.waitUntil(() => beats.sent >= 2, 5_000)
    expect([waited, begun.length]).toEqual([true, 16])
    for (const { end } of erased) end()
    await last
  })

  test('of many threads of one tenant hold up no other’s, and their own until one of them is erased', async () => {
    const { erased, begun, delay } = slow()
    for (let nth = 0; nth < 16; nth++) await delay(thread(`p${nth}`), 'c1')
    await delay(thread('p', 'other'), 'c1')
    expect(begun).toHaveLength(17)
    const own = delay(thread('last'), 'c1')
    await turn()
    expect(begun).toHaveLength(17)
    erased[3]?.fail(new Error('Redis is away'))
    await expect(begun[3]).rejects.toThrow()
    await own
    expect(begun).toHaveLength(18)
  })

  test('are waited for where nothing may be done later', async () => {
    const { erased, erase, heartbeat } = slow()
    let done = false
    const erasing = erase(p1, new Set(['c1']), heartbeat).then(() => {
      done = true
    })
    await turn()
    expect(done).toBe(false)
    erased[0]?.end()
    await erasing
  })
})
