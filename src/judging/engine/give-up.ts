import { undecided } from '../../contracts/facts/verdict.ts'
import type { VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import { type CaseStore, StoreSuspended, type TakenCase } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { type EndedCase, endOf } from './conclude.ts'
import { callsIn } from './lost-calls.ts'

interface GiveUpParts {
  readonly cases: Pick<CaseStore, 'take' | 'conclude'>
  readonly clock: Clock
  /** Longest transcript, in bytes. */
  readonly transcriptBytes: number
  readonly writes: VerdictForm
}

/**
 * Takes an open case over and ends it without a label: its verdict's `degraded` holds `why`, with the fault `ours`. The
 * transcript has no turns, but the calls that were made are on the bill. False, with nothing ended, if the case is not open,
 * if `mayEnd` returns false, or if another worker was faster.
 */
export async function giveUp(
  { cases, clock, transcriptBytes, writes }: GiveUpParts,
  caseId: string,
  why: string,
  mayEnd: (taken: TakenCase) => boolean = () => true,
): Promise<boolean> {
  const taken = await cases.take(caseId).catch((error: unknown) => {
    if (error instanceof StoreSuspended) return null
    throw error
  })
  if (taken === null || !mayEnd(taken)) return false
  const { record, epoch, journal, lostCalls } = taken
  const ended: EndedCase = {
    record,
    journal,
    asked: [],
    ruling: { ...undecided(why), faults: ['ours'] },
    lostCalls: [...lostCalls, ...callsIn(journal)],
    decidedAt: clock(),
    writes,
  }
  return cases.conclude(record, epoch, {
    ...endOf(ended, () => [], transcriptBytes),
    carry: null,
  })
}
