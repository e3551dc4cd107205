import { FOLDING } from '../grams.ts'
import type { Sql } from './connection.ts'
import { keysOf, unsealed } from './seals.ts'
import { reindexed } from './texts.ts'
import type { WritingStep } from './writing.ts'

/** How long processes of an earlier version may go on writing beside this one, in ms: what they wrote is folded anew as well. */
const BESIDE_MS = 600_000
/** Where a walk over the texts begins, newest first, and where it has ended. */
const [BEGIN, END] = [Number.MAX_SAFE_INTEGER, 0]

async function metaOf(sql: Sql): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.rows<{ k: string; v: string }>("SELECT k, v FROM meta WHERE k IN ('folding', 'refolding')")
  return new Map(rows.map(({ k, v }) => [k, v]))
}

/** Whether all texts were folded by today's rules, as terms of a search are. */
export async function isFolded(sql: Sql): Promise<boolean> {
  return (await metaOf(sql)).get('folding') === FOLDING
}

/**
 * Folds so many texts anew that were folded by other rules, newest first, and indexes those that have become others. It goes on
 * where another process was. A first walk over all texts is followed by another, once no process of an earlier version is left.
 */
export async function refold(writing: WritingStep, most: number, now: number): Promise<void> {
  const { sql } = writing
  const meta = await metaOf(sql)
  if (meta.get('folding') === FOLDING) return
  const [rules, ...known] = meta.get('refolding')?.split(' ') ?? []
  const [first = now, reached = BEGIN] = rules === FOLDING ? known.map(Number) : []
  const isSecond = reached === END && now - first >= BESIDE_MS
  if (reached === END && !isSecond) return
  const [since, before] = isSecond ? [END, BEGIN] : [first, reached]
  const page = await sql.rows<{ doc: number; k: number; sealed: Buffer }>(
    'SELECT doc, k, sealed FROM texts WHERE doc < ?::bigint AND k IS NOT NULL ORDER BY doc DESC LIMIT ?',
    before,
    most,
  )
  const keys = await keysOf(
    sql,
    page.map(({ k }) => k),
  )
  await reindexed(
    writing,
    new Map(
      page.flatMap(({ doc, k, sealed }) => {
        const key = keys.get(k)
        return key === undefined ? [] : [[doc, unsealed(key, sealed).toString('utf8')]]
      }),
    ),
  )
  const last = page.length < most ? undefined : page.at(-1)
  const isDone = last === undefined && since === END
  await sql.run(
    'INSERT INTO meta VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v',
    isDone ? 'folding' : 'refolding',
    isDone ? FOLDING : `${FOLDING} ${since} ${last?.doc ?? END}`,
  )
}
