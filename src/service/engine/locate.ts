import type { CaseRecord, Journal } from '../domain/case.ts'
import type { CaseStore } from '../ports/cases.ts'
import type { StagedAsk } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import { prepared } from './prepared.ts'
import type { KeyedAsk } from './replay.ts'
import { replayCase } from './replay-case.ts'
import type { Protocol } from './script.ts'
import { otherVersion } from './versions.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/**
 * What an ask of a stage queue points to: an open question; nothing, because the ask has been answered or the case has
 * ended or restarted (`stale`); or something that only a process with the case's own versions can find.
 */
export type Located =
  /**
   * `answersInRound`: how many answers the journal has when nothing of the round is open any more. `isOpen`: whether that
   * still holds, where the question was known without reading the case.
   */
  | {
      readonly at: 'open'
      readonly asked: KeyedAsk
      readonly record: CaseRecord
      readonly answersInRound: number
      readonly isOpen?: Promise<boolean>
      /** Whether the case was shown content of other subjects, which may be deleted. */
      readonly wasShown: boolean
    }
  /** `roundEnded`: no ask of its round is open, or the case has restarted, and perhaps nobody has advanced it since. */
  | { readonly at: 'stale'; readonly roundEnded: boolean }
  | { readonly at: 'other-version'; readonly record: CaseRecord; readonly protocol: Protocol }

const GONE: Located = { at: 'stale', roundEnded: false }

/** Finds the questions that jobs point to, in memory or by replaying the case. */
export function locator(deps: {
  protocols: ReadonlyMap<string, Protocol>
  cases: Pick<CaseStore, 'peek' | 'isOpen'>
  scripts: WaitingScripts
  report: Report
  settings: { readonly maxTakeovers: number }
}): (staged: StagedAsk) => Promise<Located> {
  const { protocols, cases, scripts } = deps
  const beingFound = new Map<string, Promise<void>>()
  const locate = async ({ caseId, run, key, protocol: name }: StagedAsk): Promise<Located> => {
    const waiting = scripts.of(caseId)
    const known = waiting?.open.get(key)
    if (waiting?.run === run && known !== undefined) {
      const { record, progress } = waiting
      // The subject may have been deleted, or the case restarted without a deleted comment: those words must not be
      // sent any more. And what another worker has answered is not asked again. The memo is asked meanwhile.
      const isOpen = cases.isOpen(caseId, run, key)
      // Where nothing has to be sent nobody waits for it.
      isOpen.catch(() => {})
      return {
        at: 'open',
        asked: known,
        record,
        answersInRound: progress.asked.length,
        isOpen,
        wasShown: wasShown(waiting.journal),
      }
    }
    const taken = await cases.peek(caseId)
    const protocol = protocols.get(name)
    if (taken === null || protocol === undefined) return GONE
    // Only while nobody has taken the restarted case: each of many jobs would take it over.
    if (taken.run !== run) return { at: 'stale', roundEnded: taken.epoch === taken.record.restartedAtEpoch }
    const { record } = taken
    if (otherVersion(record.versions, protocol) !== undefined) return { at: 'other-version', record, protocol }
    await prepared(protocol, record.subject)
    const { replayState, progress } = replayCase(protocol, taken, undefined, deps)
    if (replayState.at === 'end') return { at: 'stale', roundEnded: true }
    const { asked, open } = replayState
    scripts.keep(taken, progress, open)
    const found = open.find((one) => one.key === key)
    if (found !== undefined)
      return { at: 'open', asked: found, record, answersInRound: asked.length, wasShown: wasShown(taken.journal) }
    return { at: 'stale', roundEnded: open.every(({ round }) => round !== roundOf(asked, key)) }
  }

  return async (staged) => {
    const { caseId } = staged
    // Of the many jobs of a giant thread's round one reads and replays the case; the others find it in memory.
    const first = beingFound.get(caseId)
    if (first !== undefined) {
      await first
      return locate(staged)
    }
    const located = locate(staged)
    beingFound.set(
      caseId,
      located.then(
        () => {},
        () => {},
      ),
    )
    try {
      return await located
    } finally {
      beingFound.delete(caseId)
    }
  }
}

function wasShown(journal: Journal): boolean {
  return [...journal.values()].some(({ shown = [] }) => shown.length > 0)
}

function roundOf(asked: readonly KeyedAsk[], key: string): number | undefined {
  return asked.find((one) => one.key === key)?.round
}
