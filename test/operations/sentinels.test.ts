import { expect, it } from 'vitest'
import type { Events } from '../../src/contracts/ports/report.ts'
import { sentinelReport } from '../../src/operations/redis-faults.ts'

it('silent sentinels are told of once, and again once when they answer', async () => {
  const told: (keyof Events)[] = []
  let silentMs = 0
  const watch = sentinelReport({
    sentinels: { poll: async () => {}, silentMs: () => silentMs },
    silenceMs: 2_000,
    report: (name) => told.push(name),
  })
  for (const ms of [0, 2_000, 2_001, 9_000]) {
    silentMs = ms
    await watch.poll()
    expect(watch.problem === null).toBe(ms <= 2_000)
  }
  silentMs = 0
  await watch.poll()
  expect(watch.problem).toBeNull()
  expect(told).toEqual(['redis:faults', 'sentinels:silent', 'redis:faults', 'sentinels:answer'])
})
