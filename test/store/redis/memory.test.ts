import { expect, it } from 'vitest'
import { LEAST_MEMORY, pauseShare, shareOf, stopShare } from '../../../src/store/redis/memory.ts'

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

it.each([
  ['nothing is known of', null, 0.9],
  ['of 1 GB: as it is set', 1e9, 0.9],
  ['of 640 MB', 640e6, 0.9],
  ['of 256 MB', 256e6, 0.75],
  ['of 90 MB', 90e6, 26 / 90],
  ['of the least memory', LEAST_MEMORY, 0.25],
  ['of less', 10e6, 0.25],
])('intake pauses where enough is left free: %s', (_, most, share) => {
  expect(pauseShare(0.9, most)).toBeCloseTo(share, 12)
  expect(pauseShare(0.2, most)).toBe(0.2)
})

it.each([
  ['as it is set', 0.95, 0.9, 0.95],
  ['later than that: half of what is left free is left', 0.99, 0.9, 0.95],
  ['of 256 MB: with 32 MB free', 0.95, pauseShare(0.9, 256e6), 0.875],
  ['never before it pauses at all', 0.5, 0.9, 0.9],
])('intake pauses whoever holds what: %s', (_, setting, pause, stop) => {
  expect(stopShare(setting, pause)).toBeCloseTo(stop, 12)
})
