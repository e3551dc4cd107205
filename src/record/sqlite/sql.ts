import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { guarded } from './schema.ts'

/** A connection with its prepared statements. */
export class Sql {
  readonly #path: string
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, ReturnType<DatabaseSync['prepare']>>()

  constructor(path: string, db: DatabaseSync) {
    this.#path = path
    this.#db = db
  }

  /** Does all of it or nothing. Throws `RecordFull`, `RecordDamaged`. */
  transaction<Result>(work: () => Result): Result {
    return this.#within('BEGIN IMMEDIATE', work)
  }

  /** Reads all of it from one state of the file, whatever is written meanwhile. Throws `RecordDamaged`. */
  snapshot<Result>(work: () => Result): Result {
    return this.#within('BEGIN', work)
  }

  #within<Result>(begin: string, work: () => Result): Result {
    return guarded(this.#path, () => {
      this.#db.exec(begin)
      try {
        const result = work()
        this.#db.exec('COMMIT')
        return result
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
        throw error
      }
    })
  }

  run(sql: string, ...values: SQLInputValue[]) {
    return this.prepared(sql).run(...values)
  }

  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.prepared(sql).get(...values) as Row | undefined
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return guarded(this.#path, () => this.prepared(sql).all(...values) as Row[])
  }

  prepared(sql: string) {
    const made = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, made)
    return made
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  close(): void {
    this.#db.close()
  }
}
