import type { JudgeAgainStore } from '../../ports/judge-again.ts'
import { askAgain, revive } from '../../threads/judge-again.ts'
import type { ThreadTable } from './thread-table.ts'

/** The steps of `gavel judge-again` on threads in memory, of which none is ever forgotten. */
export function memoryJudgeAgain(threads: ThreadTable): JudgeAgainStore {
  const runs = new Map<string, number>()
  return {
    ask: async (ref, asked, now) => threads.step(ref, (thread) => askAgain(thread, asked, now)),
    watch: async () => {},
    revive: async (remembered, again, now) =>
      threads.step(remembered.ref, (thread) => revive(thread, remembered, again, now)),
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
