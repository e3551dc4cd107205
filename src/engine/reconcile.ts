import type { CaseStore } from '../ports/cases.ts'
import type { StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'

/** Cases looked at in one step. */
const AT_ONCE = 500

/**
 * Re-queues open cases that nobody has touched for `idleMs` and that have no job. Each step looks at the next of them,
 * longest untouched first, and starts again after the last: it pages through, so that unfixable cases don't block the
 * rest.
 */
export function reconciler(deps: { cases: CaseStore; queues: StageQueues; report: Report; idleMs: number }) {
  const { cases, queues, report, idleMs } = deps
  let looked = 0
  return async function reconcile(): Promise<number> {
    const idle = await cases.idle(idleMs, AT_ONCE, looked)
    const stranded = idle.length === 0 ? [] : await queues.stranded(idle)
    await queues.push(stranded)
    // A re-queued case is taken and leaves its place, so that later ones move up past this step: the next round finds them.
    looked = idle.length < AT_ONCE ? 0 : looked + AT_ONCE
    for (const caseId of stranded) report('case:revived', { caseId })
    return stranded.length
  }
}
