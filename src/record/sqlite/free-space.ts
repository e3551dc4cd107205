import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { nodeFlags } from '../../platform/node-flags.js'
import { isInMemory } from './schema.ts'
import type { Sql } from './sql.ts'

const PROCESS = join(import.meta.dirname, `free-space-process${extname(import.meta.filename)}`)
/** Bytes of the file that one step reads while nobody else writes. */
const STEP_BYTES = 128 * 2 ** 20
/** Between two steps, in ms: a process a step, and those who write wait for it. */
const PACE_MS = 10_000
/** A step that takes longer is given up, in ms. */
const STEP_MS = 30_000

/**
 * The unused middle of SQLite's pages. `secure_delete` zeroes what is deleted, but a page that was balanced with its neighbours keeps
 * the bytes of rows that it gave away between its pointers and its cells, and nothing zeroes those once the rows are deleted where they
 * are. So the pages are read, a step at a time, from the last removal until each was seen once.
 */
export class FreeSpace {
  readonly #path: string
  readonly #sql: Sql
  /** From which byte on the pass goes on; null while there is none. What earlier processes left is not known: the first begins at once. */
  #next: number | null = 0
  #isPassDue = false
  #steppedAt = Number.NEGATIVE_INFINITY

  constructor(path: string, sql: Sql) {
    this.#path = path
    this.#sql = sql
  }

  /** Rows were removed: a pass that begins after this zeroes what is left of them. */
  note(): void {
    if (this.#next === null) this.#next = 0
    else this.#isPassDue = true
  }

  /** One step; none while a log holds pages, for those would come over what it zeroes. */
  step(): void {
    if (this.#next === null || isInMemory(this.#path) || performance.now() - this.#steppedAt < PACE_MS) return
    const from = this.#next
    this.#steppedAt = performance.now()
    const isDone = this.#alone(() => {
      const args = [...nodeFlags(), PROCESS, this.#path, String(from), String(from + STEP_BYTES)]
      // In a process of its own: where one that has the file open by SQLite closes it by other means, its locks are lost.
      const child = spawnSync(process.execPath, args, { stdio: 'ignore', timeout: STEP_MS })
      return child.status === 0
    })
    if (!isDone) return
    this.#next = from + STEP_BYTES
    if (this.#next < (statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0)) return
    this.#next = this.#isPassDue ? 0 : null
    this.#isPassDue = false
  }

  /** Does this while the file has all that was written and nobody writes; false if somebody does. */
  #alone(work: () => boolean): boolean {
    this.#sql.exec('PRAGMA busy_timeout = 0')
    try {
      if (this.#sql.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')?.busy !== 0) return false
      // Pages that this connection has read must not be written again as they were.
      this.#sql.exec('PRAGMA shrink_memory')
      return this.#sql.transaction(() => {
        if ((statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return false
        const isDone = work()
        // Other connections read their pages anew once something was written.
        this.#sql.run("INSERT OR REPLACE INTO meta VALUES ('cleared', ?)", String(Date.now()))
        return isDone
      })
    } finally {
      this.#sql.exec('PRAGMA busy_timeout = 5000')
    }
  }
}
