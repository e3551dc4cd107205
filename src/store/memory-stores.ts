import type { Answers } from '../contracts/ports/answers.ts'
import type { CaseStore, Outbox } from '../contracts/ports/cases.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { DecisionStore } from '../contracts/ports/decisions.ts'
import type { Erasures } from '../contracts/ports/erasures.ts'
import type { JudgeAgainStore } from '../contracts/ports/judge-again.ts'
import type { StreamMark, StreamMarks, ThreadStore } from '../contracts/ports/threads.ts'
import { KEEP_DELIVERY_MS, type Webhooks } from '../contracts/ports/webhooks.ts'
import { askAgain, revive, turnAt } from '../judging/threads/judge-again.ts'
import { memoryAnswers } from './answer/memory.ts'
import { keptBytes } from './answer/memory-kept.ts'
import { memoryCases } from './case/memory.ts'
import type { CaseTable } from './case/memory-table.ts'
import { memoryDecisions } from './decision/memory.ts'
import { memoryErasures } from './erasure/memory.ts'
import { memoryOutbox, outboxEntries } from './outbox/memory.ts'
import { memoryThreads } from './thread/memory.ts'
import { nameOf, type ThreadTable, threadTable } from './thread/memory-table.ts'
import { memoryWebhooks } from './webhook/memory.ts'

/**
 * The stores in memory: the same promises within one process. For judging a file without servers, and for quick tests.
 * The rules of a thread are in `src/judging/threads/`; these stores apply them and keep the results.
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
  const kept = keptBytes(threads, (tenant) => webhooks.heldBy(tenant))
  const answers = memoryAnswers(clock, kept)
  const leftOf: Parameters<typeof memoryWebhooks>[1] = ({ ref, from: { entry, caseId } }) => {
    const kept = cases.get(caseId)
    if (entries.has(entry) && (kept === undefined || !erasures.isWithheld(kept))) return 'whole'
    return (threads.find(ref)?.status ?? 'deleted') === 'deleted' ? 'nothing' : 'bare'
  }
  const webhooks = memoryWebhooks(clock, leftOf, KEEP_DELIVERY_MS, (tenant) => kept.sum(tenant, clock()))
  return {
    threads: memoryThreads(threads, cases, entries, erasures, answers, webhooks, kept),
    cases: memoryCases(cases, threads, entries, erasures, clock),
    outbox: memoryOutbox(entries, cases, threads, erasures, clock, {
      isAnswered: answers.isComplete,
      forget: (ref) => kept.forget(ref.tenant, nameOf(ref)),
    }),
    marks: memoryMarks(),
    erasures,
    judgeAgain: memoryJudgeAgain(threads),
    answers,
    webhooks,
    decisions: memoryDecisions(threads, cases, entries, kept),
  }
}

/** How far the stream has been read, in memory. */
function memoryMarks(): StreamMarks {
  let marks: ReadonlyMap<string, StreamMark> = new Map()
  return {
    read: async () => marks,
    async write(changed) {
      marks = new Map([...marks, ...changed])
    },
  }
}

/** The steps of `gavel judge-again` on threads in memory, of which none is ever forgotten. */
function memoryJudgeAgain(threads: ThreadTable): JudgeAgainStore {
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
