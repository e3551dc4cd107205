import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { redisSinkNotes } from '../../../src/store/sink/redis.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { thread } from '../../contracts/samples.ts'
import { onRedis as it } from '../../support/on-redis.ts'

const [P1, P2] = [thread('p1', 'acme'), thread('p2', 'acme')]

it('notes of sinks are of a subject and a protocol, count to their tenant, and end', async ({ client }) => {
  const keys = keysUnder(`test-${randomUUID()}`)
  const notes = redisSinkNotes(client, keys, 60_000)
  const held = () =>
    redisThreads(client, keys, { keepTombstoneMs: 1_000, keepAfterFinalMs: 1_000 }).heldBy('acme', Date.now())
  const of = { ref: P1, protocol: 'hate' }
  expect(await notes.note(of, [])).toEqual(new Set())
  expect(await held()).toBe(0)
  expect(await notes.note(of, ['one'])).toEqual(new Set(['one']))
  const one = await held()
  expect(one).toBeGreaterThan(200)
  expect(await notes.note(of, ['one', 'two'])).toEqual(new Set(['one', 'two']))
  expect(await notes.note(of, [])).toEqual(new Set(['one', 'two']))
  expect(await held()).toBeGreaterThan(one)
  expect(await notes.note({ ref: P2, protocol: 'hate' }, [])).toEqual(new Set())
  expect(await notes.note({ ref: P1, protocol: 'rumor' }, [])).toEqual(new Set())
  // One of a service that keeps them for no time at all.
  await redisSinkNotes(client, keys, 1).note(of, [])
  await sleep(100)
  expect(await notes.note(of, [])).toEqual(new Set())
  await expect.poll(held, { timeout: 20_000 }).toBe(0)
})
