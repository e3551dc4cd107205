import type { Settings } from '../../config/schema.ts'
import { longestCaseMs } from '../judging/engine/deadline.ts'
import type { KeepTimes } from '../store/redis-stores.ts'

/** How long the stores keep things, in ms. */
export function keepTimes({ threads, cases, door, checkpoints, memo, traces }: Settings): KeepTimes {
  const longestCase = longestCaseMs(cases)
  return {
    keepTombstoneMs: threads.keepTombstone,
    keepAfterFinalMs: threads.keepAfterFinal,
    keepAskedMs: longestCase + Math.max(door.keepAnswers, memo.keep),
    keepShownMs: longestCase + Math.max(cases.keepJournal, memo.keep),
    keepJournalMs: cases.keepJournal,
    keepAnswersMs: door.keepAnswers,
    keepLinksMs: traces.endpoint === '' ? null : checkpoints.finalAge + threads.keepAfterFinal,
  }
}
