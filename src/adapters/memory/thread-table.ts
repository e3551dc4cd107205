import type { ThreadRef } from '../../domain/thread.ts'
import { newThread, type Step, type Thread } from '../../threads/thread.ts'

/** All threads by name, and those that are due. */
export interface ThreadTable {
  /** Null for a thread that nothing was ever written to, or that was forgotten. */
  find(ref: ThreadRef): Thread | null
  /** Runs a rule on the thread, on an empty one where there is none, and keeps what it makes of it. */
  step<Outcome>(ref: ThreadRef, rule: (thread: Thread) => Step<Outcome, Thread | null>): Outcome
  due(): readonly { readonly ref: ThreadRef; readonly at: number }[]
}

export function nameOf({ kind, tenant, postId }: ThreadRef): string {
  return `${kind}:${tenant}:${postId}`
}

export function threadTable(): ThreadTable {
  const threads = new Map<string, Thread>()
  const due = new Map<string, { ref: ThreadRef; at: number }>()

  function put(name: string, thread: Thread | null): void {
    if (thread === null) threads.delete(name)
    else threads.set(name, thread)
    if (thread === null || thread.due === null) due.delete(name)
    else due.set(name, { ref: thread.ref, at: thread.due })
  }

  return {
    find: (ref) => threads.get(nameOf(ref)) ?? null,
    step(ref, rule) {
      const name = nameOf(ref)
      const before = threads.get(name) ?? newThread(ref)
      const { thread, outcome } = rule(before)
      // A rule that changes nothing gives the thread back as it was: an empty one is not kept for that.
      if (thread !== before) put(name, thread)
      return outcome
    },
    due: () => [...due.values()],
  }
}
