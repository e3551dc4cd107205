import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { activity, namedLoops } from '../../src/operations/loop.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const settled = { topic: 'posts', outcome: 'duplicate', count: 1 } as const

/** A loop that runs every 100 ms, and every second while nothing happens; and the times of its runs. */
function looping() {
  const happening = activity()
  const loops = namedLoops(() => {}, happening)
  const runs: number[] = []
  const begun = performance.now()
  const loop = loops.start('opener', 100, async () => void runs.push(Math.round(performance.now() - begun)), 1_000)
  onTestFinished(async () => {
    vi.useRealTimers()
    await loops.close()
  })
  return { happening, loop, runs }
}

it('a loop runs less often once nothing has happened for five seconds', async () => {
  const { runs } = looping()
  await vi.advanceTimersByTimeAsync(4_950)
  expect(runs).toHaveLength(50)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(runs.length - 50).toBeLessThanOrEqual(7)
  expect(runs.length - 50).toBeGreaterThanOrEqual(4)
})

it('it runs as often as before from the moment on at which something happens', async () => {
  const { happening, runs } = looping()
  await vi.advanceTimersByTimeAsync(7_250)
  const before = runs.length
  happening.listen('messages:settled', settled)
  await vi.advanceTimersByTimeAsync(90)
  expect(runs).toHaveLength(before)
  await vi.advanceTimersByTimeAsync(20)
  expect(runs).toHaveLength(before + 1)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toHaveLength(before + 11)
})

it('what happens delays no run that was due anyway', async () => {
  const { happening, runs } = looping()
  await vi.advanceTimersByTimeAsync(7_250)
  const before = runs.length
  await vi.advanceTimersByTimeAsync((runs.at(-1) ?? 0) + 980 - 7_250)
  happening.listen('messages:settled', settled)
  await vi.advanceTimersByTimeAsync(30)
  expect(runs).toHaveLength(before + 1)
})

it('looks that only tell what they have seen are not something that happens', async () => {
  const { happening, runs } = looping()
  for (let second = 0; second < 10; second++) {
    happening.listen('loop:succeeded', { loop: 'opener' })
    happening.listen('store:watched', { memoryShare: 0, lost: false })
    await vi.advanceTimersByTimeAsync(1_000)
  }
  expect(runs.length).toBeLessThan(60)
})

it('a loop that is woken in a quiet time runs at once, and ends at once when stopped', async () => {
  const { loop, runs } = looping()
  await vi.advanceTimersByTimeAsync(7_500)
  const before = runs.length
  loop.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(runs).toHaveLength(before + 1)
  await loop.stop()
  expect(vi.getTimerCount()).toBe(0)
})
