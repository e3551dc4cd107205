import type { Sql } from './connection.ts'
import { COUNTERS } from './schema.ts'

type Counter = (typeof COUNTERS)[number]

/** Numbers that were given and rows that are there, within one transaction: who has read them is alone in writing. */
export class Counters {
  readonly #sql: Sql
  readonly #now: Map<Counter, number>
  readonly #before: ReadonlyMap<Counter, number>

  private constructor(sql: Sql, now: Map<Counter, number>) {
    this.#sql = sql
    this.#now = now
    this.#before = new Map(now)
  }

  /** Waits until no other process writes. */
  static async locked(sql: Sql): Promise<Counters> {
    const rows = await sql.rows<{ k: Counter; n: number }>('SELECT k, n FROM counters ORDER BY k FOR UPDATE')
    return new Counters(sql, new Map(rows.map(({ k, n }) => [k, n])))
  }

  next(counter: Counter): number {
    return this.add(counter, 1)
  }

  add(counter: Counter, more: number): number {
    const n = (this.#now.get(counter) ?? 0) + more
    this.#now.set(counter, n)
    return n
  }

  async save(): Promise<void> {
    const changed = COUNTERS.filter((k) => this.#now.get(k) !== this.#before.get(k))
    if (changed.length === 0) return
    await this.#sql.run(
      'UPDATE counters SET n = fresh.n FROM unnest(?::text[], ?::bigint[]) AS fresh (k, n) WHERE counters.k = fresh.k',
      changed,
      changed.map((k) => this.#now.get(k) ?? 0),
    )
  }
}
