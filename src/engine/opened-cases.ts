import type { CaseRecord } from '../domain/case.ts'
import type { KnownCase } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'

/** Most records kept, and for how long, in ms: another process may have got the case's job. */
const [MOST_KEPT, KEPT_MS] = [256, 10_000]
/** The run in which every case is opened. */
const FIRST_RUN = 0

/**
 * The records of cases that this process has just opened: whoever begins one of them here need not read it again. Only a
 * hint: taking the case over tells whether it is still open and in this run.
 */
export function openedCases(clock: Clock) {
  const records = new Map<string, CaseRecord>()
  return {
    note(record: CaseRecord): void {
      for (const [id, { openedAt }] of records) {
        if (openedAt + KEPT_MS > clock()) break
        records.delete(id)
      }
      if (records.size < MOST_KEPT) records.set(record.id, record)
    },
    /** Returns it once. */
    use(caseId: string): KnownCase | undefined {
      const record = records.get(caseId)
      records.delete(caseId)
      return record === undefined ? undefined : { run: FIRST_RUN, record, journal: new Map() }
    },
  }
}
export type OpenedCases = ReturnType<typeof openedCases>
