import { hash } from 'node:crypto'
import { FOLDING, folded, GRAMS_VERSION, gramsOf } from '../grams.ts'
import type { ArrivalCounter } from './arrivals.ts'
import type { Sql } from './sql.ts'

/** Raised, beside that of the grams, with every change of what the index has of a text. */
export const INDEX_VERSION = `${GRAMS_VERSION}.tenants`

/** Beside the grams of each text stands whose it is: others' texts are no candidates. It is longer than any gram. */
export const tenantToken = (tenant: string) => `tenant${hash('sha256', tenant).slice(0, 16)}`

const tokensOf = (text: string, tenant: string) => [tenantToken(tenant), ...gramsOf(text)].join(' ')

/** By which rules all texts were folded; and up to which document they were folded anew by which, newest first. */
const [FOLDED_BY, REFOLDING] = ['folding', 'refolding']

const metaOf = (sql: Sql, k: string) => sql.get<{ v: string }>('SELECT v FROM meta WHERE k = ?', k)?.v

/** Whether all texts were folded by today's rules, as terms of a search are. */
export const isFolded = (sql: Sql) => metaOf(sql, FOLDED_BY) === FOLDING

interface IndexedRow {
  readonly s: number
  readonly id: string
  readonly tenant: string
  readonly json: string
}

/** The texts of standing verdicts, and the index of their grams. */
export class TextIndex {
  readonly #sql: Sql

  readonly #arrivals: ArrivalCounter

  constructor(sql: Sql, arrivals: ArrivalCounter) {
    this.#sql = sql
    this.#arrivals = arrivals
  }

  /** A file without verdicts has none that was folded by other rules. */
  begin(): void {
    this.#sql.run('INSERT OR IGNORE INTO meta SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM rulings)', FOLDED_BY, FOLDING)
  }

  index(doc: number): void {
    const row = this.#rowOf(doc)
    if (row === undefined) return
    this.#write(doc, row.tenant, this.#textOf(row))
    for (const mark of ['author', 'lang'] as const)
      this.#sql.run(
        `INSERT OR IGNORE INTO marks SELECT ?, ${mark}, ? FROM subjects WHERE s = ? AND ${mark} IS NOT NULL`,
        mark,
        doc,
        row.s,
      )
    this.#sql.run('UPDATE rulings SET indexed = 1, seq = ? WHERE doc = ?', this.#arrivals.next(), doc)
  }

  unindex(doc: number): void {
    const text = this.#sql.get<{ folded: string; tenant: string }>(
      'SELECT folded, tenant FROM texts JOIN rulings USING (doc) WHERE doc = ?',
      doc,
    )
    if (text === undefined) return
    this.#sql.run(
      "INSERT INTO found (found, rowid, g) VALUES ('delete', ?, ?)",
      doc,
      tokensOf(text.folded, text.tenant),
    )
    this.#sql.run('DELETE FROM texts WHERE doc = ?', doc)
  }

  #rowOf(doc: number): IndexedRow | undefined {
    return this.#sql.get<IndexedRow>('SELECT s, id, tenant, json FROM rulings WHERE doc = ?', doc)
  }

  /** What a verdict is found by: what it was judged from, and why. `before`: what it was found by, where only that is left. */
  #textOf({ id, s, json }: IndexedRow, before?: string): string {
    const own = this.#sql.get<{ words: string | null }>('SELECT words FROM transcripts WHERE id = ?', id)
    // A human's verdict has seen what the machine's before it saw.
    const words =
      own?.words ??
      this.#sql.get<{ words: string }>(
        'SELECT words FROM transcripts WHERE s = ? AND bare = 0 AND words IS NOT NULL ORDER BY at DESC LIMIT 1',
        s,
      )?.words
    if (words === undefined && before !== undefined) return folded(before)
    const { rationale } = JSON.parse(json) as { rationale: string }
    return folded(`${words ?? ''}\n${rationale}`)
  }

  #write(doc: number, tenant: string, text: string): void {
    if (text === '') return
    this.#sql.run('INSERT INTO texts VALUES (?, ?)', doc, text)
    this.#sql.run('INSERT INTO found (rowid, g) VALUES (?, ?)', doc, tokensOf(text, tenant))
  }

  /**
   * Folds so many texts anew that were folded by other rules, newest first, and indexes those that have become others. It goes on
   * where it was, and does nothing once all are done.
   */
  refold(most: number): void {
    if (isFolded(this.#sql)) return
    this.#sql.transaction(() => {
      const [rules, at] = metaOf(this.#sql, REFOLDING)?.split(' ') ?? []
      const page = this.#sql.all<{ doc: number; folded: string }>(
        'SELECT doc, folded FROM texts WHERE doc < ? ORDER BY doc DESC LIMIT ?',
        rules === FOLDING ? Number(at) : Number.MAX_SAFE_INTEGER,
        most,
      )
      for (const { doc, folded: before } of page) {
        const row = this.#rowOf(doc)
        if (row === undefined) continue
        const text = this.#textOf(row, before)
        if (text === before) continue
        this.unindex(doc)
        this.#write(doc, row.tenant, text)
      }
      const last = page.length < most ? undefined : page.at(-1)
      const [k, v] = last === undefined ? [FOLDED_BY, FOLDING] : [REFOLDING, `${FOLDING} ${last.doc}`]
      this.#sql.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', k, v)
    })
  }

  /** Another version: the index is made anew from the texts, which are made anew from what they were made of. */
  indexAnew(): void {
    this.#sql.transaction(() => {
      this.#sql.exec(
        "INSERT INTO found (found) VALUES ('delete-all'); DELETE FROM texts; UPDATE rulings SET indexed = 0",
      )
      this.#sql.run("UPDATE meta SET v = ? WHERE k = 'grams'", INDEX_VERSION)
      this.#sql.run('DELETE FROM meta WHERE k IN (?, ?)', FOLDED_BY, REFOLDING)
    })
  }
}
