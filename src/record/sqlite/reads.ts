import { statSync } from 'node:fs'
import { zstdDecompressSync } from 'node:zlib'
import { SUBJECT_KINDS, type SubjectKind, type ThreadRef } from '../../contracts/facts/thread.ts'
import {
  type AppealsAsked,
  MOST_ERASED,
  MOST_VERDICTS,
  MOST_WORDS,
  type RecordedAppeal,
  type RecordFilter,
  type RecordHistogram,
  type RecordSize,
  type WrittenPage,
} from '../../contracts/ports/record.ts'
import { GIVEN_UP_OF, OUTLIVES } from '../actions.ts'
import { appealsRead, openNotes } from '../appeal-rows.ts'
import { type AppealReadRow, recordedAppeal } from '../appeals.ts'
import { conditionsOf, docsBetween, markSoughtBy } from '../conditions.ts'
import { AUDIT_CHANCE } from '../draws.ts'
import { gramsOf, readingsOf } from '../grams.ts'
import { LARGEST } from '../held.ts'
import { histogramOf, histogramQuery } from '../histogram.ts'
import {
  type ListedRow,
  MOST_CANDIDATES,
  MOST_LEFT,
  type NoteOfSubject,
  type NoteRow,
  type RulingRow,
} from '../record-rows.ts'
import { FILTERED, FILTERED_BY_TENANT, reading } from './schema.ts'
import { Sql } from './sql.ts'
import { INDEX_VERSION, isFolded, tenantToken } from './text-index.ts'
import { writtenBy } from './written.ts'

/** One subject as the file has it; the JSON in it is parsed elsewhere. */
export interface StoredSubject {
  readonly subject: ThreadRef
  readonly lang: string | null
  readonly deletedAt: number | null
  readonly verdicts: readonly RulingRow[]
  readonly said: readonly NoteRow[]
}

const RULING = 'json, standing, contested, conflicting, erased, sampled'
/** A row with its subject. */
const LISTED = `rulings.doc, ${RULING}, subjects.tenant, kind, subjects.id AS subject, author, lang, begins AS words,
  coalesce(images, 0) AS pictures`

/** How long a search may go on, in ms, and after how many candidates that is asked. */
const [MOST_SEARCH_MS, LOOKS_A_TIME] = [200, 100]
/** The newest verdicts whose texts are searched first, and then twice as many: after each part it is asked whether that is enough. */
const SEARCHED_FIRST = 10_000
/** Grams of a reading that the index is asked for, from all parts of it; a text that has these is looked at whole. */
const MOST_GRAMS = 24

/** Of more, verdicts are looked for among those of all tenants. */
const MOST_APART = 8

/** Of more, all tenants' texts are looked at. */
const MOST_TENANTS = 50

/** The kinds are named: by tenant and id alone every subject of the tenant would be looked at. */
const SUBJECTS = `SELECT * FROM subjects WHERE tenant = ? AND kind IN (${SUBJECT_KINDS.map(() => '?').join(', ')}) AND id = ? ORDER BY kind`

/** Numbers of verdicts, from the first of these on and before the second. */
interface Stretch {
  readonly from: number
  readonly to: number
  readonly isLast: boolean
}

/** Questions to the record's file, over a connection that only reads. Each is short: who reads holds up erasure from the log. */
export class RecordReads {
  readonly #path: string
  readonly #sql: Sql
  readonly #now: () => number

  constructor(path: string, now = () => performance.now()) {
    this.#path = path
    this.#now = now
    this.#sql = new Sql(path, reading(path))
  }

  /** What SQLite's own quick check finds wrong with the file, the first of it; null if nothing. It reads all of the file. */
  damage(): string | null {
    const [row] = this.#sql.all<{ quick_check: string }>('PRAGMA quick_check(1)')
    return row?.quick_check === 'ok' ? null : (row?.quick_check ?? 'the check returns nothing')
  }

  /** By what this file draws verdicts for audit: a file that takes its place draws the same ones. */
  drawKey(): string {
    return this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'draws'")?.v ?? ''
  }

  name(): string {
    return this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'name'")?.v ?? ''
  }

  subject({ tenant, id, kind }: { tenant: string; id: string; kind?: SubjectKind | undefined }): StoredSubject | null {
    const found = this.#sql.snapshot(() =>
      this.#sql
        .all<SubjectRow>(SUBJECTS, tenant, ...SUBJECT_KINDS, id)
        .map((row) => this.#rowsOf(row, MOST_VERDICTS, MOST_WORDS)),
    )
    const wanted = found.filter(({ subject }) => kind === undefined || subject.kind === kind)
    return wanted.find((one) => one.deletedAt !== null || one.verdicts.length + one.said.length > 0) ?? null
  }

  writtenBy(author: { tenant: string; author: string }, after: string | null, most: number): WrittenPage {
    return this.#sql.snapshot(() => writtenBy(this.#sql, author, after, most))
  }

  /** The subjects behind this one that have anything to export, or that people decided on, each whole. */
  page(after: number, most: number, only: 'decided' | undefined): { last: number; subjects: StoredSubject[] } {
    const decided = `AND (EXISTS (SELECT 1 FROM said WHERE said.s = subjects.s AND said = 'decision')
      OR EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s AND decided_by = 'human'))`
    const sql = `SELECT * FROM subjects WHERE s > ? ${only === 'decided' ? decided : ''} ORDER BY s LIMIT ?`
    const rows = this.#sql.snapshot(() =>
      this.#sql.all<SubjectRow>(sql, after, most).map((row) => ({ s: row.s, rows: this.#rowsOf(row) })),
    )
    const subjects = rows.flatMap((one) => (one.rows.verdicts.length + one.rows.said.length > 0 ? [one.rows] : []))
    return { last: rows.at(-1)?.s ?? -1, subjects: subjects.filter((one) => !isDeleted(one)) }
  }

  /** `mostVerdicts`, `mostWords`: those that stand and the newest, and the newest of what was said of it; all otherwise. */
  #rowsOf({ s, tenant, kind, id, lang, deleted_at }: SubjectRow, mostVerdicts = -1, mostWords = -1): StoredSubject {
    return {
      subject: { tenant, postId: id, kind },
      lang,
      deletedAt: deleted_at,
      verdicts: this.#sql.all<RulingRow>(
        `SELECT ${RULING} FROM
         (SELECT * FROM rulings WHERE s = ? ORDER BY standing DESC, doc DESC LIMIT ?) ORDER BY doc`,
        s,
        mostVerdicts,
      ),
      said: this.#sql.all<NoteRow>(
        `SELECT said, id, protocol, label, by, at, json FROM
         said WHERE n IN (SELECT n FROM (SELECT n FROM said WHERE s = ? ORDER BY at DESC, n DESC LIMIT ?) UNION ${openNotes('?')})
         ORDER BY at, n`,
        s,
        mostWords,
        s,
      ),
    }
  }

  #listed(doc: number): ListedRow[] {
    return this.#sql.all<ListedRow>(`SELECT ${LISTED} FROM rulings JOIN subjects USING (s) WHERE doc = ?`, doc)
  }

  verdict(id: string, tenants: readonly string[] | undefined): ListedRow | null {
    const { sql, values } = conditionsOf(tenants === undefined ? {} : { tenants })
    return this.#sql.snapshot(() => {
      const [row] = this.#sql.all<{ doc: number }>(`SELECT doc FROM rulings WHERE id = ? AND ${sql}`, id, ...values)
      return (row === undefined ? undefined : this.#listed(row.doc)[0]) ?? null
    })
  }

  word(id: string, tenants: readonly string[] | undefined): NoteOfSubject | null {
    const [row] = this.#sql.all<NoteOfSubject>(
      'SELECT said, said.id, protocol, label, by, at, json, tenant, kind, subjects.id AS subject FROM said JOIN subjects USING (s) WHERE said.id = ?',
      id,
    )
    return row === undefined || tenants?.includes(row.tenant) === false ? null : row
  }

  appeals(tenant: string, of: AppealsAsked): RecordedAppeal[] {
    const [sql, ...values] = appealsRead(tenant, of)
    return this.#sql.all<AppealReadRow>(sql, ...values).map(recordedAppeal)
  }

  actionsAfter(n: number, most: number): (NoteRow & { n: number })[] {
    return this.#sql.all<NoteRow & { n: number }>(
      `SELECT n, said, id, protocol, label, by, at, json FROM said WHERE n > ? AND ${OUTLIVES} ORDER BY n LIMIT ?`,
      n,
      most,
    )
  }

  givenUp(tenant: string): string[] {
    return this.#sql.all<{ action: string }>(GIVEN_UP_OF, tenant).map(({ action }) => action)
  }

  find(filter: RecordFilter, limit: number): ListedRow[] {
    const { tenants = [] } = filter
    return this.#sql.snapshot(() => {
      const isApart = tenants.length > 0 && tenants.length <= MOST_APART && this.#has(FILTERED_BY_TENANT)
      const docs = isApart
        ? tenants.flatMap((one) => this.#docs({ ...filter, tenants: [one] }, limit, FILTERED_BY_TENANT))
        : this.#docs(filter, limit, FILTERED)
      const newest = isApart ? docs.toSorted((a, b) => b - a).slice(0, limit) : docs
      return newest.flatMap((doc) => this.#listed(doc))
    })
  }

  /** The newest that fit, by an index that has all that a filter asks for: a row that fits is not looked for among whole rows. */
  #docs(filter: RecordFilter, limit: number, index: string): number[] {
    const { sql, values } = conditionsOf(filter)
    const mark = markSoughtBy(filter)
    const by = filter.subject === undefined && this.#has(index) ? `INDEXED BY ${index}` : ''
    const wanted =
      mark === undefined
        ? `SELECT doc FROM rulings ${by} WHERE ${sql} ORDER BY doc DESC LIMIT ?`
        : `SELECT rulings.doc FROM marks CROSS JOIN rulings ${by} ON rulings.doc = marks.doc
           WHERE marks.mark = ? AND marks.value = ? AND ${sql} ORDER BY marks.doc DESC LIMIT ?`
    return this.#sql.all<{ doc: number }>(wanted, ...(mark ?? []), ...values, limit).map(({ doc }) => doc)
  }

  /** In a file that its writer has not opened yet since an index came, it is not there. */
  #has(index: string): boolean {
    return this.#sql.get('SELECT 1 FROM sqlite_schema WHERE name = ?', index) !== undefined
  }

  histogram(filter: RecordFilter, of: { width: number; most: number }): RecordHistogram {
    const { sql, values } = histogramQuery(filter, of)
    return histogramOf(this.#sql.all(sql, ...values), of)
  }

  arrivals(after: string | null, most: number) {
    return this.#sql.snapshot(() => this.#arrivals(after, most))
  }

  #arrivals(after: string | null, most: number) {
    const meta = new Map(this.#sql.all<{ k: string; v: string }>('SELECT k, v FROM meta').map(({ k, v }) => [k, v]))
    const [file, now] = [meta.get('file') ?? '', Number(meta.get('arrivals') ?? 0)]
    const [of, seen] = after?.split('/') ?? []
    const since = of === file && /^\d{1,15}$/.test(seen ?? '') ? Number(seen) : now
    const docs = this.#sql.all<{ doc: number; seq: number }>(
      'SELECT doc, seq FROM rulings WHERE seq > ? AND standing = 1 ORDER BY seq LIMIT ?',
      since,
      most,
    )
    const upTo = docs.length < most ? now : (docs.at(-1)?.seq ?? now)
    const erased = this.#sql.all<SubjectRow>(
      'SELECT * FROM subjects WHERE gone_seq > ? AND gone_seq <= ? ORDER BY gone_seq LIMIT ?',
      since,
      upTo,
      MOST_ERASED + 1,
    )
    const [left] = this.#sql.all<{ n: number }>(
      'SELECT count(*) AS n FROM (SELECT 1 FROM rulings WHERE seq > ? AND standing = 1 LIMIT ?)',
      upTo,
      MOST_LEFT,
    )
    return {
      rows: docs.flatMap(({ doc }) => this.#listed(doc)),
      erased: erased.length > MOST_ERASED ? null : erased.map(({ tenant, kind, id }) => ({ tenant, kind, postId: id })),
      at: `${file}/${upTo}`,
      left: left?.n ?? 0,
    }
  }

  /** Ends early after `MOST_CANDIDATES`, or when it has gone on for long: meanwhile nothing else is read. */
  search(
    query: string,
    filter: RecordFilter,
    limit: number,
  ): { found: ListedRow[]; stoppedEarly: boolean; reindexing: boolean } {
    const readings = readingsOf(query)
    const until = this.#now() + MOST_SEARCH_MS
    if (readings.length === 0 || filter.tenants?.length === 0)
      return { found: [], stoppedEarly: false, reindexing: false }
    const match = [`(${readings.map(matchOf).join(' OR ')})`, ...this.#ownOf(filter)].join(' AND ')
    const { sql, values } = conditionsOf(filter)
    const holds = readings.map((terms) => terms.map(() => 'instr(texts.folded, ?) > 0').join(' AND ')).join(' OR ')
    const candidates = this.#sql.prepared(
      `SELECT rulings.doc, (${holds}) AND ${sql} AS fits FROM found CROSS JOIN texts ON texts.doc = found.rowid
       CROSS JOIN rulings ON rulings.doc = found.rowid
       WHERE found MATCH ? AND found.rowid >= CAST(? AS INTEGER) AND found.rowid < CAST(? AS INTEGER)
       ORDER BY found.rowid DESC`,
    )
    return this.#sql.snapshot(() => {
      const docs: number[] = []
      let [looked, stoppedEarly] = [0, false]
      for (const { from, to, isLast } of this.#stretches(filter)) {
        for (const row of candidates.iterate(...readings.flat(), ...values, match, from, to)) {
          if (row.fits === 1) docs.push(Number(row.doc))
          if (docs.length === limit) break
          stoppedEarly = ++looked === MOST_CANDIDATES || (looked % LOOKS_A_TIME === 0 && this.#now() > until)
          if (stoppedEarly) break
        }
        if (docs.length === limit || isLast) break
        stoppedEarly ||= this.#now() > until
        if (stoppedEarly) break
      }
      return { found: docs.flatMap((doc) => this.#listed(doc)), stoppedEarly, reindexing: !isFolded(this.#sql) }
    })
  }

  /** Where the verdicts lie of which the texts are searched one part after the other: from the first of these on, before the second. */
  *#stretches(filter: RecordFilter): Generator<Stretch> {
    const by = this.#has(FILTERED) ? `INDEXED BY ${FILTERED}` : ''
    const [first, end] = docsBetween(filter)
    const newest = filter.before === undefined ? end : Number.parseInt(filter.before, 10) || 0
    for (let [to, many] = [Math.min(newest, end), SEARCHED_FIRST]; ; many *= 2) {
      const last = this.#sql.get<{ doc: number }>(
        `SELECT doc FROM rulings ${by} WHERE doc < ? ORDER BY doc DESC LIMIT 1 OFFSET ?`,
        to,
        many - 1,
      )
      if (last === undefined || last.doc <= first) return yield { from: first, to, isLast: true }
      yield { from: last.doc, to, isLast: false }
      to = last.doc
    }
  }

  /** Finds texts of the filter's tenants alone. In a file that its writer has not indexed anew yet, all are looked at. */
  #ownOf({ tenants = [] }: RecordFilter): string[] {
    if (tenants.length === 0 || tenants.length > MOST_TENANTS) return []
    const version = this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'grams'")?.v
    return version === INDEX_VERSION ? [`(${tenants.map(tenantToken).join(' OR ')})`] : []
  }

  auditChance({ tenant, kind, postId }: ThreadRef, protocol: string): number | null {
    return this.#sql.get<{ chance: number }>(AUDIT_CHANCE, tenant, kind, postId, protocol)?.chance ?? null
  }

  transcript(verdictId: string): string | null {
    const [row] = this.#sql.all<{ z: Uint8Array | null }>('SELECT z FROM transcripts WHERE id = ?', verdictId)
    return row?.z === null || row === undefined ? null : zstdDecompressSync(row.z).toString('utf8')
  }

  counts(): Omit<RecordSize, 'full' | 'overShare' | 'erasingSince'> {
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
      largest: this.#largest(),
      bytes: [this.#path, `${this.#path}-wal`].reduce((sum, file) => sum + sizeOf(file), 0),
    }
  }

  /** The tenant that holds most; null while fewer than two hold anything, and before a process that counts it has written. */
  #largest(): RecordSize['largest'] {
    const isCounted = this.#sql.get("SELECT 1 FROM sqlite_schema WHERE name = 'held_by'") !== undefined
    const [largest, other] = isCounted ? this.#sql.all<{ tenant: string; bytes: number }>(LARGEST('held_by')) : []
    return largest === undefined || other === undefined ? null : { ...largest }
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
  readonly lang: string | null
  readonly deleted_at: number | null
}

/** Texts that have these terms' grams, or of many some, as FTS5 is asked for them. */
function matchOf(terms: readonly string[]): string {
  const grams = [...new Set(terms.flatMap((term) => [...gramsOf(term)]))]
  const step = Math.max(1, grams.length / MOST_GRAMS)
  const some = grams.filter((_, nth) => Math.floor(nth / step) !== Math.floor((nth - 1) / step))
  return `(${some.map((gram) => `"${gram}"`).join(' AND ')})`
}

/** It was deleted, and not judged since. */
function isDeleted({ deletedAt, verdicts }: StoredSubject): boolean {
  return (
    deletedAt !== null &&
    verdicts.every(({ json }) => (JSON.parse(json) as { decidedBy: string }).decidedBy === 'deleted')
  )
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
