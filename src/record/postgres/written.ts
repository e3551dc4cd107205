import { visibleName } from '../../contracts/facts/author.ts'
import type { WrittenPage, WrittenPart } from '../../contracts/ports/record.ts'
import { cursorOf, placeIn, type WrittenRow, writtenInTranscript, writtenSubject } from '../written.ts'
import { columnsOf, type Sql } from './connection.ts'
import type { GramHashes } from './grams-key.ts'
import { keysOf, unsealed } from './seals.ts'
import { heldJson } from './transcript-bytes.ts'
import type { WritingStep } from './writing.ts'
import { LOOKED_THROUGH } from './written-table.ts'

const hashed = (hashes: GramHashes, tenant: string, author: string) =>
  hashes.key(`author ${tenant} ${visibleName(author)}`).slice(0, 22)

interface WrittenIn {
  readonly tenant: string
  readonly s: number
  readonly written: readonly WrittenPart[]
}

export async function addWritten(
  { sql, hashes }: Pick<WritingStep, 'sql' | 'hashes'>,
  all: readonly WrittenIn[],
): Promise<void> {
  const rows = all.flatMap(({ tenant, s, written }) =>
    written.map(({ author, comment }) => [hashed(hashes, tenant, author), s, comment ?? ''] as const),
  )
  if (rows.length === 0) return
  await sql.run(
    'INSERT INTO written SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[]) ON CONFLICT DO NOTHING',
    ...columnsOf(rows, 3),
  )
}

/** Whether all that earlier versions wrote was looked through. */
export async function isLookedThrough(sql: Sql): Promise<boolean> {
  return (await stateOf(sql)) === LOOKED_THROUGH
}

async function stateOf(sql: Sql): Promise<string> {
  return (await sql.rows<{ v: string }>("SELECT v FROM meta WHERE k = 'written'"))[0]?.v ?? LOOKED_THROUGH
}

/** Looks through so many transcripts for who wrote what, where another process was. */
export async function lookThrough(writing: WritingStep, most: number, now: number): Promise<void> {
  const { sql } = writing
  const state = await stateOf(sql)
  if (state === LOOKED_THROUGH) return
  const [reached = -1, until = 0] = state.split(' ').map(Number)
  const page = await sql.rows<{ t: number; s: number; tenant: string; k: number; sealed: Buffer }>(
    `SELECT transcripts.t, transcripts.s, tenant, transcripts.k, held.sealed FROM transcripts
     JOIN subjects ON subjects.s = transcripts.s JOIN held ON held.at = transcripts.at AND held.t = transcripts.t
     WHERE transcripts.t > ?::bigint AND transcripts.k IS NOT NULL ORDER BY transcripts.t LIMIT ?`,
    reached,
    most,
  )
  const keys = await keysOf(
    sql,
    page.map(({ k }) => k),
  )
  await addWritten(
    writing,
    page.flatMap(({ tenant, s, k, sealed }) => {
      const key = keys.get(k)
      return key === undefined ? [] : [{ tenant, s, written: writtenInTranscript(heldJson(unsealed(key, sealed))) }]
    }),
  )
  const isDone = page.length < most && now >= until
  await sql.run(
    "UPDATE meta SET v = ? WHERE k = 'written'",
    isDone ? LOOKED_THROUGH : `${page.at(-1)?.t ?? reached} ${until}`,
  )
}

/** Forgets who wrote these subjects, and what is shown with them, where nothing of them is left. */
export async function forgetWritten(sql: Sql, subjects: readonly number[]): Promise<void> {
  await sql.run(
    'DELETE FROM written WHERE s = ANY (?::bigint[]) AND NOT EXISTS (SELECT 1 FROM transcripts WHERE transcripts.s = written.s)',
    subjects,
  )
}

/** Forgets who wrote these comments, each of which the subject of its number shows. */
export async function forgetComments(
  sql: Sql,
  shown: readonly { readonly s: number; readonly comment: string }[],
): Promise<void> {
  await sql.run(
    'DELETE FROM written USING unnest(?::bigint[], ?::text[]) AS of (s, comment) WHERE written.s = of.s AND written.comment = of.comment',
    shown.map(({ s }) => s),
    shown.map(({ comment }) => comment),
  )
}

/** A page of what somebody wrote. */
export async function writtenBy(
  sql: Sql,
  hashes: GramHashes,
  { tenant, author }: { readonly tenant: string; readonly author: string },
  after: string | null,
  most: number,
): Promise<WrittenPage> {
  const { s, comment } = placeIn(after)
  const isComplete = await isLookedThrough(sql)
  const rows = await sql.rows<WrittenRow>(
    `SELECT written.s, comment, tenant, kind, id FROM written JOIN subjects ON subjects.s = written.s
     WHERE written.author = ? AND (written.s, comment) > (?::bigint, ?) ORDER BY written.s, comment LIMIT ?`,
    hashed(hashes, tenant, author),
    s,
    comment,
    most,
  )
  const last = rows.length < most ? undefined : rows.at(-1)
  return { subjects: rows.map(writtenSubject), next: last === undefined ? null : cursorOf(last), isComplete }
}
