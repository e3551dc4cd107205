import { expect, it } from 'vitest'
import { shareOf } from '../../../src/store/redis/checks.ts'

const info = (fields: Record<string, number>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('')

it.each([
  ['a limit: its share of that', { used_memory: 600, maxmemory: 1_000, total_system_memory: 8_000 }, 0.6],
  [
    'no limit: its share of the machine’s memory',
    { used_memory: 600, maxmemory: 0, total_system_memory: 8_000 },
    0.075,
  ],
  [
    'buffers that the limit does not count',
    { used_memory: 600, mem_not_counted_for_evict: 100, maxmemory: 1_000, total_system_memory: 8_000 },
    0.5,
  ],
  ['neither told', { used_memory: 600 }, 0],
])('Redis with %s', (_, fields, share) => {
  expect(shareOf(info(fields))).toBeCloseTo(share, 12)
})
