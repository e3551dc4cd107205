import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import { MOST_TWINS, type Stories, stories } from '../../judging/threads/story.ts'
import { dueWithoutHeadStart, newThread, type Thread, type ThreadStep } from '../../judging/threads/thread.ts'

/** All threads by name, and the due ones. */
export interface ThreadTable {
  /** Null for a thread that was never written to, or was forgotten. */
  find(ref: ThreadRef): Thread | null
  /** Applies a rule to the thread (an empty one if there is none) and keeps the result. */
  step<Outcome>(ref: ThreadRef, rule: (thread: Thread) => ThreadStep<Outcome, Thread | null>): Outcome
  all(): readonly Thread[]
  /** Tells the thread's story of a verdict on it. */
  tell(ref: ThreadRef, protocol: string, verdict: Parameters<Stories['tell']>[2]): ReturnType<Stories['tell']>
  /** `since`: when it is due, without its head start. */
  due(): readonly { readonly ref: ThreadRef; readonly at: number; readonly since: number }[]
}

export function nameOf({ kind, tenant, postId }: ThreadRef): string {
  return `${kind}:${tenant}:${postId}`
}

export function threadTable(): ThreadTable {
  const threads = new Map<string, Thread>()
  const told = stories()
  const due = new Map<string, { ref: ThreadRef; at: number; since: number }>()

  function put(name: string, thread: Thread | null): void {
    told.follow(threads.get(name) ?? null, thread)
    if (thread === null) threads.delete(name)
    else threads.set(name, thread)
    if (thread === null || thread.due === null) due.delete(name)
    else due.set(name, { ref: thread.ref, at: thread.due, since: dueWithoutHeadStart(thread.due, thread) })
  }

  return {
    find: (ref) => threads.get(nameOf(ref)) ?? null,
    step(ref, rule) {
      const name = nameOf(ref)
      const before = threads.get(name) ?? newThread(ref)
      const { thread, outcome } = rule(before)
      // A rule that changes nothing returns the same thread: an empty one is not stored then.
      if (thread !== before) put(name, thread)
      return outcome
    },
    tell: (ref, protocol, verdict) => told.tell(threads.get(nameOf(ref)) ?? newThread(ref), protocol, verdict),
    all: () => [...threads.values()],
    due: () => [...due.values()],
  }
}

/** Threads of the same story. */
export function memoryTwins(threads: ThreadTable): Pick<ThreadStore, 'twins'> {
  const noted = new Map<string, readonly { readonly ref: ThreadRef; readonly rank: number }[]>()
  return {
    async twins(ref, rank) {
      const story = threads.find(ref)?.story ?? null
      if (story === null) return []
      const [name, own] = [`${ref.tenant}:${story}`, nameOf(ref)]
      const before = (noted.get(name) ?? []).filter(
        (one) => nameOf(one.ref) !== own && threads.find(one.ref)?.story === story,
      )
      const kept = [...before, { ref, rank }].toSorted((a, b) => a.rank - b.rank).slice(0, MOST_TWINS)
      noted.set(name, kept)
      return kept.flatMap((one) => (nameOf(one.ref) === own ? [] : [one.ref]))
    },
  }
}
