import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { judgingProgress } from '../../../src/app/commands/judging/judging-progress.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

it('says from the first moment how far it is, and then the rate, and what is left of time and money', () => {
  const lines: string[] = []
  const spent = { calls: 0, tokens: 0, usd: 0 }
  const progress = judgingProgress({ progress: (line) => lines.push(line) }, spent)
  progress.begin('hate')
  expect(lines).toEqual(['hate: reading'])
  progress.left(100)
  vi.advanceTimersByTime(1_000)
  expect(lines.at(-1)).toBe('hate: 0 of 100 judged, 0 calls')
  // Ten whose answers were there: they say nothing of the rate.
  for (let n = 0; n < 10; n++) progress.judged()
  expect(lines.at(-1)).toBe('hate: 10 of 100 judged, 0 calls')
  ;[spent.calls, spent.usd] = [1, 0.001]
  vi.advanceTimersByTime(1_000)
  ;[spent.calls, spent.usd] = [81, 0.011]
  vi.advanceTimersByTime(59_000)
  for (let n = 0; n < 10; n++) progress.judged()
  vi.advanceTimersByTime(1_000)
  expect(lines.at(-1)).toBe('hate: 20 of 100 judged, 81 calls, $0.0110, 10 a minute, about 8 min and $0.0800 left')
  progress.end()
  const drawn = lines.length
  vi.advanceTimersByTime(10_000)
  expect(lines).toHaveLength(drawn)
})

it('begins anew with the next protocol', () => {
  const lines: string[] = []
  const spent = { calls: 5, tokens: 0, usd: 1 }
  const progress = judgingProgress({ progress: (line) => lines.push(line) }, spent)
  progress.begin('safety (2 of 3)')
  progress.left(2)
  progress.judged()
  expect(lines.at(-1)).toBe('safety (2 of 3): 1 of 2 judged, 5 calls, $1.0000')
  progress.end()
})
