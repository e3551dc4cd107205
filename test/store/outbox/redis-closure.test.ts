import { expect } from 'vitest'
import { redisClosure } from '../../../src/store/outbox/redis-closure.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { onRedis as it } from '../../support/on-redis.ts'

const keys = keysUnder('test-closure')
const token = () => ({ incarnationId: 'mine', watermark: 1, serverRun: 'run' })

it('what a process tells is read by all, until it withdraws it or says it no more', async ({ client }) => {
  await client.hset(keys.incarnation, 'id', 'mine')
  const [one, other] = [redisClosure(client, keys, token, 60_000), redisClosure(client, keys, token, 60_000)]
  expect(await other.read()).toBeNull()
  await one.tell('set acks')
  expect(await other.read()).toBe('set acks')
  expect(await client.pttl(keys.closure)).toBeGreaterThan(0)
  await one.withdraw()
  expect(await other.read()).toBeNull()
})

it('nothing is written to a Redis that was emptied', async ({ client }) => {
  await client.del(keys.incarnation)
  await redisClosure(client, keys, token, 60_000).tell('set acks')
  expect(await client.exists(keys.closure)).toBe(0)
})
