import type { ThreadRef } from '../domain/thread.ts'
import type { Clock } from '../ports/clock.ts'

/** A thread whose opening failed is left alone for so long, in ms; twice as long after each further failure, up to the most. */
const ALONE_MS = { first: 1_000, most: 60_000 }
/** Most threads that are left alone at once: the opener reads that many more of those that are due, to look past them. */
const MOST_ALONE = 1_000

/**
 * Threads that are left alone for a while because they could not be opened, so that they stop no other. Known to this process
 * alone.
 */
export function leftAlone(clock: Clock) {
  /** By thread: until when it is left alone, and how often in a row it has failed. */
  const alone = new Map<string, { until: number; failures: number }>()
  return {
    /** How many there are, with those whose time is over and that were not opened since. */
    count: () => alone.size,
    has: (ref: ThreadRef, now: number) => (alone.get(nameOf(ref))?.until ?? 0) > now,
    opened(ref: ThreadRef): void {
      alone.delete(nameOf(ref))
    },
    failed(ref: ThreadRef): void {
      const name = nameOf(ref)
      const failures = (alone.get(name)?.failures ?? 0) + 1
      const ms = Math.min(ALONE_MS.most, ALONE_MS.first * 2 ** (failures - 1))
      alone.delete(name)
      alone.set(name, { until: clock() + ms, failures })
      for (const oldest of alone.keys()) {
        if (alone.size <= MOST_ALONE) break
        alone.delete(oldest)
      }
    },
  }
}

/** The thread as the log names it. */
export function nameOf({ tenant, kind, postId }: ThreadRef): string {
  return `${kind} ${postId} of ${tenant}`
}
