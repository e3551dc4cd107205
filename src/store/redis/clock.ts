import type { Redis } from 'ioredis'
import type { Clock } from '../../contracts/ports/clock.ts'

/** A smaller difference comes from the round trip or from drift, and is ignored. */
const NOTICED_MS = 250

/**
 * The time shared by all processes, in whole ms since 1970: Redis's own, advanced by this machine's monotonic clock. A
 * wall clock that jumps or is wrong delays no job, makes nothing due and ends no deadline.
 */
export function redisClock(client: Pick<Redis, 'time'>): { readonly now: Clock; sync(): Promise<void> } {
  let epoch = performance.timeOrigin
  const now = () => Math.round(epoch + performance.now())
  return {
    now,
    /** Asks Redis for the time. Call it repeatedly, since monotonic clocks stop while a machine sleeps. */
    async sync() {
      const asked = performance.now()
      const [seconds, micros] = await client.time()
      const there = Number(seconds) * 1000 + Number(micros) / 1000
      const took = performance.now() - asked
      const off = there - (epoch + asked + took / 2)
      // All of it may have been spent on the way there, or on the way back.
      if (Math.abs(off) > NOTICED_MS + took / 2) epoch += off
    },
  }
}
