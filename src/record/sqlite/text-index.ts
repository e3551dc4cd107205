import { hash } from 'node:crypto'
import { folded, GRAMS_VERSION, gramsOf } from '../grams.ts'
import type { ArrivalCounter } from './arrivals.ts'
import type { Sql } from './sql.ts'

/** Raised, beside that of the grams, with every change of what the index has of a text. */
export const INDEX_VERSION = `${GRAMS_VERSION}.tenants`

/** Beside the grams of each text stands whose it is: others' texts are no candidates. It is longer than any gram. */
export const tenantToken = (tenant: string) => `tenant${hash('sha256', tenant).slice(0, 16)}`

const tokensOf = (text: string, tenant: string) => [tenantToken(tenant), ...gramsOf(text)].join(' ')

/** The texts of standing verdicts, and the index of their grams. */
export class TextIndex {
  readonly #sql: Sql

  readonly #arrivals: ArrivalCounter

  constructor(sql: Sql, arrivals: ArrivalCounter) {
    this.#sql = sql
    this.#arrivals = arrivals
  }

  index(doc: number): void {
    const row = this.#sql.get<{ s: number; id: string; tenant: string; json: string }>(
      'SELECT s, id, tenant, json FROM rulings WHERE doc = ?',
      doc,
    )
    if (row === undefined) return
    const own = this.#sql.get<{ words: string | null }>('SELECT words FROM transcripts WHERE id = ?', row.id)
    // A human's verdict has seen what the machine's before it saw.
    const words =
      own?.words ??
      this.#sql.get<{ words: string | null }>(
        'SELECT words FROM transcripts WHERE s = ? AND bare = 0 AND words IS NOT NULL ORDER BY at DESC LIMIT 1',
        row.s,
      )?.words
    const { rationale } = JSON.parse(row.json) as { rationale: string }
    const text = folded(`${words ?? ''}\n${rationale}`)
    if (text !== '') {
      this.#sql.run('INSERT INTO texts VALUES (?, ?)', doc, text)
      this.#sql.run('INSERT INTO found (rowid, g) VALUES (?, ?)', doc, tokensOf(text, row.tenant))
    }
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

  /** Another version: the index is made anew from the texts, which are made anew from what they were made of. */
  indexAnew(): void {
    this.#sql.transaction(() => {
      this.#sql.exec(
        "INSERT INTO found (found) VALUES ('delete-all'); DELETE FROM texts; UPDATE rulings SET indexed = 0",
      )
      this.#sql.run("UPDATE meta SET v = ? WHERE k = 'grams'", INDEX_VERSION)
    })
  }
}
