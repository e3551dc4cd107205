import { type FeedbackRow, NEWEST_FEEDBACK } from '../spare-feedback.ts'
import { dropSaid } from './erasures.ts'
import type { WritingStep } from './writing.ts'

/** Of whatever was deleted the row stays: it says so. */
const IF_NEVER_DELETED = 1

/** Removes what is left of subjects of which nothing else is, unless they were deleted after this time. */
export async function forget({ sql, seals }: WritingStep, subjects: readonly number[], time: number): Promise<void> {
  // With their pictures and notes: no deletion of the post that comes later would find these.
  const empty = await sql.rows<{ k: number | null }>(
    `WITH gone AS (DELETE FROM subjects WHERE s = ANY (?::bigint[]) AND coalesce(deleted_at, 0) < ?
       AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s)
       AND NOT EXISTS (SELECT 1 FROM said WHERE said.s = subjects.s) AND NOT EXISTS (SELECT 1 FROM appeals WHERE appeals.s = subjects.s)
       AND NOT EXISTS (SELECT 1 FROM transcripts WHERE transcripts.s = subjects.s) RETURNING s, k),
     theirs AS (DELETE FROM pictures USING gone WHERE pictures.s = gone.s RETURNING pictures.k),
     noted AS (DELETE FROM notes USING gone WHERE notes.s = gone.s RETURNING notes.k),
     authored AS (DELETE FROM written USING gone WHERE written.s = gone.s)
     SELECT k FROM gone UNION ALL SELECT k FROM theirs UNION ALL SELECT k FROM noted`,
    subjects,
    time,
  )
  await seals.shred(empty.map(({ k }) => k))
}

/** Looks at some feedback that is older, and removes what of it serves nobody. */
export async function dropSpareFeedback(
  writing: WritingStep,
  before: number,
): Promise<{ spare: number; oldest: number }> {
  const looked = await writing.sql.rows<FeedbackRow>(NEWEST_FEEDBACK, before)
  const spare = looked.filter((one) => one.spare === 1)
  if (spare.length > 0) {
    const of = spare.map(({ n }) => n)
    await forget(writing, await dropSaid(writing, 'n = ANY (?::bigint[])', of), IF_NEVER_DELETED)
  }
  return { spare: spare.length, oldest: looked.at(-1)?.at ?? before }
}
