import type { ThreadRules } from '../ports/threads.ts'
import type { Step, Thread } from './thread.ts'

/** Below every time of the stream, in the order in which threads became due: `now` is wall time, ms. */
export function atOnce(now: number): number {
  return now - 1e15
}

/**
 * Due at once. A thread that already is keeps its turn, and the time since when it waits; the generation is raised all the
 * same, so that an opener that read the thread before leaves it due.
 */
export function dueNow(thread: Thread, now: number): Thread {
  return {
    ...thread,
    due: Math.min(atOnce(now), thread.due ?? Number.POSITIVE_INFINITY),
    dueSince: thread.dueSince ?? now,
    generation: thread.generation + 1,
  }
}

/** Due at once where more count checkpoints have been passed. What is more than its author's share passes none. */
export function passCounts(thread: Thread, now: number, { counts }: Pick<ThreadRules, 'counts'>): Thread {
  const passed = counts.filter((count) => thread.accepted - thread.overAuthor >= count).length
  return passed <= thread.countStage ? thread : dueNow({ ...thread, countStage: passed }, now)
}

/** A protocol that was paused or off is on again: what waited for it is due at once. Nothing is, where there is no post. */
export function wake(thread: Thread, now: number): Step<'woken' | 'gone'> {
  if (thread.post === null) return { thread, outcome: 'gone' }
  return { thread: dueNow(thread, now), outcome: 'woken' }
}
