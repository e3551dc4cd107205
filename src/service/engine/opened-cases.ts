import type { CaseRecord } from '../domain/case.ts'
import { charactersIn } from '../domain/characters-in.ts'
import type { KnownCase } from '../ports/cases.ts'
import type { Clock } from '../ports/clock.ts'

/** Most records kept, most characters of their subjects, and for how long, in ms: another process may have got the case's job. */
const [MOST_KEPT, MOST_CHARACTERS, KEPT_MS] = [256, 2_000_000, 10_000]
/** The run in which every case is opened. */
const FIRST_RUN = 0

/**
 * The records of cases that this process has just opened: whoever begins one of them here need not read it again. Only a
 * hint: taking the case over tells whether it is still open and in this run.
 */
export function openedCases(clock: Clock) {
  const records = new Map<string, { readonly record: CaseRecord; readonly characters: number }>()
  let characters = 0
  const forget = (id: string) => {
    characters -= records.get(id)?.characters ?? 0
    records.delete(id)
  }
  return {
    note(record: CaseRecord): void {
      for (const [id, { record: known }] of records) {
        if (known.openedAt + KEPT_MS > clock()) break
        forget(id)
      }
      forget(record.id)
      const own = charactersIn(record.subject)
      if (records.size >= MOST_KEPT || characters + own > MOST_CHARACTERS) return
      records.set(record.id, { record, characters: own })
      characters += own
    },
    /** Returns it once. */
    use(caseId: string): KnownCase | undefined {
      const known = records.get(caseId)
      forget(caseId)
      return known === undefined ? undefined : { run: FIRST_RUN, record: known.record, journal: new Map() }
    },
  }
}
export type OpenedCases = ReturnType<typeof openedCases>
