import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { expect, it } from 'vitest'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { redisThreads } from '../../../src/store/thread/redis.ts'
import { onRedis } from '../../support/on-redis.ts'

let client: Redis
onRedis.beforeAll(({ client: one }) => {
  client = one
})

/** Commands of this name so far. */
async function calls(name: string): Promise<number> {
  const info = await client.info('commandstats')
  return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(info)?.[1] ?? 0)
}

it('counts what is due of any number of tenants, and looks through those that have waited longest', async () => {
  const keys = keysUnder(`test-${randomUUID()}`)
  const threads = redisThreads(client, keys, { keepTombstoneMs: 60_000, keepAfterFinalMs: 1_000 })
  const tenants = Array.from({ length: 3_000 }, (_, nth) => `t${nth}`)
  await client.zadd(`${keys.due}/tenants`, ...tenants.flatMap((tenant, nth) => [nth - 1e15, tenant]))
  for (const tenant of tenants) await client.zadd(`${keys.due}:${tenant}`, -1e15, `${tenant}:p`)
  await client.zadd(`${keys.due}:t0`, ...Array.from({ length: 9 }, (_, nth) => [-1e15, `t0:q${nth}`]).flat())
  const before = await calls('zcount')
  expect([await threads.countDue(0), await threads.countDue(0, 5)]).toEqual([3_009, 2_999])
  expect(await threads.tenantsOverDue(0, 5)).toEqual(['t0'])
  expect((await calls('zcount')) - before).toBeLessThan(3_100)
})
