import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { redisClock } from '../../../src/store/redis/clock.ts'

/** A Redis whose time is `ahead` ms before this machine's. */
function clockBeside(ahead: { ms: number }) {
  const real = Date.now
  return redisClock({
    time: async () => {
      const now = real() + ahead.ms
      return [Math.floor(now / 1000), (now % 1000) * 1000]
    },
  })
}

describe('the time that all processes share', () => {
  it('is Redis’s, whatever this machine says', async () => {
    const { now, sync } = clockBeside({ ms: 3_600_000 })
    await sync()
    expect(now() - Date.now()).toBeGreaterThan(3_600_000 - 500)
    expect(now() - Date.now()).toBeLessThan(3_600_000 + 500)
  })

  it('does not jump where the answer alone took long', async () => {
    const { now, sync } = redisClock({
      time: async () => {
        const asked = Date.now()
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        return [Math.floor(asked / 1000), (asked % 1000) * 1000]
      },
    })
    const before = now() - performance.now()
    await sync()
    expect(Math.abs(now() - performance.now() - before)).toBeLessThan(100)
  })

  it('does not jump when this machine’s wall clock does', async () => {
    const { now, sync } = clockBeside({ ms: 0 })
    await sync()
    const before = now()
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_600_000)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(now() - before).toBeLessThan(1_000)
    await sync()
    expect(now() - before).toBeLessThan(1_000)
  })

  it('follows Redis’s when that jumps, and not every millisecond of it', async () => {
    const ahead = { ms: 0 }
    const { now, sync } = clockBeside(ahead)
    await sync()
    const offBy = () => Math.abs(now() - Date.now())
    ahead.ms = 100
    await sync()
    expect(offBy()).toBeLessThan(60)
    ahead.ms = -60_000
    await sync()
    expect(now() - Date.now()).toBeLessThan(-59_000)
  })
})
