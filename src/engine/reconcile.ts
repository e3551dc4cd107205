import type { CaseStore } from '../ports/cases.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'

/** Gives a job to open cases that nobody touched for `idleMs` and that have none: a lost job strands no case. */
export function reconciler(deps: { cases: CaseStore; queues: StageQueues; report: Report; idleMs: number }) {
  const { cases, queues, report, idleMs } = deps
  return async function reconcile(): Promise<number> {
    const idle = await cases.idle(idleMs, 500)
    const stranded = idle.length === 0 ? [] : await queues.stranded(idle)
    await queues.push(stranded)
    for (const caseId of stranded) report('case:revived', { caseId })
    return stranded.length
  }
}
