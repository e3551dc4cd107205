import type { RecordFilter } from '../../ports/record.ts'
import { MOST_CANDIDATES } from '../../record/recorded.ts'
import type { Database, Sql } from './connection.ts'
import { keysOf, unsealed } from './seals.ts'

/** How long a search may go on, in ms. */
const MOST_SEARCH_MS = 500
/** Candidates of the first look of a search; each further one has four times as many. */
const FIRST_LOOK = 200

interface Sought {
  readonly terms: readonly string[]
  readonly grams: readonly number[]
  readonly filter: RecordFilter
  readonly sql: string
  readonly values: readonly (string | number)[]
}

/**
 * The newest documents that hold all grams are looked at, day by day: an index of PostgreSQL's has no order, and is read for one day
 * at a time. Ends early after `MOST_CANDIDATES`, or when it has gone on for long.
 */
export async function searched(
  db: Database,
  sought: Sought,
  limit: number,
): Promise<{ docs: number[]; stoppedEarly: boolean }> {
  const docs: number[] = []
  const until = performance.now() + MOST_SEARCH_MS
  let before = /^\d{1,15}$/.test(sought.filter.before ?? '') ? Number(sought.filter.before) : Number.MAX_SAFE_INTEGER
  if (sought.filter.before !== undefined && before === Number.MAX_SAFE_INTEGER) return { docs, stoppedEarly: false }
  for (let [look, looked] = [Math.max(FIRST_LOOK, limit), 0]; ; look *= 4) {
    const page = await candidates(db, sought.grams, before, look, until)
    if (page === null) return { docs, stoppedEarly: true }
    docs.push(...(await fitting(db, sought, page)))
    looked += page.length
    if (docs.length >= limit) return { docs: docs.slice(0, limit), stoppedEarly: false }
    if (page.length < look) return { docs, stoppedEarly: false }
    if (looked >= MOST_CANDIDATES || performance.now() > until) return { docs, stoppedEarly: true }
    before = page.at(-1)?.doc ?? 0
  }
}

interface Candidate {
  readonly doc: number
  readonly k: number
  readonly sealed: Buffer
}

const CANCELLED = '57014'

/** null if it took too long. */
async function candidates(
  db: Database,
  grams: readonly number[],
  before: number,
  most: number,
  until: number,
): Promise<Candidate[] | null> {
  const left = Math.max(1, Math.ceil(until - performance.now()))
  try {
    return await db.transaction(async (sql: Sql) => {
      // Only by the index of grams: the planner takes common ones for rare, as each alone were.
      await sql.rows(
        `SELECT set_config('statement_timeout', ?, true), set_config('enable_seqscan', 'off', true),
           set_config('enable_indexscan', 'off', true), set_config('jit', 'off', true)`,
        `${left}ms`,
      )
      return sql.rows<Candidate>(
        'SELECT doc, k, sealed FROM texts WHERE grams @> ?::int[] AND doc < ?::bigint ORDER BY doc DESC LIMIT ?',
        ...[grams, before, most],
      )
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === CANCELLED) return null
    throw error
  }
}

/** Those that fit the filter and hold the terms. */
async function fitting(db: Database, sought: Sought, page: readonly Candidate[]): Promise<number[]> {
  if (page.length === 0) return []
  const { sql, values, terms } = sought
  const fit = await db.rows<{ doc: number }>(
    `SELECT doc FROM rulings WHERE doc = ANY (?::bigint[]) AND ${sql}`,
    ...[page.map(({ doc }) => doc), ...values],
  )
  const wanted = new Set(fit.map(({ doc }) => doc))
  const some = page.filter(({ doc }) => wanted.has(doc))
  const keys = await keysOf(
    db,
    some.map(({ k }) => k),
  )
  return some.flatMap(({ doc, k, sealed }) => {
    const key = keys.get(k)
    if (key === undefined) return []
    const text = unsealed(key, sealed).toString('utf8')
    return terms.every((term) => text.includes(term)) ? [doc] : []
  })
}
