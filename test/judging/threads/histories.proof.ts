import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RestartableServer } from '../../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../../src/kit/stack/servers/redis.ts'
import { connect } from '../../../src/store/redis/connect.ts'
import { sameHistories } from './same-histories.ts'

const LIMIT_MS = 1_500_000

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

test.each([
  ['many short histories', { runs: 1_000, steps: 30, limitMs: LIMIT_MS }],
  ['long ones', { runs: 100, steps: 300, limitMs: LIMIT_MS }],
])('%s end the same by the rules in memory and by the scripts in Redis', async (_, how) => {
  const ends = await sameHistories(client, how)
  process.stdout.write(
    [...ends]
      .sort()
      .map(([end, times]) => `${times} × ${end}`)
      .join('\n')
      .concat('\n'),
  )
  expect(ends.size).toBeGreaterThan(60)
})
