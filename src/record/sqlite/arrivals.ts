import type { Sql } from './sql.ts'

/** Numbers what comes into the record, in the order in which it is seen from outside. A number is never given twice. */
export class ArrivalCounter {
  readonly #sql: Sql
  #last: number
  #saved: number

  constructor(sql: Sql) {
    this.#sql = sql
    this.#last = Number(sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'arrivals'")?.v ?? 0)
    this.#saved = this.#last
  }

  next(): number {
    return ++this.#last
  }

  /** Writes the last number down, at the end of the step that gave it. */
  save(): void {
    if (this.#saved === this.#last) return
    this.#sql.run("UPDATE meta SET v = ? WHERE k = 'arrivals'", String(this.#last))
    this.#saved = this.#last
  }
}
