import { expect, it } from 'vitest'
import { memoryFindings } from '../../../src/app/commands/doctor-memory.ts'

const settings = { intake: { pauseAtMemory: 0.9, stopAtMemory: 0.95 } } as Parameters<typeof memoryFindings>[0] // The rest is not read.

it.each([
  [0.9, []],
  [0.93, ['docs/runbooks/GavelRedisFull.md']],
  [0.96, ['docs/runbooks/GavelRedisNearFull.md']],
])('of a Redis that uses %s of its memory it is told whether intake pauses, and for whom', (share, told) => {
  const found = memoryFindings(settings, { share, most: 1e9 })
  expect(found.map(({ todo }) => todo?.replace(/^See (.*)\.$/, '$1'))).toEqual(told)
})
