import type { CaseStore } from '../ports/cases.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'

/** Cases looked at in one step. */
const AT_ONCE = 500

/**
 * Gives a job to open cases that nobody touched for `idleMs` and that have none: a lost job strands no case. Each step looks
 * at the next of them, the longest untouched first, and after the last begins again: those that can't be helped hide no other.
 */
export function reconciler(deps: { cases: CaseStore; queues: StageQueues; report: Report; idleMs: number }) {
  const { cases, queues, report, idleMs } = deps
  let looked = 0
  return async function reconcile(): Promise<number> {
    const idle = await cases.idle(idleMs, AT_ONCE, looked)
    const stranded = idle.length === 0 ? [] : await queues.stranded(idle)
    await queues.push(stranded)
    // What is helped is taken and leaves its place, so that others move up past this step: the next round comes to them.
    looked = idle.length < AT_ONCE ? 0 : looked + AT_ONCE
    for (const caseId of stranded) report('case:revived', { caseId })
    return stranded.length
  }
}
