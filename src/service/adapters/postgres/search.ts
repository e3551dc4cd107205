import type { RecordFilter } from '../../ports/record.ts'
import { MOST_CANDIDATES } from '../../record/recorded.ts'
import type { Database, Sql } from './connection.ts'
import { keysOf, unsealed } from './seals.ts'

/** How long a search may go on, in ms. */
const MOST_SEARCH_MS = 500
/** The newest documents of all, which are read one by one: a term that is in many of them is found without the index. */
const WALKED = 500
/** Candidates of the first look by the index; each further one has four times as many. */
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
 * at a time, with all that the day has. So the very newest are walked through first. Ends early after `MOST_CANDIDATES`, or when it
 * has gone on for long.
 */
export async function searched(
  db: Database,
  sought: Sought,
  limit: number,
): Promise<{ docs: number[]; stoppedEarly: boolean }> {
  const docs: number[] = []
  const until = performance.now() + MOST_SEARCH_MS
  const { grams, filter } = sought
  const first = /^\d{1,15}$/.test(filter.before ?? '') ? Number(filter.before) : Number.MAX_SAFE_INTEGER
  if (filter.before !== undefined && first === Number.MAX_SAFE_INTEGER) return { docs, stoppedEarly: false }
  const newest = await walked(db, grams, first, until)
  if (newest === null) return { docs, stoppedEarly: true }
  docs.push(...(await fitting(db, sought, newest.page)))
  if (docs.length >= limit) return { docs: docs.slice(0, limit), stoppedEarly: false }
  if (newest.end === null) return { docs, stoppedEarly: false }
  let before = newest.end
  for (let [look, looked] = [Math.max(FIRST_LOOK, limit), newest.page.length]; ; look *= 4) {
    const page = await candidates(db, grams, before, look, until)
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

/** Does this with these settings, within the time that is left; null if it took too long. */
async function within<Result>(
  db: Database,
  until: number,
  off: readonly string[],
  work: (sql: Sql) => Promise<Result>,
): Promise<Result | null> {
  const left = Math.max(1, Math.ceil(until - performance.now()))
  try {
    return await db.transaction(async (sql) => {
      await sql.rows(
        `SELECT set_config('statement_timeout', ?, true), set_config(name, 'off', true) FROM unnest(?::text[]) AS name`,
        ...[`${left}ms`, ['jit', ...off]],
      )
      return work(sql)
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === CANCELLED) return null
    throw error
  }
}

/** Of the newest documents those with all grams, and the oldest that was looked at; that is null if there are no more. */
async function walked(db: Database, grams: readonly number[], before: number, until: number) {
  return within(db, until, ['enable_bitmapscan', 'enable_seqscan'], async (sql) => {
    const [last] = await sql.rows<{ doc: number }>(
      'SELECT doc FROM texts WHERE doc < ?::bigint ORDER BY doc DESC OFFSET ? LIMIT 1',
      ...[before, WALKED - 1],
    )
    const page = await sql.rows<Candidate>(
      `SELECT doc, k, sealed FROM texts WHERE doc >= ?::bigint AND doc < ?::bigint AND grams @> ?::int[] ORDER BY doc DESC`,
      ...[last?.doc ?? 0, before, grams],
    )
    return { page, end: last?.doc ?? null }
  })
}

async function candidates(db: Database, grams: readonly number[], before: number, most: number, until: number) {
  // Only by the index of grams: the planner takes common ones for rare, as each alone were.
  return within(db, until, ['enable_seqscan', 'enable_indexscan'], (sql) =>
    sql.rows<Candidate>(
      'SELECT doc, k, sealed FROM texts WHERE grams @> ?::int[] AND doc < ?::bigint ORDER BY doc DESC LIMIT ?',
      ...[grams, before, most],
    ),
  )
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
