import { OUTLIVES, SPARE_ACTION } from '../actions.ts'
import { SPARE_ANSWERS, SPARE_APPEALS } from '../appeal-rows.ts'
import { type FeedbackRow, NEWEST_FEEDBACK, NEWS_MS } from '../spare-feedback.ts'
import { dropSaid, emptied } from './erasures.ts'
import { unindexed } from './texts.ts'
import type { WritingStep } from './writing.ts'

/** Of whatever was deleted the row stays: it says so. */
const IF_NEVER_DELETED = 1
/** Rows of a tenant that make room in one step, and those that are looked at for these. */
export const ROOM = 500
const LOOKED_AT = 5_000

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
     authored AS (DELETE FROM written USING gone WHERE written.s = gone.s),
     answered AS (DELETE FROM appeals_answered USING gone WHERE appeals_answered.s = gone.s)
     SELECT k FROM gone UNION ALL SELECT k FROM theirs UNION ALL SELECT k FROM noted`,
    subjects,
    time,
  )
  await seals.shred(empty.map(({ k }) => k))
}

/** Looks at some feedback that is older, and removes what of it serves nobody; of this tenant's alone, where one is named. */
export async function dropSpareFeedback(
  writing: WritingStep,
  before: number,
  tenant: string | null = null,
): Promise<{ spare: number; oldest: number }> {
  const looked = await writing.sql.rows<FeedbackRow>(NEWEST_FEEDBACK, tenant, tenant, before)
  const spare = looked.filter((one) => one.spare === 1)
  if (spare.length > 0) {
    const of = spare.map(({ n }) => n)
    await forget(writing, await dropSaid(writing, 'n = ANY (?::bigint[])', of), IF_NEVER_DELETED)
  }
  return { spare: spare.length, oldest: looked.at(-1)?.at ?? before }
}

/** What a tenant gives, the next only once there is nothing left of the one before. */
export const GIVEN = ['answers', 'appeals', 'words', 'transcripts', 'texts', 'notes', 'deletions', 'actions'] as const

/** How far it was looked through one of these: `null` at its end. */
interface Looked {
  readonly after: number | null
  readonly given: number
}

/** Removes some of what a tenant that holds more than its share can give, of one kind, oldest first. */
export async function give(
  writing: WritingStep,
  what: (typeof GIVEN)[number],
  of: { readonly tenant: string; readonly after: number; readonly now: number },
): Promise<Looked> {
  const { tenant, after, now } = of
  if (what === 'notes') return dropNotes(writing, tenant)
  if (what === 'answers') return dropSpare(writing, SPARE_ANSWERS, tenant)
  if (what === 'appeals') return dropSpare(writing, SPARE_APPEALS, tenant)
  const [select, ...values] = OWN_ROWS[what](now)
  const looked = await writing.sql.rows<{ at: number; own: boolean }>(
    `SELECT at, own FROM (${select}) AS looked`,
    tenant,
    ...values,
    after,
    LOOKED_AT,
  )
  const own = looked
    .filter((row) => row.own)
    .slice(0, ROOM)
    .map(({ at }) => at)
  const last = own.length === ROOM ? own.at(-1) : looked.length < LOOKED_AT ? null : looked.at(-1)?.at
  if (own.length > 0) await TAKEN[what](writing, own, tenant)
  return { after: last ?? null, given: own.length }
}

/** Rows of all tenants in their order, and which of them this tenant can give. */
const OWN_ROWS = {
  words: () => [
    `SELECT n AS at, tenant = ? AND NOT ${OUTLIVES} AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = said.s) AS own
     FROM said JOIN subjects USING (s) WHERE n > ? ORDER BY n LIMIT ?`,
  ],
  actions: () => [
    `SELECT n AS at, tenant = ? AND ${SPARE_ACTION} AS own FROM said JOIN subjects USING (s) WHERE ${OUTLIVES} AND n > ? ORDER BY n LIMIT ?`,
  ],
  transcripts: () => [
    'SELECT t AS at, tenant = ? AS own FROM transcripts JOIN subjects USING (s) WHERE transcripts.k IS NOT NULL AND t > ? ORDER BY t LIMIT ?',
  ],
  texts: () => [
    "SELECT doc AS at, tenant = ? AS own FROM texts JOIN rulings USING (doc) WHERE texts.sealed <> '' AND doc > ? ORDER BY doc LIMIT ?",
  ],
  deletions: (now) => [
    `SELECT s AS at, tenant = ? AND deleted_at < ? AND NOT EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s)
       AND NOT EXISTS (SELECT 1 FROM said WHERE said.s = subjects.s)
       AND NOT EXISTS (SELECT 1 FROM transcripts WHERE transcripts.s = subjects.s) AS own
     FROM subjects WHERE deleted_at IS NOT NULL AND s > ? ORDER BY s LIMIT ?`,
    now - NEWS_MS,
  ],
} as const satisfies Record<
  Exclude<(typeof GIVEN)[number], 'answers' | 'appeals' | 'notes'>,
  (now: number) => readonly [string, ...number[]]
>

const dropWords = async (writing: WritingStep, own: number[]) =>
  forget(writing, await dropSaid(writing, 'n = ANY (?::bigint[])', own), IF_NEVER_DELETED)

const TAKEN = {
  words: dropWords,
  actions: dropWords,
  transcripts: (writing, own) => emptied(writing, own),
  texts: (writing, own) => unindexed(writing, own),
  deletions: async (writing, own, tenant) => {
    const times = await writing.sql.rows<{ at: number }>(
      'SELECT max(deleted_at) AS at FROM subjects WHERE s = ANY (?::bigint[])',
      own,
    )
    await forget(writing, own, Number.MAX_SAFE_INTEGER)
    await noteDropped(writing, tenant, times)
  },
} as const satisfies Record<
  keyof typeof OWN_ROWS,
  (writing: WritingStep, own: number[], tenant: string) => Promise<void>
>

async function dropSpare(writing: WritingStep, rows: string, tenant: string): Promise<Looked> {
  const spare = await writing.sql.rows<{ s: number | null }>(rows, tenant, ROOM)
  const about = new Set(spare.flatMap(({ s }) => s ?? []))
  await forget(writing, [...about], IF_NEVER_DELETED)
  return { after: spare.length === 0 ? null : 0, given: spare.length }
}

/** Notes of comments that were deleted, and of replies that quote posts, of what the record has nothing of. */
async function dropNotes(writing: WritingStep, tenant: string): Promise<Looked> {
  const { sql } = writing
  const gone = await sql.rows<{ at: number }>(
    `DELETE FROM gone_comments WHERE (tenant, post, comment) IN (
       SELECT tenant, post, comment FROM gone_comments WHERE tenant = ? LIMIT ${ROOM}) RETURNING at`,
    tenant,
  )
  const quotes = await sql.rows<{ at: number }>(
    `DELETE FROM quotes WHERE (tenant, post, reply) IN (
       SELECT tenant, post, reply FROM quotes WHERE tenant = ? AND NOT EXISTS (
         SELECT 1 FROM subjects WHERE subjects.tenant = quotes.tenant AND kind = 'reply' AND id = reply) LIMIT ${ROOM}) RETURNING at`,
    tenant,
  )
  await noteDropped(writing, tenant, [...gone, ...quotes])
  const given = gone.length + quotes.length
  return { after: given === 0 ? null : 0, given }
}

/** Notes that deletions of these times, and what quotes, are known no more: of its tenant no words come in that may have been deleted. */
async function noteDropped(
  { sql }: WritingStep,
  tenant: string,
  times: readonly { readonly at: number }[],
): Promise<void> {
  if (times.length === 0) return
  await sql.run(
    'INSERT INTO dropped_notes VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET at = greatest(dropped_notes.at, excluded.at)',
    tenant,
    times.reduce((last, { at }) => Math.max(last, at), 0),
  )
}
