import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { AskGroup, StageQueues } from '../../contracts/ports/stage-queues.ts'
import type { PendingAsks } from './pending.ts'

/** Cases looked at in one step. */
const AT_ONCE = 500

/**
 * Gives a job to open cases that nobody has touched for `idleMs` and that nothing would continue, so that a lost job
 * strands no case. Pages through the idle cases, longest untouched first, and then starts over, so that those that do
 * have a job don't block the rest.
 */
export function reconciler(deps: {
  cases: Pick<CaseStore, 'idle'>
  queues: Pick<StageQueues, 'stranded' | 'push'>
  pending: PendingAsks
  report: Report
  idleMs: number
}) {
  const { cases, queues, pending, report, idleMs } = deps
  let looked = 0

  /** A case that can't be read keeps no other from being found. */
  const pendingOf = (caseId: string) =>
    pending(caseId).catch((error: unknown) => {
      report('error', { where: 'reconciler', error, caseId })
      return null
    })

  return async function reconcile(): Promise<number> {
    const idle = await cases.idle(idleMs, AT_ONCE, looked)
    // Most idle cases wait for their turn, and have a job of their own.
    const jobless = idle.length === 0 ? [] : await queues.stranded(idle.map((caseId) => ({ caseId, groups: [] })))
    const waiting: { caseId: string; groups: readonly AskGroup[] }[] = []
    for (const caseId of jobless) {
      const groups = await pendingOf(caseId)
      if (groups !== null) waiting.push({ caseId, groups })
    }
    const found = waiting.length === 0 ? [] : await queues.stranded(waiting)
    // One that somebody has taken since was between two jobs.
    const still = new Set(found.length === 0 ? [] : await cases.idle(idleMs, AT_ONCE, looked))
    const stranded = found.filter((caseId) => still.has(caseId))
    await queues.push(stranded)
    // Cases that got a job leave the list, so others move up into the page that was just read: the next pass finds
    // them.
    looked = idle.length < AT_ONCE ? 0 : looked + AT_ONCE
    for (const caseId of stranded) report('case:revived', { caseId })
    return stranded.length
  }
}
