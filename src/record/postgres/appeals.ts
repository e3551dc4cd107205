import type { OpenAppeals, UntoldAppeal } from '../../contracts/ports/record.ts'
import { appealNoteId } from '../appeal-note.ts'
import {
  ACTIONS_IN_FORCE,
  ANSWERS_OF_OPEN,
  changedAppeal,
  deletedAppeals,
  IS_JUDGED,
  joinedAppeal,
  MOST_OF_SUBJECT,
  NEW_ANSWER,
  OF_SUBJECT,
  OPEN_APPEALS,
  partiesOn,
  REOPENED,
  rulingsOn,
  sentAppeal,
  tidiedAppeals,
  UNTOLD_APPEALS,
  WAITING_FOR_ACTION,
} from '../appeal-rows.ts'
import {
  type AppealAnswer,
  type AppealedRuling,
  type AppealOutcomeRow,
  type AppealParty,
  type AppealRow,
  answersIn,
  appealChanges,
  untoldAppeals,
} from '../appeals.ts'
import { inTurnLater, type WaitingTenant } from '../turns.ts'
import type { Database, Sql } from './connection.ts'
import { touch, type WritingStep } from './writing.ts'

// Appeals, and what became of them; what that is, src/record/appeals.ts decides.

/** The subject of an appeal, by its number. */
interface AppealedSubject {
  readonly s: number
  readonly deletedAt: number
}

/** Whether the words of an appeal of this time are kept: its subject was not deleted, or is judged again since. */
export async function isThere(sql: Sql, { s, deletedAt }: AppealedSubject, at: number): Promise<boolean> {
  if (deletedAt === Number.NEGATIVE_INFINITY) return true
  return at > deletedAt && (await sql.rows(IS_JUDGED, s)).length > 0
}

/** A decision that answers appeals. */
export async function takeAnswers({ sql }: WritingStep, s: number, note: string, json: string, at: number) {
  for (const { id, decision, code, measure } of answersIn(note, json))
    await sql.run(NEW_ANSWER, id, decision, code, measure, at, s)
}

/** An action has come: appeals that came before it are about its subject. Returns the notes whose words are erased with that. */
export async function joinAction(
  writing: WritingStep,
  note: string,
  subject: AppealedSubject,
  protocol: string,
): Promise<string[]> {
  const { sql } = writing
  const waiting = await sql.rows<Pick<AppealRow, 'tenant' | 'id' | 'at'>>(WAITING_FOR_ACTION, note, subject.s)
  const erased: string[] = []
  for (const one of waiting) {
    await runAll(sql, joinedAppeal(one, subject.s, protocol))
    if (!(await isThere(sql, subject, one.at))) erased.push(appealNoteId(one.tenant, one.id))
  }
  const reopened = await sql.rows(REOPENED, subject.s)
  if (reopened.length + waiting.length > 0) touch(writing, subject.s, protocol)
  return erased
}

/** Does what is known by now of the appeals of all subjects that were touched. */
export async function settleAppeals(writing: WritingStep): Promise<void> {
  const { sql, touched } = writing
  const open = await sql.rows<{ s: number; deleted_at: number | null }>(
    `SELECT DISTINCT appeals.s, deleted_at FROM appeals JOIN subjects ON subjects.s = appeals.s
     WHERE appeals.s = ANY (?::bigint[]) AND outcome IS NULL`,
    [...touched.keys()],
  )
  const most = MOST_OF_SUBJECT
  for (const { s, deleted_at: deletedAt } of open) {
    const appeals = await sql.rows<AppealRow>(OF_SUBJECT, s, most, s, most)
    const rulings = await sql.rows<AppealedRuling>(rulingsOn('decider'), s, most)
    const answers = await sql.rows<AppealAnswer>(ANSWERS_OF_OPEN, s, s, most)
    const parties = answers.length === 0 ? [] : await sql.rows<AppealParty>(partiesOn('said.opinion'), s, s, most)
    const inForce = (await sql.rows<{ protocol: string }>(ACTIONS_IN_FORCE, s, s)).map(({ protocol }) => protocol)
    for (const one of appealChanges(appeals, { rulings, answers, parties, inForce, deletedAt })) {
      await runAll(sql, changedAppeal(one))
      touch(writing, s, one.protocol)
    }
  }
}

async function runAll(sql: Sql, queries: ReturnType<typeof changedAppeal>): Promise<void> {
  for (const [text, ...values] of queries) await sql.run(text, ...values)
}

/** A subject was deleted. */
export async function eraseAppeals({ sql }: WritingStep, s: number, at: number): Promise<void> {
  await runAll(sql, deletedAppeals(s, at))
}

export async function tidyAppeals({ sql }: WritingStep, of: Parameters<typeof tidiedAppeals>[0]): Promise<void> {
  await runAll(sql, tidiedAppeals(of))
}

/** What is told of appeals, and counted of them. */
export function appealReads(db: Database) {
  return {
    untoldAppeals: (now: number, most: number, readUntil = Number.MAX_SAFE_INTEGER): Promise<UntoldAppeal[]> =>
      db.transaction(async (sql) => {
        const untold: AppealOutcomeRow[] = []
        for (const { tenants, of } of UNTOLD_APPEALS) {
          const left = most - untold.length
          // Of processes that ask at a time one has them.
          const some = await inTurnLater(
            left,
            await sql.rows<WaitingTenant>(tenants, now, readUntil, left),
            (tenant, share) =>
              sql.rows<AppealOutcomeRow>(`${of} FOR UPDATE OF appeals SKIP LOCKED`, tenant, now, readUntil, share),
          )
          untold.push(...some)
        }
        await sql.run(
          sentAppeal(
            'FROM unnest(?::text[], ?::text[]) AS of (tenant, id) WHERE (appeals.tenant, appeals.id) = (of.tenant, of.id)',
          ),
          now,
          untold.map(({ tenant }) => tenant),
          untold.map(({ id }) => id),
        )
        return untoldAppeals(untold)
      }),
    async openAppeals(dueSince: number): Promise<OpenAppeals> {
      const [row] = await db.rows<OpenAppeals>(OPEN_APPEALS, dueSince)
      return { open: 0, overdue: 0, oldest: null, unjudged: 0, wordless: 0, ...row }
    },
  }
}
