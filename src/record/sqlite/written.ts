import { randomBytes } from 'node:crypto'
import { zstdDecompressSync } from 'node:zlib'
import { visibleName } from '../../contracts/facts/author.ts'
import { type Hmac, hmac } from '../../contracts/facts/hmac.ts'
import type { WrittenPage, WrittenPart } from '../../contracts/ports/record.ts'
import { cursorOf, placeIn, type WrittenRow, writtenInTranscript, writtenSubject } from '../written.ts'
import type { Sql } from './sql.ts'

/** Transcripts of an earlier version that are looked through at a time. */
const AT_ONCE = 100

const hashed = (keyed: Hmac, tenant: string, author: string) =>
  keyed(`author ${tenant} ${visibleName(author)}`, 'base64url').slice(0, 22)

/** Who wrote what of the record, beside its tables. */
export class WrittenTable {
  readonly #sql: Sql
  readonly #key: Hmac

  constructor(sql: Sql) {
    this.#sql = sql
    sql.run("INSERT OR IGNORE INTO meta VALUES ('authors', ?)", randomBytes(16).toString('hex'))
    // What is there already was written by an earlier version, and is looked through up to the last.
    sql.run("INSERT OR IGNORE INTO meta SELECT 'written', '0 ' || coalesce(max(t), 0) FROM transcripts")
    this.#key = keyOf(sql)
  }

  add(tenant: string, s: number, written: readonly WrittenPart[]): void {
    for (const { author, comment } of written)
      this.#sql.run(
        'INSERT OR IGNORE INTO written VALUES (?, ?, ?)',
        hashed(this.#key, tenant, author),
        s,
        comment ?? '',
      )
  }

  /** Looks through some of what an earlier version wrote; false once there is nothing left. */
  lookThrough(): boolean {
    const [next, last] = stateOf(this.#sql)
    if (next >= last) return false
    return this.#sql.transaction(() => {
      const rows = this.#sql.all<{ t: number; s: number; z: Uint8Array; tenant: string }>(
        `SELECT t, s, z, tenant FROM transcripts JOIN subjects USING (s) WHERE t > ? AND t <= ? AND z IS NOT NULL ORDER BY t LIMIT ?`,
        next,
        last,
        AT_ONCE,
      )
      for (const { s, z, tenant } of rows)
        this.add(tenant, s, writtenInTranscript(zstdDecompressSync(z).toString('utf8')))
      const reached = rows.length < AT_ONCE ? last : (rows.at(-1)?.t ?? last)
      this.#sql.run("UPDATE meta SET v = ? WHERE k = 'written'", `${reached} ${last}`)
      return reached < last
    })
  }
}

/** Forgets who wrote a subject, and what is shown with it, where nothing of it is left. */
export function forgetWritten(sql: Sql, s: number) {
  return sql.run('DELETE FROM written WHERE s = ? AND NOT EXISTS (SELECT 1 FROM transcripts WHERE s = ?)', s, s)
}

/** Forgets who wrote these comments, which the subjects of these numbers show. */
export function forgetComments(sql: Sql, subjects: readonly number[], comments: ReadonlySet<string>): void {
  for (const s of subjects)
    sql.run(
      'DELETE FROM written WHERE s = ? AND comment IN (SELECT value FROM json_each(?))',
      s,
      JSON.stringify([...comments]),
    )
}

/** A page of what somebody wrote. */
export function writtenBy(
  sql: Sql,
  { tenant, author }: { readonly tenant: string; readonly author: string },
  after: string | null,
  most: number,
): WrittenPage {
  const { s, comment } = placeIn(after)
  const rows = sql.all<WrittenRow>(
    `SELECT written.s, comment, tenant, kind, id FROM written JOIN subjects USING (s)
     WHERE written.author = ? AND (written.s, comment) > (?, ?) ORDER BY written.s, comment LIMIT ?`,
    hashed(keyOf(sql), tenant, author),
    s,
    comment,
    most,
  )
  const last = rows.length < most ? undefined : rows.at(-1)
  const [next, end] = stateOf(sql)
  return {
    subjects: rows.map(writtenSubject),
    next: last === undefined ? null : cursorOf(last),
    isComplete: next >= end,
  }
}

function keyOf(sql: Sql): Hmac {
  return hmac(sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'authors'")?.v ?? '')
}

/** Up to which transcript those of an earlier version were looked through, and which is the last of them. */
function stateOf(sql: Sql): readonly [next: number, last: number] {
  const [next = 0, last = 0] = (sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'written'")?.v ?? '')
    .split(' ')
    .map(Number)
  return [next, last]
}
