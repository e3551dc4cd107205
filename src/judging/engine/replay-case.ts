import { type Fault, undecided } from '../../contracts/facts/verdict.ts'
import type { TakenCase } from '../../contracts/ports/cases.ts'
import type { Report } from '../../contracts/ports/report.ts'
import { isOver } from './comment-erasure.ts'
import { begin, type KeyedAsk, proceed, type ReplayState, type ScriptProgress, scriptOf } from './replay.ts'
import type { Protocol } from './script.ts'
import { vetoRuling } from './veto.ts'

interface ReplayedCase {
  readonly replayState: ReplayState
  /** What the script continues from when answers have arrived; null for a case that was given up. */
  readonly progress: ScriptProgress | null
}

/**
 * The state of a case's script after everything in its journal. Continues from `waiting` if that is given, otherwise
 * starts from the beginning. A script that throws, a case that was taken over more often than `maxTakeovers` (it may be what
 * kills workers), and one of which comments were taken back too often end without a label.
 */
export function replayCase(
  protocol: Protocol,
  taken: TakenCase,
  waiting: ScriptProgress | undefined,
  { report, settings }: { readonly report: Report; readonly settings: { readonly maxTakeovers: number } },
): ReplayedCase {
  const takeovers = taken.epoch - (taken.record.restartedAtEpoch ?? 0)
  if (takeovers > settings.maxTakeovers)
    return givenUp(`${takeovers} workers took this case over and none finished; abandoned`)
  if (isOver(taken.record))
    return givenUp('comments were taken back again and again; the thread is judged anew', [], [])
  const { veto, outdated } = taken.record
  if (outdated !== undefined) return givenUp(`not compared with the lists: ${outdated}`, [], ['evidence'])
  if (veto !== undefined)
    return { replayState: { at: 'end', conclusion: { ruling: vetoRuling(veto) }, asked: [] }, progress: null }
  let progress = waiting
  try {
    progress ??= begin(scriptOf(protocol, taken.record))
    return { replayState: proceed(progress, taken.journal), progress }
  } catch (error) {
    report('error', { where: `script ${protocol.name}`, error, caseId: taken.record.id })
    const why = `the protocol's script failed on this subject (${error instanceof Error ? error.name : 'error'})`
    return givenUp(
      why,
      progress?.asked.filter(({ key }) => taken.journal.has(key)),
    )
  }
}

function givenUp(why: string, asked: readonly KeyedAsk[] = [], faults: readonly Fault[] = ['ours']): ReplayedCase {
  return {
    replayState: { at: 'end', conclusion: { ruling: { ...undecided(why), faults: [...faults] } }, asked },
    progress: null,
  }
}
