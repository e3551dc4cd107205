import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import type { RestartableServer } from '../../src/kit/stack/servers/local-server.ts'
import { memoryBudgets } from '../../src/store/budget/memory.ts'
import { redisBudgets } from '../../src/store/budget/redis.ts'
import { onRedis } from '../support/on-redis.ts'
import { budgetSettings, budgetsContract, purchase } from './budgets.ts'
import { T0 } from './samples.ts'

let server: RestartableServer
let client: Redis
onRedis.beforeAll(({ redis, client: one }) => {
  server = redis
  client = one
})

const keyUnder = (prefix: string) => (name: string) => `{${prefix}}:${name}`

budgetsContract('in memory', async (settings) => {
  let now = T0
  return {
    budgets: memoryBudgets(settings, () => now),
    now: async () => now,
    async pass(ms) {
      now += ms
    },
    close: async () => {},
  }
})

budgetsContract('in Redis', async (settings) => ({
  budgets: redisBudgets(client, keyUnder(`test-${randomUUID()}`), settings),
  async now() {
    const [seconds, micros] = await client.time()
    return Number(seconds) * 1000 + Number(micros) / 1000
  },
  pass: (ms) => sleep(ms),
  close: async () => {},
}))

describe('budgets, in Redis', () => {
  const HOUR = 3_600_000

  it('leave no key that does not expire, and none outside their hash tag', async () => {
    const prefix = `test-${randomUUID()}`
    const budgets = redisBudgets(
      client,
      keyUnder(prefix),
      budgetSettings({
        verdict: { tokens: 100, usd: null },
        tenant: { tokens: 100, usd: 1, per: HOUR },
        total: { tokens: 100, usd: 1, per: 24 * HOUR },
      }),
    )
    const before = await client.dbsize()
    const [settled, open] = [purchase({ tokens: 10 }), purchase({ tokens: 10 }, { caseId: 'a:b {c} d' })]
    await budgets.reserve(settled)
    await budgets.reserve(open)
    await budgets.settle(settled.ticket, settled.atMost)
    const keys = await client.keys(`{${prefix}}:budget:*`)
    expect(keys).toHaveLength((await client.dbsize()) - before)
    expect(keys).toHaveLength(4 + 2 + 1)
    for (const key of keys) expect(await client.pttl(key), key).toBeGreaterThan(0)
    expect(await client.pttl(keyUnder(prefix)(`budget:ticket:${settled.ticket}`))).toBeLessThanOrEqual(60_000)
  })

  it('do not open an account again that has expired', async () => {
    const prefix = `test-${randomUUID()}`
    const limits = { verdict: { tokens: 100, usd: null }, total: { tokens: 100, usd: null, per: HOUR } }
    const settings = { ...budgetSettings(limits), keepVerdictMs: 50 }
    const budgets = redisBudgets(client, keyUnder(prefix), settings)
    const call = purchase({ tokens: 60 })
    await budgets.reserve(call)
    await sleep(80)
    expect(await budgets.settle(call.ticket, { tokens: 10, usd: 0 })).toBe('settled')
    expect((await budgets.total())?.used.tokens).toBe(10)
    expect(await client.exists(keyUnder(prefix)(`budget:account:verdict:${call.caseId}`))).toBe(0)
  })

  it('are not exceeded by eight processes that spend at once, nor by one of them that is killed', async ({
    signal,
  }) => {
    const prefix = `test-${randomUUID()}`
    const limit = 80_000
    const settings = budgetSettings({
      tenant: { tokens: limit / 2, usd: null, per: 1_000 * HOUR },
      total: { tokens: limit, usd: limit / 1e6, per: 1_000 * HOUR },
    })
    const budgets = redisBudgets(client, keyUnder(prefix), settings)
    const program = fileURLToPath(new URL('./budgets-spender.ts', import.meta.url))
    const spenders = Array.from({ length: 8 }, (_, number) =>
      spender([program, server.settings.REDIS_URL ?? '', prefix, JSON.stringify(settings), String(number)], signal),
    )
    const ends = Promise.all(spenders.map(({ end }) => end))
    let running = true
    let most = 0
    let killed = false
    const watch = async () => {
      while (running) {
        const used = (await budgets.total())?.used.tokens ?? 0
        most = Math.max(most, used)
        if (!killed && used > limit / 4) killed = spenders[0]?.kill() ?? false
        await sleep(2)
      }
    }
    const watching = watch()
    const said = await ends.finally(() => {
      running = false
    })
    await watching
    const standing = await budgets.total()
    const survived = said.flatMap((line) => (line === null ? [] : [line]))
    const spent = survived.reduce((sum, line) => sum + line.spent, 0)
    expect(killed).toBe(true)
    expect(survived).toHaveLength(7)
    // Several really took part.
    expect(survived.filter(({ granted }) => granted > 0).length).toBeGreaterThan(3)
    expect(most).toBeLessThanOrEqual(limit)
    expect(standing?.used.tokens).toBeLessThanOrEqual(limit)
    expect(standing?.used.usd).toBeLessThanOrEqual(limit / 1e6)
    expect(standing?.used.tokens).toBeGreaterThan(0.98 * limit)
    expect(spent).toBeLessThanOrEqual(standing?.used.tokens ?? 0)
    expect(standing?.inFlight.tokens).toBe(0)
  })
})

/** A child; its end is what it said, or null where it was killed. None outlives a test that ran out of its time. */
function spender(args: readonly string[], signal: AbortSignal) {
  let child: ReturnType<typeof execFile> | undefined
  const end = new Promise<{ granted: number; spent: number } | null>((resolve, reject) => {
    child = execFile(process.execPath, args, { signal }, (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve(null)
      else if (error !== null) reject(new Error(stderr, { cause: error }))
      else resolve(JSON.parse(stdout) as { granted: number; spent: number })
    })
  })
  return { end, kill: () => child?.kill('SIGKILL') ?? false }
}
