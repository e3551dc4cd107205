import type { Answers } from '../../ports/answers.ts'
import type { CaseStore, Outbox } from '../../ports/cases.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DecisionStore } from '../../ports/decisions.ts'
import type { Erasures } from '../../ports/erasures.ts'
import type { JudgeAgainStore } from '../../ports/judge-again.ts'
import type { StreamMarks, ThreadStore } from '../../ports/threads.ts'
import type { Webhooks } from '../../ports/webhooks.ts'
import { memoryAnswers } from './answers.ts'
import type { CaseTable } from './case-table.ts'
import { memoryCases } from './cases.ts'
import { memoryDecisions } from './decisions.ts'
import { memoryErasures } from './erasures.ts'
import { memoryJudgeAgain } from './judge-again.ts'
import { memoryMarks } from './marks.ts'
import { memoryOutbox, outboxEntries } from './outbox.ts'
import { threadTable } from './thread-table.ts'
import { memoryThreads } from './threads.ts'
import { memoryWebhooks } from './webhooks.ts'

/**
 * The stores in memory: the same promises within one process. For judging a file without servers, and for quick tests.
 * The rules of a thread are in `src/service/threads/`; these stores apply them and keep the results.
 */
export function memoryStores(
  clock: Clock,
  threads = threadTable(),
): {
  threads: ThreadStore
  cases: CaseStore
  outbox: Outbox
  marks: StreamMarks
  erasures: Erasures
  judgeAgain: JudgeAgainStore
  answers: Answers
  webhooks: Webhooks
  decisions: DecisionStore
} {
  const cases: CaseTable = new Map()
  const entries = outboxEntries(clock)
  const erasures = memoryErasures(cases, clock)
  const answers = memoryAnswers(clock)
  const webhooks = memoryWebhooks(clock, ({ ref, from: { entry, caseId } }) => {
    const kept = cases.get(caseId)
    if (entries.has(entry) && (kept === undefined || !erasures.isWithheld(kept))) return 'whole'
    return (threads.find(ref)?.status ?? 'deleted') === 'deleted' ? 'nothing' : 'bare'
  })
  return {
    threads: memoryThreads(threads, cases, entries, erasures, answers, webhooks),
    cases: memoryCases(cases, threads, entries, erasures, clock),
    outbox: memoryOutbox(entries, cases, threads, erasures, clock),
    marks: memoryMarks(),
    erasures,
    judgeAgain: memoryJudgeAgain(threads),
    answers,
    webhooks,
    decisions: memoryDecisions(threads, cases, entries),
  }
}
