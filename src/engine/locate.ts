import type { CaseRecord } from '../domain/case.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { StagedAsk } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { KeyedAsk } from './replay.ts'
import { replayCase } from './replay-case.ts'
import type { Protocol } from './script.ts'
import { otherVersion } from './versions.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/**
 * What a job of a stage queue points to: an open question; nothing, because the ask has been answered or the case has
 * ended or restarted (`stale`); or something that only a process with the case's own versions can find.
 */
type Located =
  | { readonly at: 'open'; readonly asked: KeyedAsk; readonly record: CaseRecord }
  | { readonly at: 'stale' }
  | { readonly at: 'other-version' }

/** Finds the questions that jobs point to, in memory or by replaying the case. */
export function locator(deps: {
  protocols: ReadonlyMap<string, Protocol>
  cases: Pick<CaseStore, 'peek' | 'isCurrent'>
  scripts: WaitingScripts
  report: Report
  settings: { readonly maxTakeovers: number }
}): (staged: StagedAsk) => Promise<Located> {
  const { protocols, cases, scripts } = deps
  return async ({ caseId, run, key, protocol: name }) => {
    const waiting = scripts.of(caseId)
    const known = waiting?.open.get(key)
    if (waiting?.run === run && known !== undefined) {
      // The subject may have been deleted, or the case restarted without a deleted comment: those words must not be
      // sent any more.
      if (await cases.isCurrent(caseId, run)) return { at: 'open', asked: known, record: waiting.record }
      scripts.forget(caseId)
      return { at: 'stale' }
    }
    const taken = await cases.peek(caseId)
    const protocol = protocols.get(name)
    if (taken === null || protocol === undefined || taken.run !== run) return { at: 'stale' }
    if (otherVersion(taken.record.versions, protocol) !== undefined) return { at: 'other-version' }
    const { replayState, progress } = replayCase(protocol, taken, undefined, deps)
    if (replayState.at === 'end') return { at: 'stale' }
    scripts.keep(taken, progress, replayState.open)
    const asked = replayState.open.find((one) => one.key === key)
    return asked === undefined ? { at: 'stale' } : { at: 'open', asked, record: taken.record }
  }
}
