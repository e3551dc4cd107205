import type { Sql } from './sql.ts'

/** Numbers what comes into the record, in the order in which it is seen from outside. A number is never given twice. */
export class ArrivalCounter {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  next(): number {
    const row = this.#sql.get<{ v: number }>(
      "UPDATE meta SET v = v + 1 WHERE k = 'arrivals' RETURNING CAST(v AS INTEGER) AS v",
    )
    return row?.v ?? 0
  }
}
