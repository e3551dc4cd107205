import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { nameOf } from './thread-backoff.ts'

/** So often a thread is judged again after its final verdict as soon as it has changed… */
const AT_ONCE = 3
/** …and from then on after a wait that doubles each time, in ms. */
const WAIT_MS = { first: 30_000, longest: 3_600_000 }
/** Most threads that are remembered; the oldest go first. */
const MOST_REMEMBERED = 10_000

/**
 * How long threads that were judged for good wait until they are judged again: an edit costs its author nothing, and what
 * follows from it is some thirty calls. Whatever changes meanwhile is part of the same revision. A thread that has
 * not been judged for two hours begins anew. Known only to this process: several wait less, each as often as it likes.
 */
export function reopenings(clock: Clock) {
  const known = new Map<string, { readonly count: number; readonly at: number }>()
  return {
    /** How long this thread has to wait yet, in ms. */
    waitMs(ref: ThreadRef): number {
      const { count, at } = known.get(nameOf(ref)) ?? { count: 0, at: 0 }
      if (count < AT_ONCE) return 0
      return Math.max(0, at + Math.min(WAIT_MS.longest, WAIT_MS.first * 2 ** (count - AT_ONCE)) - clock())
    },
    /** Notes that it is judged again. */
    reopened(ref: ThreadRef): void {
      const name = nameOf(ref)
      const { count, at } = known.get(name) ?? { count: 0, at: 0 }
      const now = clock()
      known.delete(name)
      known.set(name, { count: now - at >= 2 * WAIT_MS.longest ? 1 : count + 1, at: now })
      for (const oldest of known.keys()) {
        if (known.size <= MOST_REMEMBERED) break
        known.delete(oldest)
      }
    },
  }
}
