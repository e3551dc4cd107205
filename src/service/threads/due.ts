import type { ThreadRules } from '../ports/threads.ts'
import type { Step, Thread } from './thread.ts'

/** A due time below all stream times; these sort by when the threads became due. `now` is wall time, ms. */
export function atOnce(now: number): number {
  return now - 1e15
}

/**
 * Makes the thread due at once. If it already is, it keeps its turn and the time since when it has waited. The
 * generation rises anyway, so that an opener that read the thread before leaves it due.
 */
export function dueNow(thread: Thread, now: number): Thread {
  return {
    ...thread,
    due: Math.min(atOnce(now), thread.due ?? Number.POSITIVE_INFINITY),
    dueSince: thread.dueSince ?? now,
    generation: thread.generation + 1,
  }
}

/**
 * Makes the thread due at once if it has passed more count checkpoints; comments beyond an author's share don't count.
 */
export function passCounts(thread: Thread, now: number, { counts }: Pick<ThreadRules, 'counts'>): Thread {
  const passed = counts.filter((count) => thread.accepted - thread.overAuthor >= count).length
  return passed <= thread.countStage ? thread : dueNow({ ...thread, countStage: passed }, now)
}

/** A protocol that was paused or off is on again: a thread that waited for it is due at once, unless it has no post. */
export function wake(dormant: Thread, protocol: string, now: number): Step<'woken' | 'gone'> {
  const thread = { ...dormant, dormantFor: dormant.dormantFor.filter((other) => other !== protocol) }
  if (thread.post === null) return { thread, outcome: 'gone' }
  return { thread: dueNow(thread, now), outcome: 'woken' }
}
