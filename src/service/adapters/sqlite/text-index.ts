import { folded, GRAMS_VERSION, gramsOf } from '../../record/grams.ts'
import type { ArrivalCounter } from './arrivals.ts'
import type { Sql } from './sql.ts'

/** The texts of standing verdicts, and the index of their grams. */
export class TextIndex {
  readonly #sql: Sql

  readonly #arrivals: ArrivalCounter

  constructor(sql: Sql, arrivals: ArrivalCounter) {
    this.#sql = sql
    this.#arrivals = arrivals
  }

  index(doc: number): void {
    const row = this.#sql.get<{ s: number; id: string; json: string }>(
      'SELECT s, id, json FROM rulings WHERE doc = ?',
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
      this.#sql.run('INSERT INTO found (rowid, g) VALUES (?, ?)', doc, [...gramsOf(text)].join(' '))
    }
    for (const mark of ['author', 'lang'] as const)
      this.#sql.run(
        `INSERT OR IGNORE INTO marks SELECT ?, ${mark}, ? FROM subjects WHERE s = ? AND ${mark} IS NOT NULL`,
        ...[mark, doc, row.s],
      )
    this.#sql.run('UPDATE rulings SET indexed = 1, seq = ? WHERE doc = ?', this.#arrivals.next(), doc)
  }

  unindex(doc: number): void {
    const text = this.#sql.get<{ folded: string }>('SELECT folded FROM texts WHERE doc = ?', doc)
    if (text === undefined) return
    this.#sql.run(
      "INSERT INTO found (found, rowid, g) VALUES ('delete', ?, ?)",
      ...[doc, [...gramsOf(text.folded)].join(' ')],
    )
    this.#sql.run('DELETE FROM texts WHERE doc = ?', doc)
  }

  /** Another version of the grams: the index is made anew from the texts, which are made anew from what they were made of. */
  indexAnew(): void {
    this.#sql.transaction(() => {
      this.#sql.exec(
        "INSERT INTO found (found) VALUES ('delete-all'); DELETE FROM texts; UPDATE rulings SET indexed = 0",
      )
      this.#sql.run("UPDATE meta SET v = ? WHERE k = 'grams'", String(GRAMS_VERSION))
    })
  }
}
