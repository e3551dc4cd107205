import type { CaseStore } from '../ports/cases.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'

/** Cases looked at in one step. */
const AT_ONCE = 500

/**
 * Gives a job to open cases that nobody touched for `idleMs` and that have none, so that a lost job strands no case. Each step
 * looks at the next of them, the longest untouched first, and goes back to the first after the last: those that have a job hide
 * no others.
 */
export function reconciler(deps: { cases: CaseStore; queues: StageQueues; report: Report; idleMs: number }) {
  const { cases, queues, report, idleMs } = deps
  let looked = 0
  return async function reconcile(): Promise<number> {
    const idle = await cases.idle(idleMs, AT_ONCE, looked)
    const stranded = idle.length === 0 ? [] : await queues.stranded(idle)
    await queues.push(stranded)
    // Cases that got a job leave the list, and others move up into the part that was looked at: the next pass finds them.
    looked = idle.length < AT_ONCE ? 0 : looked + AT_ONCE
    for (const caseId of stranded) report('case:revived', { caseId })
    return stranded.length
  }
}
