import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { Clock } from '../../contracts/ports/clock.ts'

/** How long a thread is skipped after it could not be opened, in ms: doubles with each failure in a row, up to `max`. */
const BACKOFF_MS = { initial: 1_000, max: 60_000 }
/** Most threads that back off at once: the opener reads this many more due threads, so that it can skip these. */
const MOST_BACKED_OFF = 1_000

/**
 * Threads that are skipped for a while because they could not be opened, so that they block no others. Known only to
 * this process.
 */
export function threadBackoff(clock: Clock) {
  /** By thread: until when it is skipped, and how often in a row it has failed. */
  const backoffByThread = new Map<string, { until: number; failures: number }>()
  return {
    /** How many there are, including those that may be tried again but have not been opened since. */
    count: () => backoffByThread.size,
    has: (ref: ThreadRef, now: number) => (backoffByThread.get(nameOf(ref))?.until ?? 0) > now,
    opened(ref: ThreadRef): void {
      backoffByThread.delete(nameOf(ref))
    },
    failed(ref: ThreadRef): void {
      const name = nameOf(ref)
      const failures = (backoffByThread.get(name)?.failures ?? 0) + 1
      const ms = Math.min(BACKOFF_MS.max, BACKOFF_MS.initial * 2 ** (failures - 1))
      backoffByThread.delete(name)
      backoffByThread.set(name, { until: clock() + ms, failures })
      for (const oldest of backoffByThread.keys()) {
        if (backoffByThread.size <= MOST_BACKED_OFF) break
        backoffByThread.delete(oldest)
      }
    },
  }
}

/** The thread's name in maps. */
export function nameOf({ tenant, kind, postId }: ThreadRef): string {
  return `${kind} ${postId} of ${tenant}`
}
