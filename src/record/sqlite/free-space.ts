import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { nodeFlags } from '../../platform/node-flags.js'
import { isInMemory } from './schema.ts'
import type { Sql } from './sql.ts'

const PROCESS = join(import.meta.dirname, `free-space-process${extname(import.meta.filename)}`)
/** Bytes of the file that one step reads while nobody else writes. */
const STEP_BYTES = 64 * 2 ** 20
/** Between two steps, in ms: a process a step, and those who write wait for it. */
const PACE_MS = 10_000
/** After a step, and after a pass, so many times as long as it took is waited. */
const REST = 10
/** A step that takes longer is given up, in ms: others who write wait for five seconds at most. */
const STEP_MS = 4_000
/** From here on the number of a page can look like the kind of one: 2^25 pages of 4 KiB. Larger files are left as they are. */
const MOST_BYTES = 2 ** 37

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
  #passBegan = 0
  #notBefore = Number.NEGATIVE_INFINITY

  constructor(path: string, sql: Sql) {
    this.#path = path
    this.#sql = sql
  }

  /** Rows were removed: a pass that begins after this zeroes what is left of them. */
  note(): void {
    if (this.#next === null) this.#next = 0
    else this.#isPassDue = true
  }

  /** One step; none while a log holds pages, for those would come over what it zeroes. Throws if it can't be done. */
  step(): void {
    const began = performance.now()
    if (this.#next === null || isInMemory(this.#path) || began < this.#notBefore) return
    const from = this.#next
    if (from === 0) this.#passBegan = began
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0
    const child = size > MOST_BYTES ? { status: 0 } : this.#alone(() => this.#zeroed(from))
    const now = performance.now()
    this.#notBefore = now + Math.max(PACE_MS, REST * (now - began))
    if (child === null) return
    if (child.status !== 0)
      throw new Error(`what deleted rows left in ${this.#path} was not overwritten (${child.signal ?? child.status})`)
    this.#next = size > MOST_BYTES ? size : from + STEP_BYTES
    if (this.#next < size) return
    if (from > 0) this.#notBefore = now + REST * (now - this.#passBegan)
    this.#next = this.#isPassDue ? 0 : null
    this.#isPassDue = false
  }

  /** In a process of its own: where one that has the file open by SQLite closes it by other means, its locks are lost. */
  #zeroed(from: number): { readonly status: number | null; readonly signal?: string | null } {
    const args = [...nodeFlags(), PROCESS, this.#path, String(from), String(from + STEP_BYTES)]
    return spawnSync(process.execPath, args, { stdio: 'ignore', timeout: STEP_MS })
  }

  /** Does this while the file has all that was written and nobody writes; null if somebody does. */
  #alone<Result>(work: () => Result): Result | null {
    this.#sql.exec('PRAGMA busy_timeout = 0')
    try {
      if (this.#sql.get<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)')?.busy !== 0) return null
      // Pages that this connection has read must not be written again as they were.
      this.#sql.exec('PRAGMA shrink_memory')
      return this.#sql.transaction(() => {
        if ((statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return null
        const done = work()
        // Other connections read their pages anew once something was written.
        this.#sql.run("INSERT OR REPLACE INTO meta VALUES ('cleared', ?)", String(Date.now()))
        return done
      })
    } finally {
      this.#sql.exec('PRAGMA busy_timeout = 5000')
    }
  }
}
