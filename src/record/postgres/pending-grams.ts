import type { Database } from './connection.ts'

/** So many grams are merged at a time: fewer cost more each, more are read by each search until then. */
const AT_A_TIME = 131_072

/**
 * GIN puts new grams into a list, and merges the list into the index when it is long: within the step that wrote the last of them,
 * while all other steps wait. So each day's list is merged here before that, beside the steps, over a connection of its own.
 */
export class PendingGrams {
  readonly #db: Database
  /** Grams by day. */
  readonly #waiting = new Map<number, number>()
  #merging: Promise<void> | null = null

  constructor(db: Database) {
    this.#db = db
  }

  /** After a step that put so many into the lists. */
  add(grams: ReadonlyMap<number, number>): void {
    for (const [day, more] of grams) this.#waiting.set(day, (this.#waiting.get(day) ?? 0) + more)
    const all = [...this.#waiting.values()].reduce((sum, of) => sum + of, 0)
    // Where this fails, the step that fills the list merges it.
    if (all >= AT_A_TIME && this.#merging === null) this.merge().catch(() => undefined)
  }

  /** Merges all that wait. */
  async merge(): Promise<void> {
    await this.#merging
    this.#merging = this.#merged().finally(() => {
      this.#merging = null
    })
    await this.#merging
  }

  async #merged(): Promise<void> {
    const days = [...this.#waiting.keys()]
    this.#waiting.clear()
    for (const day of days)
      await this.#db.rows(
        `SELECT gin_clean_pending_list(indexrelid) FROM pg_index
         JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
         WHERE indrelid = to_regclass(?) AND amname = 'gin'`,
        `blocks_${day}`,
      )
  }
}
