import type { RecordFilter } from '../../contracts/ports/record.ts'
import { PER_DAY } from '../documents.ts'
import { MOST_CANDIDATES } from '../record-rows.ts'
import type { Database, Sql } from './connection.ts'
import { keysOf, unsealed } from './seals.ts'
import { BLOCK_SPAN, indexKeyOf } from './texts.ts'

/** How long a search may go on, in ms. */
const MOST_SEARCH_MS = 200
/** The newest documents of all, which are read one by one: a term that is in many of them is found without the index. */
const WALKED = 500
/** Blocks of the first read of the index; each further one has four times as many. */
const FIRST_BLOCKS = 50
/** Days of the first read; once they are read, the next one has four times as many. */
const FIRST_DAYS = 1
/** Documents of blocks whose own grams are compared at a time, the newest first. */
const COMPARED = 1_000
/** Texts that are opened together. */
const OPENED = 100

/** One way to read a query: its terms, and the grams of them and of the only tenant. */
interface Reading {
  readonly terms: readonly string[]
  readonly grams: readonly number[]
}
interface Sought {
  readonly readings: readonly Reading[]
  readonly filter: RecordFilter
  readonly sql: string
  readonly values: readonly (string | number)[]
}

/**
 * The newest documents that hold all grams are looked at. First the very newest, one by one; then by the index, which has neighbours
 * in one row, some days at a time: an index of PostgreSQL's has no order, and is read with all that these days have. Ends early after
 * `MOST_CANDIDATES`, or when it has gone on for long.
 */
export async function searched(
  db: Database,
  sought: Sought,
  limit: number,
): Promise<{ hits: Hit[]; stoppedEarly: boolean }> {
  const hits: Hit[] = []
  const until = performance.now() + MOST_SEARCH_MS
  const { readings, filter } = sought
  const first = /^\d{1,15}$/.test(filter.before ?? '') ? Number(filter.before) : Number.MAX_SAFE_INTEGER
  if (filter.before !== undefined && first === Number.MAX_SAFE_INTEGER) return { hits, stoppedEarly: false }
  const newest = await walked(db, readings, first, until)
  if (newest === null) return { hits, stoppedEarly: true }
  hits.push(...(await fitting(db, sought, newest.page, limit, until)))
  if (hits.length >= limit) return { hits: hits.slice(0, limit), stoppedEarly: false }
  if (newest.end === null) return { hits, stoppedEarly: performance.now() > until }
  const before = newest.end
  // Blocks lie across each other: a document comes when no block that is left may hold a newer one.
  let waiting: number[] = []
  let [after, looked, days]: [Pick<FoundBlock, 'hi' | 'block'>, number, number] = [
    { hi: before + BLOCK_SPAN, block: 0 },
    newest.page.length,
    FIRST_DAYS,
  ]
  for (let blockCount = FIRST_BLOCKS; ; blockCount *= 4) {
    const from = (Math.ceil(after.hi / PER_DAY) - days) * PER_DAY
    const blocks = await blocksOf(db, readings, { before, after, from }, blockCount, until)
    if (blocks === null) return { hits, stoppedEarly: true }
    const isRead = blocks.length < blockCount
    if (isRead) days *= 4
    const last = !isRead ? blocks.at(-1) : from > newest.oldest ? { hi: from, block: 0 } : undefined
    const all = [...waiting, ...blocks.flatMap((block) => block.docs)]
    const isNext = (doc: number) => last === undefined || doc > last.hi
    waiting = all.filter((doc) => !isNext(doc))
    const next = all.filter((doc) => doc < before && isNext(doc)).sort((a, b) => b - a)
    for (let at = 0; at < next.length; at += COMPARED) {
      const page = await holding(db, readings, next.slice(at, at + COMPARED), until)
      if (page === null) return { hits, stoppedEarly: true }
      hits.push(...(await fitting(db, sought, page, limit - hits.length, until)))
      looked += page.length
      if (hits.length >= limit) return { hits: hits.slice(0, limit), stoppedEarly: false }
      if (looked >= MOST_CANDIDATES || performance.now() > until) return { hits, stoppedEarly: true }
    }
    if (last === undefined) return { hits, stoppedEarly: performance.now() > until }
    if (performance.now() > until) return { hits, stoppedEarly: true }
    after = last
  }
}

/** A document that fits, and which verdict it was. */
interface Hit {
  readonly doc: number
  readonly id: string
}

interface Candidate {
  readonly doc: number
  readonly k: number
}

/** A block that has all grams, in one of its documents or among them. */
interface FoundBlock {
  readonly hi: number
  readonly block: number
  readonly docs: readonly number[]
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
        `${left}ms`,
        ['jit', ...off],
      )
      return work(sql)
    })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === CANCELLED) return null
    throw error
  }
}

const HOLDS = 'grams @> ?::int[]'
const holdsAny = (readings: readonly Reading[]) => `(${readings.map(() => HOLDS).join(' OR ')})`
const gramsOf = (readings: readonly Reading[]) => readings.map(({ grams }) => grams)

/** Of the newest documents those with all grams; the oldest that was looked at, null if there are no more; and the oldest of all. */
async function walked(db: Database, readings: readonly Reading[], before: number, until: number) {
  return within(db, until, ['enable_bitmapscan', 'enable_seqscan'], async (sql) => {
    const [last] = await sql.rows<{ doc: number }>(
      'SELECT doc FROM texts WHERE doc < ?::bigint ORDER BY doc DESC OFFSET ? LIMIT 1',
      before,
      WALKED - 1,
    )
    const page = await sql.rows<Candidate>(
      `SELECT doc, k FROM texts WHERE doc >= ?::bigint AND doc < ?::bigint AND ${holdsAny(readings)} ORDER BY doc DESC`,
      last?.doc ?? 0,
      before,
      ...gramsOf(readings),
    )
    const [first] = await sql.rows<{ doc: number }>('SELECT doc FROM texts ORDER BY doc LIMIT 1')
    return { page, end: last?.doc ?? null, oldest: first?.doc ?? 0 }
  })
}

/** The next blocks, not beyond `from`, that have all grams; of their documents some are before this one. */
async function blocksOf(
  db: Database,
  readings: readonly Reading[],
  { before, after, from }: { before: number; after: Pick<FoundBlock, 'hi' | 'block'>; from: number },
  most: number,
  until: number,
) {
  // Only by the index of grams: the planner takes common ones for rare, as each alone were.
  return within(db, until, ['enable_seqscan', 'enable_indexscan'], async (sql) => {
    // Else the planner compares the grams of all blocks of a day wherever the index has a long list of what it has not sorted in yet.
    await sql.rows("SELECT set_config('cpu_operator_cost', '1000', true)")
    return sql.rows<FoundBlock>(
      `SELECT hi, block, docs FROM blocks WHERE ${holdsAny(readings)} AND hi >= ?::bigint AND hi <= ?::bigint
       AND (hi, block) < (?::bigint, ?::bigint) AND lo < ?::bigint ORDER BY hi DESC, block DESC LIMIT ?`,
      ...gramsOf(readings).map((grams) => grams.map(indexKeyOf)),
      from,
      after.hi,
      after.hi,
      after.block,
      before,
      most,
    )
  })
}

/** Those of these documents that have all grams themselves, newest first. */
async function holding(db: Database, readings: readonly Reading[], docs: readonly number[], until: number) {
  if (docs.length === 0) return []
  return within(db, until, ['enable_seqscan'], (sql) =>
    sql.rows<Candidate>(
      `SELECT doc, k FROM texts WHERE doc = ANY (?::bigint[]) AND ${holdsAny(readings)} ORDER BY doc DESC`,
      docs,
      ...gramsOf(readings),
    ),
  )
}

/** The first of them that fit the filter and hold the terms, so many or a few more. */
async function fitting(
  db: Database,
  { sql, values, readings }: Sought,
  page: readonly Candidate[],
  most: number,
  until: number,
): Promise<Hit[]> {
  const hits: Hit[] = []
  for (let at = 0; at < page.length && hits.length < most; at += OPENED) {
    // Some are always opened: a slow machine finds little in its time, and not nothing.
    if (at > 0 && performance.now() > until) break
    const some = page.slice(at, at + OPENED)
    const fit = await db.rows<Hit & { sealed: Buffer }>(
      `SELECT doc, id, texts.sealed FROM rulings JOIN texts USING (doc) WHERE doc = ANY (?::bigint[]) AND texts.doc = ANY (?::bigint[]) AND ${sql}`,
      some.map(({ doc }) => doc),
      some.map(({ doc }) => doc),
      ...values,
    )
    const found = new Map(fit.map((one) => [one.doc, one]))
    const left = some.filter(({ doc }) => found.has(doc))
    const keys = await keysOf(
      db,
      left.map(({ k }) => k),
    )
    for (const { doc, k } of left) {
      const [key, one] = [keys.get(k), found.get(doc)]
      if (key === undefined || one === undefined) continue
      const text = unsealed(key, one.sealed).toString('utf8')
      if (readings.some(({ terms }) => terms.every((term) => text.includes(term)))) hits.push({ doc, id: one.id })
    }
  }
  return hits
}
