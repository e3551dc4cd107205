import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { AskGroup } from '../../contracts/ports/stage-queues.ts'
import { groupsOf } from './ask-groups.ts'
import { prepared } from './prepared.ts'
import { replayCase } from './replay-case.ts'
import type { Protocol } from './script.ts'
import { isLeftToOtherVersion, otherVersion, protocolOf } from './versions.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/**
 * The asks that an open case waits for; none if it is to be advanced. Null if this process has nothing to do with the
 * case: it is not open, or is left to processes with its own versions.
 */
export type PendingAsks = (caseId: string) => Promise<readonly AskGroup[] | null>

/** What open cases wait for, without taking them over. */
export function pendingAsks(deps: {
  protocols: ReadonlyMap<string, Protocol>
  cases: Pick<CaseStore, 'peek' | 'isOpen'>
  scripts: WaitingScripts
  clock: Clock
  report: Report
  settings: { readonly maxTakeovers: number; readonly handBack: number }
}): PendingAsks {
  const { protocols, cases, scripts, clock, settings } = deps
  return async (caseId) => {
    const waiting = scripts.of(caseId)
    const [first] = waiting?.open.keys() ?? []
    // What waits in memory need not be read, unless the case has gone on without this process.
    if (waiting !== undefined && first !== undefined && (await cases.isOpen(caseId, waiting.run, first)))
      return groupsOf(waiting, { at: 'round', asked: waiting.progress.asked, open: [...waiting.open.values()] })
    const taken = await cases.peek(caseId)
    const protocol = taken === null ? undefined : protocolOf(protocols, taken.record)
    if (taken === null || protocol === undefined) return null
    if (isLeftToOtherVersion(taken.record, protocol, clock(), settings.handBack)) return null
    if (otherVersion(taken.record.versions, protocol) !== undefined) return []
    // Not kept in memory: a case that is idle is not in progress.
    await prepared(protocol, taken.record.subject)
    const { replayState } = replayCase(protocol, taken, undefined, deps)
    return replayState.at === 'end' ? [] : groupsOf(taken, replayState)
  }
}
