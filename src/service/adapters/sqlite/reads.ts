import { statSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import type { SubjectKind, ThreadRef } from '../../domain/thread.ts'
import type { RecordedRows, RecordFilter } from '../../ports/record.ts'
import { gramsOf, termsOf } from '../../record/grams.ts'
import { MOST_CANDIDATES, type RulingRow, type SaidRow } from '../../record/recorded.ts'
import { guarded, reading } from './schema.ts'
import { Sql } from './sql.ts'

/** One subject as the file has it; the JSON in it is parsed elsewhere. */
export interface SubjectRows {
  readonly subject: ThreadRef
  readonly deletedAt: number | null
  readonly verdicts: readonly RulingRow[]
  readonly said: readonly SaidRow[]
}

const RULING = 'json, standing, contested, erased'

/** Questions to the record's file, over a connection that only reads. Each is short: who reads holds up erasure from the log. */
export class RecordReads {
  readonly #path: string
  readonly #sql: Sql

  constructor(path: string) {
    this.#path = path
    this.#sql = new Sql(path, reading(path))
  }

  name(): string {
    return this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'name'")?.v ?? ''
  }

  subject({ tenant, id, kind }: { tenant: string; id: string; kind?: SubjectKind }): SubjectRows | null {
    const found = this.#sql
      .all<SubjectRow>('SELECT * FROM subjects WHERE tenant = ? AND id = ? ORDER BY kind', ...[tenant, id])
      .map((row) => this.#rowsOf(row))
    const wanted = found.filter(({ subject }) => kind === undefined || subject.kind === kind)
    return wanted.find((one) => one.deletedAt !== null || one.verdicts.length + one.said.length > 0) ?? null
  }

  /** The subjects behind this one that have anything to export, each whole. */
  page(after: number, most: number): { last: number; subjects: SubjectRows[] } {
    const rows = this.#sql.all<SubjectRow>('SELECT * FROM subjects WHERE s > ? ORDER BY s LIMIT ?', after, most)
    const subjects = rows
      .map((row) => this.#rowsOf(row))
      .filter(({ verdicts, said }) => verdicts.length + said.length > 0)
    return { last: rows.at(-1)?.s ?? -1, subjects: subjects.filter(({ verdicts }) => !isDeleted(verdicts)) }
  }

  #rowsOf({ s, tenant, kind, id, deleted_at }: SubjectRow): SubjectRows {
    return {
      subject: { tenant, postId: id, kind },
      deletedAt: deleted_at,
      verdicts: this.#sql.all<RulingRow>(`SELECT ${RULING} FROM rulings WHERE s = ? ORDER BY doc`, s),
      said: this.#sql.all<SaidRow>(
        'SELECT said, id, protocol, label, by, at, json FROM said WHERE s = ? ORDER BY at, n',
        s,
      ),
    }
  }

  find(filter: RecordFilter, limit: number): RulingRow[] {
    const { sql, values } = conditionsOf(filter)
    return this.#sql.all<RulingRow>(
      `SELECT ${RULING} FROM rulings WHERE ${sql} ORDER BY doc DESC LIMIT ?`,
      ...values,
      limit,
    )
  }

  search(query: string, filter: RecordFilter, limit: number): { found: RulingRow[]; stoppedEarly: boolean } {
    const terms = termsOf(query)
    if (terms.length === 0) return { found: [], stoppedEarly: false }
    const grams = new Set(terms.flatMap((term) => [...gramsOf(term)]))
    const match = [...grams].map((gram) => `"${gram}"`).join(' AND ')
    const { sql, values } = conditionsOf(filter)
    const holds = terms.map(() => 'instr(texts.folded, ?) > 0').join(' AND ')
    const candidates = this.#sql.prepared(
      `SELECT rulings.doc, (${holds}) AND ${sql} AS fits FROM found CROSS JOIN texts ON texts.doc = found.rowid
       CROSS JOIN rulings ON rulings.doc = found.rowid WHERE found MATCH ? ORDER BY found.rowid DESC`,
    )
    return guarded(this.#path, () => {
      const docs: number[] = []
      let looked = 0
      for (const row of candidates.iterate(...terms, ...values, match)) {
        if (row.fits === 1) docs.push(Number(row.doc))
        if (docs.length === limit) break
        if (++looked === MOST_CANDIDATES) break
      }
      const found = docs.flatMap((doc) => this.#sql.all<RulingRow>(`SELECT ${RULING} FROM rulings WHERE doc = ?`, doc))
      return { found, stoppedEarly: looked === MOST_CANDIDATES }
    })
  }

  transcript(verdictId: string): string | null {
    const [row] = this.#sql.all<{ z: Uint8Array | null }>('SELECT z FROM transcripts WHERE id = ?', verdictId)
    return row?.z === null || row === undefined ? null : zstdDecompressSync(row.z).toString('utf8')
  }

  counts(): { rows: Record<RecordedRows, number>; oldest: number | null; holes: number; bytes: number } {
    const count = (table: string) => this.#sql.get<{ n: number }>(`SELECT count(*) AS n FROM ${table}`)?.n ?? 0
    const [oldest] = this.#sql.all<{ at: number }>('SELECT decided_at AS at FROM rulings ORDER BY doc LIMIT 1')
    return {
      rows: {
        verdicts: count('rulings'),
        transcripts: count('transcripts'),
        said: count('said'),
        unread: count('unread'),
      },
      oldest: oldest?.at ?? null,
      holes: count('holes'),
      bytes: [this.#path, `${this.#path}-wal`].reduce((sum, file) => sum + sizeOf(file), 0),
    }
  }

  close(): void {
    this.#sql.close()
  }
}

interface SubjectRow {
  readonly s: number
  readonly tenant: string
  readonly kind: SubjectKind
  readonly id: string
  readonly deleted_at: number | null
}

/** Only its retraction is left. */
function isDeleted(verdicts: readonly RulingRow[]): boolean {
  return (
    verdicts.length > 0 &&
    verdicts.every(({ json }) => (JSON.parse(json) as { decidedBy: string }).decidedBy === 'deleted')
  )
}

function conditionsOf({ tenant, protocol, label, degraded, since }: RecordFilter) {
  const all: (readonly [sql: string, ...values: SQLInputValue[]])[] = [['1']]
  if (tenant !== undefined) all.push(['rulings.tenant = ?', tenant])
  if (protocol !== undefined) all.push(['rulings.protocol = ?', protocol])
  if (label === null) all.push(['rulings.label IS NULL'])
  else if (label !== undefined) all.push(['rulings.label = ?', label])
  if (degraded !== undefined) all.push(['rulings.degraded = 1'])
  if (since !== undefined) all.push(['rulings.decided_at >= ?', since])
  return { sql: all.map(([sql]) => sql).join(' AND '), values: all.flatMap(([, ...values]) => values) }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
