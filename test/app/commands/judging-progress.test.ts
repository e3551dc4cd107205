import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { judgingProgress } from '../../../src/app/commands/judging/judging-progress.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

function progressing(spent: { calls: number; tokens: number; usd: number; ms: number }, inFlight = () => 0) {
  const lines: string[] = []
  return { lines, progress: judgingProgress({ progress: (line) => lines.push(line) }, { spent, inFlight }) }
}

it('says from the first moment how far it is, and then the rate, and what is left of time and money', () => {
  const spent = { calls: 0, tokens: 0, usd: 0, ms: 0 }
  const { lines, progress } = progressing(spent)
  progress.begin('hate')
  expect(lines).toEqual(['hate: reading'])
  progress.left(100, 8)
  vi.advanceTimersByTime(1_000)
  expect(lines.at(-1)).toBe('hate: 0 of 100 judged, 0 calls')
  // Ten whose answers were there: they say nothing of the rate.
  for (let n = 0; n < 10; n++) progress.judged()
  expect(lines.at(-1)).toBe('hate: 10 of 100 judged, 0 calls')
  ;[spent.calls, spent.usd, spent.ms] = [1, 0.001, 1_000]
  vi.advanceTimersByTime(1_000)
  ;[spent.calls, spent.usd, spent.ms] = [81, 0.011, 194_400]
  vi.advanceTimersByTime(59_000)
  for (let n = 0; n < 10; n++) progress.judged()
  vi.advanceTimersByTime(1_000)
  expect(lines.at(-1)).toBe(
    'hate: 20 of 100 judged, 81 calls, 2.4 s a call, $0.0110, 10 a minute, about 8 min and $0.0800 left',
  )
  progress.end()
  const drawn = lines.length
  vi.advanceTimersByTime(10_000)
  expect(lines).toHaveLength(drawn)
})

it('says from the first answer on how long a call takes, and the most time that is left, by the calls that wait at once', () => {
  const spent = { calls: 0, tokens: 0, usd: 0, ms: 0 }
  let waiting = 4
  const { lines, progress } = progressing(spent, () => waiting)
  progress.begin('hate')
  progress.left(100, 8)
  vi.advanceTimersByTime(30_000)
  expect(lines.at(-1)).toBe('hate: 0 of 100 judged, 0 calls')
  ;[spent.calls, spent.ms] = [1, 30_000]
  vi.advanceTimersByTime(1_000)
  // 799 calls of 30 s, four at once.
  expect(lines.at(-1)).toBe('hate: 0 of 100 judged, 1 call, 30 s a call, at most about 1.7 h left')
  ;[spent.calls, spent.ms, waiting] = [8, 240_000, 0]
  progress.left(1, 2)
  vi.advanceTimersByTime(1_000)
  expect(lines.at(-1)).toBe('hate: 0 of 1 judged, 8 calls, 30 s a call, at most about 30 s left')
  // The wait for the first answers is part of the rate.
  progress.left(100, 8)
  vi.advanceTimersByTime(29_000)
  for (let n = 0; n < 2; n++) progress.judged()
  expect(lines.at(-1)).toBe('hate: 2 of 100 judged, 8 calls, 30 s a call, 2.0 a minute, about 49 min left')
  progress.end()
})

it('begins anew with the next protocol', () => {
  const spent = { calls: 5, tokens: 0, usd: 1, ms: 50_000 }
  const { lines, progress } = progressing(spent, () => 1)
  progress.begin('safety (2 of 3)')
  progress.left(2, 1)
  progress.judged()
  expect(lines.at(-1)).toBe('safety (2 of 3): 1 of 2 judged, 5 calls, $1.0000')
  ;[spent.calls, spent.ms] = [6, 50_040]
  vi.advanceTimersByTime(1_000)
  expect(lines.at(-1)).toBe('safety (2 of 3): 1 of 2 judged, 6 calls, 0.0 s a call, $1.0000, at most about 0 s left')
  progress.end()
})
