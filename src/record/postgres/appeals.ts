import type { AppealOutcome } from '../../contracts/facts/appeal-messages.ts'
import type { OpenAppeals } from '../../contracts/ports/record.ts'
import {
  ANSWERS_OF_OPEN,
  type AppealAnswer,
  type AppealChange,
  type AppealedRuling,
  type AppealOutcomeRow,
  type AppealRow,
  answersIn,
  appealChanges,
  appealNoteId,
  appealOutcomeOf,
  KNOWN_WITHIN_MS,
  MOST_OF_SUBJECT,
  OPEN_APPEALS,
  sentBefore,
  UNKNOWN_APPEALS,
  UNKNOWN_NOTES,
  UNTOLD_APPEALS,
  WAITING_FOR_ACTION,
} from '../appeals.ts'
import type { Database, Sql } from './connection.ts'
import { touch, type WritingStep } from './writing.ts'

// Appeals, and what became of them; what that is, src/record/appeals.ts decides.

/** A decision that answers appeals. */
export async function takeAnswers({ sql }: WritingStep, s: number, note: string, json: string, at: number) {
  for (const { id, decision, code } of answersIn(note, json))
    await sql.run('INSERT INTO appeal_answers VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING', s, id, decision, code, at)
}

/** An action has come: appeals that came before it are about its subject. */
export async function joinAction(writing: WritingStep, note: string, s: number, protocol: string): Promise<void> {
  const { sql } = writing
  const waiting = await sql.rows<Pick<AppealRow, 'tenant' | 'id'>>(WAITING_FOR_ACTION, note)
  for (const { tenant, id } of waiting) {
    await sql.run('UPDATE appeals SET s = ?, protocol = ? WHERE tenant = ? AND id = ?', s, protocol, tenant, id)
    await sql.run('UPDATE said SET s = ?, protocol = ? WHERE id = ?', s, protocol, appealNoteId(tenant, id))
    touch(writing, s, protocol)
  }
}

/** Does what is known by now of the appeals of all subjects that were touched. */
export async function settleAppeals(writing: WritingStep): Promise<void> {
  const { sql, touched } = writing
  const open = await sql.rows<{ s: number; deleted_at: number | null }>(
    `SELECT DISTINCT appeals.s, deleted_at FROM appeals JOIN subjects ON subjects.s = appeals.s
     WHERE appeals.s = ANY (?::bigint[]) AND outcome IS NULL`,
    [...touched.keys()],
  )
  for (const { s, deleted_at: deletedAt } of open) {
    const appeals = await sql.rows<AppealRow>(
      'SELECT * FROM appeals WHERE s = ? ORDER BY outcome IS NOT NULL, at DESC, id DESC LIMIT ?',
      s,
      MOST_OF_SUBJECT,
    )
    const rulings = await sql.rows<AppealedRuling>(
      `SELECT id, protocol, number, label, decided_by, decider, decision, decided_at
       FROM rulings WHERE s = ? ORDER BY standing DESC, number DESC LIMIT ?`,
      s,
      MOST_OF_SUBJECT,
    )
    const answers = await sql.rows<AppealAnswer>(ANSWERS_OF_OPEN, s, s, MOST_OF_SUBJECT)
    for (const one of appealChanges(appeals, { rulings, answers, deletedAt })) {
      await write(sql, one)
      touch(writing, s, one.protocol)
    }
  }
}

async function write(sql: Sql, one: AppealChange): Promise<void> {
  const note = appealNoteId(one.tenant, one.id)
  await sql.run('UPDATE said SET protocol = ?, label = ? WHERE id = ?', one.protocol, one.outcome, note)
  await sql.run(
    `UPDATE appeals SET protocol = ?, number = ?, label = ?, outcome = ?, verdict = ?, answer = ?, code = ?, earlier = ?, ended_at = ?
     WHERE tenant = ? AND id = ?`,
    one.protocol,
    one.number,
    one.label,
    one.outcome,
    one.verdict,
    one.answer,
    one.code,
    one.earlier,
    one.ended_at,
    one.tenant,
    one.id,
  )
}

/** A subject was deleted. */
export async function eraseAppeals({ sql }: WritingStep, s: number, at: number): Promise<void> {
  await sql.run(
    "UPDATE appeals SET outcome = 'deleted', ended_at = ? WHERE s = ? AND outcome IS NULL AND at <= ?",
    at,
    s,
    at,
  )
  await sql.run('DELETE FROM appeal_answers WHERE s = ? AND at <= ?', s, at)
}

export async function tidyAppeals(
  { sql }: WritingStep,
  { now, keep, readUntil }: { now: number; keep: number; readUntil: number },
): Promise<void> {
  const before = Math.min(now, readUntil) - KNOWN_WITHIN_MS
  await sql.run(UNKNOWN_NOTES, before)
  await sql.run(UNKNOWN_APPEALS, KNOWN_WITHIN_MS, before)
  await sql.run('DELETE FROM appeals WHERE at < ?', now - keep)
  await sql.run('DELETE FROM appeal_answers WHERE at < ?', now - keep)
}

/** What is told of appeals, and counted of them. */
export function appealReads(db: Database) {
  return {
    untoldAppeals: (now: number, most: number): Promise<AppealOutcome[]> =>
      db.transaction(async (sql) => {
        // Of processes that ask at a time one has them.
        const untold = await sql.rows<AppealOutcomeRow>(
          `${UNTOLD_APPEALS} FOR UPDATE OF appeals SKIP LOCKED`,
          sentBefore(now),
          most,
        )
        await sql.run(
          `UPDATE appeals SET put_at = ? FROM unnest(?::text[], ?::text[]) AS of (tenant, id)
           WHERE (appeals.tenant, appeals.id) = (of.tenant, of.id)`,
          now,
          untold.map(({ tenant }) => tenant),
          untold.map(({ id }) => id),
        )
        return untold.map(appealOutcomeOf)
      }),
    async openAppeals(dueSince: number): Promise<OpenAppeals> {
      const [row] = await db.rows<OpenAppeals>(OPEN_APPEALS, dueSince)
      return { open: 0, overdue: 0, oldest: null, unjudged: 0, wordless: 0, ...row }
    },
  }
}
