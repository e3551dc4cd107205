import type { SubjectKind } from '../../contracts/facts/thread.ts'
import type { SubjectRecord } from '../../contracts/ports/record.ts'
import { openNotes } from '../appeal-rows.ts'
import { type ListedRow, type RulingRow, recordedVerdict, recordedWord } from '../record-rows.ts'
import type { Sql } from './connection.ts'
import type { SealedPreview } from './prepared-batch.ts'
import { keysOf, unsealed } from './seals.ts'

type Sealed<Row> = Omit<Row, 'json'> & { readonly k: number; readonly sealed: Buffer }
interface ListedSealed extends Sealed<RulingRow> {
  readonly doc: number
  readonly tenant: string
  readonly kind: SubjectKind
  readonly subject: string
  readonly lang: string | null
  readonly shown_k: number | null
  readonly shown: Buffer | null
}
export interface SealedNote {
  readonly said: 'decision'
  readonly id: string
  readonly protocol: string
  readonly label: string | null
  readonly by: string
  readonly at: number
  readonly s: number
  readonly k: number
  readonly sealed: Buffer
}
export interface SubjectRow {
  readonly s: number
  readonly tenant: string
  readonly kind: SubjectKind
  readonly id: string
  readonly lang: string | null
  readonly deleted_at: number | null
}

const RULING = 'r.k, r.sealed, standing, contested, conflicting, erased, sampled'

/** Rows with what their keys open; one whose key is gone is left out: it was erased since it was read. */
export async function opened<Row extends { readonly k: number; readonly sealed: Buffer }>(
  sql: Sql,
  rows: readonly Row[],
  others: readonly (number | null)[] = [],
): Promise<{ rows: (Row & { readonly json: string })[]; keys: ReadonlyMap<number, Buffer> }> {
  if (rows.length === 0) return { rows: [], keys: new Map() }
  const keys = await keysOf(sql, [...rows.map(({ k }) => k), ...others.filter((k) => k !== null)])
  return {
    keys,
    rows: rows.flatMap((row) => {
      const key = keys.get(row.k)
      return key === undefined ? [] : [{ ...row, json: unsealed(key, row.sealed).toString('utf8') }]
    }),
  }
}

/** The verdicts of these documents, in their order. */
export async function listed(sql: Sql, docs: readonly number[]): Promise<ListedRow[]> {
  if (docs.length === 0) return []
  const found = await sql.rows<ListedSealed>(
    `SELECT doc, ${RULING}, subjects.tenant, kind, subjects.id AS subject, lang, subjects.k AS shown_k, subjects.sealed AS shown
     FROM unnest(?::bigint[]) WITH ORDINALITY AS wanted (doc, at) JOIN rulings r USING (doc) JOIN subjects USING (s) ORDER BY at`,
    docs,
  )
  const { rows, keys } = await opened(
    sql,
    found,
    found.map(({ shown_k }) => shown_k),
  )
  return rows.map((row) => {
    const key = row.shown_k === null ? undefined : keys.get(row.shown_k)
    const shown =
      key === undefined || row.shown === null
        ? { author: null, begins: null, pictures: 0 }
        : (JSON.parse(unsealed(key, row.shown).toString('utf8')) as SealedPreview) // As this record sealed it.
    return { ...row, author: shown.author, words: shown.begins, pictures: shown.pictures ?? 0 }
  })
}

/** `most`: of each the verdicts that stand and the newest, and the newest of what was said; absent: all. */
export async function recordsOf(
  sql: Sql,
  subjects: readonly SubjectRow[],
  most: { readonly verdicts: number; readonly words: number } | null,
): Promise<SubjectRecord[]> {
  const all = subjects.map(({ s }) => s)
  const rulings = await opened(
    sql,
    await sql.rows<Sealed<RulingRow> & { s: number }>(
      `SELECT r.s, ${RULING} FROM unnest(?::bigint[]) AS wanted (w) JOIN LATERAL (
         SELECT * FROM rulings WHERE rulings.s = w ORDER BY standing DESC, doc DESC LIMIT ?) AS r ON true ORDER BY doc`,
      all,
      most?.verdicts ?? null,
    ),
  )
  const words = await opened(
    sql,
    await sql.rows<SealedNote>(
      `SELECT newest.* FROM unnest(?::bigint[]) AS wanted (s) JOIN LATERAL (
         SELECT * FROM said WHERE n = ANY (ARRAY((SELECT n FROM said WHERE said.s = wanted.s ORDER BY at DESC, n DESC LIMIT ?)
           UNION ${openNotes('wanted.s')}))) AS newest ON true ORDER BY at, n`,
      all,
      most?.words ?? null,
    ),
  )
  return subjects.map(({ s, tenant, kind, id, lang, deleted_at }) => ({
    subject: { tenant, postId: id, kind },
    lang,
    deletedAt: deleted_at,
    verdicts: rulings.rows.filter((row) => row.s === s).map(recordedVerdict),
    said: words.rows.filter((row) => row.s === s).map(recordedWord),
  }))
}
