import { hash } from 'node:crypto'
import { TENANT_OF } from '../actions.ts'
import { BY_SUBJECT, bytesOf, DROPPED, type HeldTable, LARGEST, onPages, scanned, tenantIn } from '../held.ts'
import type { Sql } from './connection.ts'

/** A multiple of three: what is counted off with a day is just what was counted with its rows. */
const heldBytes = (row: string) => `(100 + ${bytesOf(row, 'sealed')}) / 3 * 3`

export const HELD: readonly HeldTable[] = onPages([
  {
    table: 'subjects',
    by: null,
    // With what is shown of it, which is bounded.
    bytes: (row) => `600 + 2 * (${bytesOf(row, 'tenant')}) + 3 * (${bytesOf(row, 'id')})`,
    changing: [],
  },
  {
    table: 'rulings',
    by: null,
    bytes: (row) => `1100 + ${bytesOf(row, 'sealed')} + 2 * (${bytesOf(row, 'id')})`,
    changing: ['sealed'],
  },
  {
    table: 'transcripts',
    by: BY_SUBJECT,
    // With what it rests on, which is written before it and removed after it. Who wrote each comment stands twice beside them.
    bytes: (row) =>
      `350 + 2 * (${bytesOf(row, 'id')}) + 3 * coalesce(octet_length(array_to_string(${row}.comments, ' ')), 0)
       + CASE WHEN ${row}.k IS NULL THEN 0 ELSE coalesce((SELECT ${heldBytes('held')} FROM held WHERE held.at = ${row}.at AND held.t = ${row}.t), 0) END`,
    changing: ['comments', 'k'],
  },
  // With their grams.
  {
    table: 'texts',
    by: { table: 'rulings', key: 'doc' },
    bytes: (row) => `150 + 8 * (${bytesOf(row, 'sealed')})`,
    changing: ['sealed'],
  },
  {
    table: 'said',
    by: BY_SUBJECT,
    bytes: (row) => `500 + ${bytesOf(row, 'sealed')} + 2 * (${bytesOf(row, 'id')})`,
    changing: ['sealed'],
  },
  {
    table: 'appeals',
    by: null,
    bytes: (row) => `400 + 3 * (${bytesOf(row, 'tenant', 'id')}) + 2 * (${bytesOf(row, 'against')})`,
    changing: ['against'],
  },
  {
    table: 'appeals_answered',
    by: null,
    bytes: (row) => `150 + 3 * (${bytesOf(row, 'id', 'decision')}) + ${bytesOf(row, 'tenant')}`,
    changing: [],
  },
  {
    table: 'reversals',
    // The action's: the note names it, and its verdict may be gone.
    by: (row) => TENANT_OF.text(`${row}.action`),
    bytes: (row) => `100 + 3 * (${bytesOf(row, 'verdict', 'action')})`,
    changing: [],
  },
  {
    table: 'due_statements',
    by: null,
    bytes: (row) => `150 + 3 * (${bytesOf(row, 'action', 'tenant')})`,
    changing: [],
  },
  { table: 'shown', by: null, bytes: (row) => `100 + 2 * (${bytesOf(row, 'tenant', 'key')})`, changing: [] },
  { table: 'quotes', by: null, bytes: (row) => `100 + 2 * (${bytesOf(row, 'tenant', 'post', 'reply')})`, changing: [] },
  {
    table: 'gone_comments',
    by: null,
    bytes: (row) => `100 + 2 * (${bytesOf(row, 'tenant', 'post', 'comment')})`,
    changing: [],
  },
])

/** Counts what is there, and from then on what comes and goes: a row for each change, which `countedTogether` takes together. */
export async function countHeld(sql: Sql): Promise<void> {
  // Anew where an earlier version counted less of it, or in another way.
  const way = hash('sha256', JSON.stringify([scanned(HELD), HELD.map(({ changing }) => changing)]), 'base64url').slice(
    0,
    22,
  )
  const [there] = await sql.rows(
    "SELECT 1 FROM meta WHERE k = 'held' AND v = ? AND to_regclass('held_by') IS NOT NULL",
    way,
  )
  if (there !== undefined) return
  for (const { table } of HELD) await sql.run(`DROP FUNCTION IF EXISTS count_${table} CASCADE`)
  await sql.run('DROP TABLE IF EXISTS held_by, held_changes')
  await sql.run("INSERT INTO meta VALUES ('held', ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v", way)
  await sql.run(DROPPED('text', 'bigint'))
  await sql.run('CREATE TABLE held_by (tenant text PRIMARY KEY, bytes bigint NOT NULL)')
  await sql.run('CREATE INDEX held_by_none ON held_by (tenant) WHERE bytes = 0')
  await sql.run('CREATE TABLE held_changes (tenant text NOT NULL, bytes bigint NOT NULL)')
  await sql.run(`INSERT INTO held_by ${scanned(HELD)}`)
  for (const of of HELD) await counting(sql, of)
}

async function counting(sql: Sql, of: HeldTable): Promise<void> {
  const { table, bytes, changing } = of
  const counted = (row: string, sum: string) =>
    `INSERT INTO held_changes SELECT * FROM (SELECT ${tenantIn(of, row)} AS tenant, ${sum} AS bytes) AS one WHERE tenant IS NOT NULL;`
  const more = `(${bytes('NEW')}) - (${bytes('OLD')})`
  await sql.run(`CREATE FUNCTION count_${table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP = 'INSERT' THEN ${counted('NEW', bytes('NEW'))}
    ELSIF TG_OP = 'DELETE' THEN ${counted('OLD', `-(${bytes('OLD')})`)}
    ELSE ${counted('NEW', more)} END IF;
    RETURN NULL; END $$`)
  const changed = changing.length === 0 ? '' : ` OR UPDATE OF ${changing.join(', ')}`
  await sql.run(
    `CREATE TRIGGER held AFTER INSERT OR DELETE${changed} ON ${table} FOR EACH ROW EXECUTE FUNCTION count_${table}()`,
  )
}

/** Takes what changed together. */
export async function countedTogether(sql: Sql): Promise<void> {
  await sql.run(
    `WITH gone AS (DELETE FROM held_changes RETURNING tenant, bytes)
     INSERT INTO held_by SELECT tenant, sum(bytes) FROM gone GROUP BY tenant
     ON CONFLICT (tenant) DO UPDATE SET bytes = held_by.bytes + excluded.bytes`,
  )
  await sql.run('DELETE FROM held_by WHERE bytes = 0')
}

export const HELD_NOW =
  '(SELECT tenant, sum(bytes)::bigint AS bytes FROM (SELECT * FROM held_by UNION ALL SELECT * FROM held_changes) AS parts GROUP BY tenant) AS held'

/** The two tenants that hold most. */
export function largestOf(sql: Sql): Promise<{ tenant: string; bytes: number }[]> {
  return sql.rows(LARGEST(HELD_NOW))
}

/** Counts off what is removed with a day of transcripts or of texts. */
export async function countedOff(sql: Sql, whole: 'held' | 'texts', day: string): Promise<void> {
  const rows =
    whole === 'held'
      ? `SELECT tenant, (${heldBytes(day)}) * 4 / 3 AS bytes FROM ${day} JOIN transcripts USING (at, t) JOIN subjects USING (s) WHERE transcripts.k IS NOT NULL`
      : HELD.filter(({ table }) => table === whole).map(
          (of) => `SELECT ${tenantIn(of, day)} AS tenant, ${of.bytes(day)} AS bytes FROM ${day}`,
        )
  await sql.run(
    `INSERT INTO held_changes SELECT tenant, -sum(bytes) FROM (${rows}) AS rows WHERE tenant IS NOT NULL GROUP BY tenant`,
  )
}
