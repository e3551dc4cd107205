import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RestartableServer } from '../../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../../src/kit/stack/servers/redis.ts'
import { connect } from '../../../src/store/redis/connect.ts'
import { sameHistories } from './same-histories.ts'

let server: RestartableServer
let client: Redis

beforeAll(async () => {
  server = await startRedis({ say: () => {} })
  client = connect(server.settings.REDIS_URL ?? '', () => {}, 'retrying')
})
afterAll(async () => {
  client.disconnect()
  await server.close()
})

/** 2,000 steps. The long form: `npm run proof -- histories`. */
test('a thread becomes the same by the rules in memory and by the scripts in Redis, whatever happens to it', {
  timeout: 120_000,
}, async () => {
  const ends = await sameHistories(client, { runs: 40, steps: 50, limitMs: 100_000 })
  expect(ends.size).toBeGreaterThan(30)
})
