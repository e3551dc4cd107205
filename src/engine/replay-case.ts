import { undecided } from '../domain/verdict.ts'
import type { TakenCase } from '../ports/cases.ts'
import type { Report } from '../ports/report.ts'
import { begin, type KeyedAsk, type Progress, proceed, type ReplayState, scriptOf } from './replay.ts'
import type { Protocol } from './script.ts'

interface ReplayedCase {
  readonly replayState: ReplayState
  /** What can be gone on with when answers have come; null of a case that is given up. */
  readonly progress: Progress | null
}

/**
 * Where a case's script stands after all that its journal holds. It goes on from `waiting`, if that is given, and otherwise
 * from its beginning. A script that throws, and a case that was taken over more often than `maxTakeovers` (it may be what kills
 * workers), end without a label.
 */
export function replayCase(
  protocol: Protocol,
  taken: TakenCase,
  waiting: Progress | undefined,
  { report, settings }: { readonly report: Report; readonly settings: { readonly maxTakeovers: number } },
): ReplayedCase {
  const takeovers = taken.epoch - (taken.record.begunOverAt ?? 0)
  if (takeovers > settings.maxTakeovers)
    return givenUp(`taken over ${takeovers} times without an end; given up as unjudgeable`)
  let progress = waiting
  try {
    progress ??= begin(scriptOf(protocol, taken.record))
    return { replayState: proceed(progress, taken.journal), progress }
  } catch (error) {
    report('error', { where: `script ${protocol.name}`, error })
    const why = `the protocol's script failed on this subject (${error instanceof Error ? error.name : 'error'})`
    return givenUp(
      why,
      progress?.asked.filter(({ key }) => taken.journal.has(key)),
    )
  }
}

function givenUp(why: string, asked: readonly KeyedAsk[] = []): ReplayedCase {
  return { replayState: { at: 'end', conclusion: { ruling: undecided(why) }, asked }, progress: null }
}
