import { classOfRequest } from '../contracts/facts/service-class.ts'
import type { Answers } from '../contracts/ports/answers.ts'
import { atOnce } from '../platform/at-once.ts'
import { RequestRefused } from './problem.ts'

/** Most requests that wait at a time, in this process, and of one tenant. */
export interface WaiterLimits {
  readonly waiting: number
  readonly waitingPerTenant: number
}

/** Counts who waits, in all and by tenant. Throws the problem of too many. */
export function waitersOf({ waiting, waitingPerTenant }: WaiterLimits) {
  const enter = atOnce(waiting, waitingPerTenant)
  return {
    enter(tenant: string, waits = true): () => void {
      if (!waits) return () => {}
      const leave = enter(tenant)
      if (leave === null) throw new RequestRefused('waiting', 'too many requests wait for an answer', { retryAfter: 2 })
      return leave
    },
  }
}

/** So long a question counts that nobody waits for any more, in ms: a protocol that is paused must not close its tenant's door. */
const COUNTED_MS = 60_000

/**
 * Counts questions that are served as such for which somebody waits, though nobody does any more: one could be asked after the
 * other, and left.
 */
export function openQuestions(answers: Pick<Answers, 'read' | 'changed'>) {
  const open = new Map<string, () => void>()
  return {
    /** Whoever waits for it again is counted instead. */
    waitedFor(id: string): void {
      open.get(id)?.()
    },
    /** Calls `done` when all its verdicts are there or it was dropped, and when the door closes. */
    async left(tenant: string, id: string, closing: AbortSignal, done: () => void): Promise<void> {
      if (classOfRequest(id) === 'rest' || open.has(id)) return done()
      const over = new AbortController()
      const end = () => {
        // Another one may be counted under its id by now.
        if (open.get(id) === end && open.delete(id)) done()
        over.abort()
      }
      open.set(id, end)
      const signal = AbortSignal.any([over.signal, closing, AbortSignal.timeout(COUNTED_MS)])
      try {
        while (!signal.aborted) {
          // Waited for before it is read: what comes in between is heard.
          const changed = answers.changed(id, signal)
          const answer = await answers.read(tenant, id, { transcripts: false })
          if (answer === null || answer.erased || answer.verdicts.size >= answer.protocols.length) break
          await changed
        }
      } catch {
        // A store that does not answer takes no questions either.
      } finally {
        end()
      }
    },
  }
}
