import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { Verdict } from '../contracts/facts/verdict.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'

/** A case of the record: the last verdict of a machine on its subject. */
export interface RecordedCase {
  readonly verdict: Verdict
  readonly subject: ThreadRef
  readonly lang: string | null
  /** How its subject begins; null where its words have not come, or are erased. */
  readonly words: string | null
  readonly contested: boolean
  readonly erased: boolean
  /** The label of people's verdict that stands above it; null where there is none. */
  readonly person: string | null
}

/** Which cases: by one protocol, decided in this time (ms since 1970), of these tenants. */
export interface RecordedCaseFilter {
  readonly protocol: string
  readonly tenants?: readonly string[] | undefined
  readonly since: number
  readonly until: number
}

const PAGE = 500

/** The newest case of each subject, the newest first. A subject that was deleted has none. */
export async function* recordedCases(
  reader: Pick<RecordReader, 'find'>,
  filter: RecordedCaseFilter,
): AsyncGenerator<RecordedCase> {
  const seen = new Set<string>()
  const people = new Map<string, string | null>()
  let before: string | undefined
  for (;;) {
    const rows = await reader.find({ ...filter, ...(before === undefined ? {} : { before }) }, PAGE)
    for (const row of rows) {
      const { tenant, kind, postId } = row.subject
      const of = JSON.stringify([tenant, kind, postId])
      if (seen.has(of)) continue
      const { decidedBy, label, restored } = row.verdict
      if (decidedBy === 'human') {
        if (!people.has(of)) people.set(of, row.standing ? label : null)
        continue
      }
      // It repeats an earlier one, which has the transcript.
      if (restored !== undefined) continue
      seen.add(of)
      // Of what a list decided there is nothing left to replay.
      if (decidedBy !== 'deleted' && decidedBy !== 'veto') yield caseOf(row, people.get(of) ?? null)
    }
    before = rows.at(-1)?.cursor
    if (rows.length < PAGE) return
  }
}

function caseOf(
  { verdict, subject, lang, words, contested, erased }: RecordedRow,
  person: string | null,
): RecordedCase {
  return { verdict, subject, lang, words, contested, erased, person }
}
