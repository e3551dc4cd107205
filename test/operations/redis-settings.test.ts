import { expect, it } from 'vitest'
import { redisSettingsWatch } from '../../src/operations/redis-faults.ts'
import type { RedisFinding } from '../../src/store/redis/checks.ts'

const FINE: RedisFinding = { what: 'Redis', state: 'ok', detail: 'version 8' }
const EVICTS: RedisFinding = {
  what: 'Redis',
  state: 'broken',
  fault: 'eviction',
  detail: 'may evict keys',
  todo: 'Set maxmemory-policy.',
}
const SPLIT: RedisFinding = { what: 'Redis', state: 'broken', fault: 'split', detail: 'takes writes alone' }

function watched() {
  const events: unknown[] = []
  let found: readonly RedisFinding[] = [FINE]
  const watch = redisSettingsWatch({
    find: async () => found,
    first: found,
    report: (name, event) => void events.push([name, event]),
  })
  return {
    watch,
    async becomes(...now: RedisFinding[]) {
      found = now
      events.length = 0
      await watch.poll()
      return events
    },
  }
}

it('a Redis that begins to evict while a service runs is told, and intake reads nothing more until it does not', async () => {
  const { watch, becomes } = watched()
  expect([watch.problem, (await watch.pressure()).share]).toEqual([null, 0])
  const faults = ['eviction']
  expect(await becomes(FINE, EVICTS)).toEqual([
    ['redis:faults', { of: 'settings', faults }],
    ['redis:unsafe', { faults, advice: 'Redis may evict keys. Set maxmemory-policy.' }],
  ])
  expect(watch.problem).toContain('may evict keys')
  expect(await watch.pressure()).toEqual({
    by: 'store-refused',
    share: Number.POSITIVE_INFINITY,
    says: expect.stringContaining('noeviction'),
  })
  // Told once.
  expect(await becomes(FINE, EVICTS)).toEqual([['redis:faults', { of: 'settings', faults }]])
  expect(await becomes(FINE)).toEqual([
    ['redis:faults', { of: 'settings', faults: [] }],
    ['redis:safe', {}],
  ])
  expect([watch.problem, (await watch.pressure()).share]).toEqual([null, 0])
})

it('one that takes writes without a replica is told, and read on for: what is taken is not lost by that', async () => {
  const { watch, becomes } = watched()
  await becomes(SPLIT)
  expect([watch.problem, (await watch.pressure()).share]).toEqual([expect.stringContaining('takes writes alone'), 0])
})
