import type { CaseStore } from '../ports/cases.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'

/** Cases looked at in one step. */
const AT_ONCE = 500

/**
 * Gives a job to open cases that nobody has touched for `idleMs` and that have none, so that a lost job strands no
 * case. Pages through the idle cases, longest untouched first, and then starts over, so that those that do have a job
 * don't block the rest.
 */
export function reconciler(deps: { cases: CaseStore; queues: StageQueues; report: Report; idleMs: number }) {
  const { cases, queues, report, idleMs } = deps
  let looked = 0
  return async function reconcile(): Promise<number> {
    const idle = await cases.idle(idleMs, AT_ONCE, looked)
    const stranded = idle.length === 0 ? [] : await queues.stranded(idle)
    await queues.push(stranded)
    // Cases that got a job leave the list, so others move up into the page that was just read: the next pass finds
    // them.
    looked = idle.length < AT_ONCE ? 0 : looked + AT_ONCE
    for (const caseId of stranded) report('case:revived', { caseId })
    return stranded.length
  }
}
