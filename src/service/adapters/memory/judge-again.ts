import type { JudgeAgainStore } from '../../ports/judge-again.ts'
import { askAgain, revive, turnAt } from '../../threads/judge-again.ts'
import type { ThreadTable } from './thread-table.ts'

/** The steps of `gavel judge-again` on threads in memory, of which none is ever forgotten. */
export function memoryJudgeAgain(threads: ThreadTable): JudgeAgainStore {
  const runs = new Map<string, number>()
  let nextTurn = 0
  return {
    ask: async (ref, asked, now) => threads.step(ref, (thread) => askAgain(thread, asked, now)),
    watch: async () => {},
    revive: async (remembered, again, now) =>
      threads.step(remembered.ref, (thread) => revive(thread, remembered, again, now)),
    async turn(verdicts, perSecond, now) {
      const at = turnAt(nextTurn, now)
      nextTurn = at + (verdicts * 1_000) / perSecond
      return Math.max(0, at - now)
    },
    begun: async (name) => runs.get(name) ?? null,
    async begin(name, until) {
      const begun = runs.get(name) ?? until
      runs.set(name, begun)
      return begun
    },
    async finish(name) {
      runs.delete(name)
    },
  }
}
