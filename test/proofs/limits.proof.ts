import { afterAll, beforeAll, expect, it } from 'vitest'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { startRedis } from '../../src/kit/stack/servers/redis.ts'
import { hammerLimits } from '../support/hammer-limits.ts'

const seconds = Number(process.env.GAVEL_PROOF_SECONDS ?? 600)

let server: RestartableServer
beforeAll(async () => {
  server = await startRedis({ say: () => {} })
})
afterAll(() => server.close())

it(`holds limits that 8 processes hammer for ${seconds} s, and wastes less than a twentieth of them`, async () => {
  const hits = await hammerLimits(server.settings.REDIS_URL ?? '', {
    windowMs: 60_000,
    seconds,
    limits: { callsPerMinute: 600, tokensPerMinute: 60_000, inFlight: 40 },
    askers: 12,
  })
  process.stdout.write(`${JSON.stringify(hits, null, 2)}\n`)
  for (const { faults, used } of hits) {
    expect(faults).toEqual([])
    expect(used).toBeGreaterThanOrEqual(0.95)
  }
})
