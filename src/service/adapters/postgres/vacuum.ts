import type { Database } from './connection.ts'

/**
 * Writes the keys anew once some of deleted words have waited for half of `within` (ms). The last bytes of these are gone then, and
 * nothing that was sealed under them can be read, wherever its own bytes still lie.
 */
export async function vacuumed(db: Database, within: number, now: number): Promise<void> {
  const [waiting] = await db.rows<{ since: number; last: number }>('SELECT since, last FROM erasing')
  if (waiting === undefined || now - waiting.since < within / 2) return
  // Whose transaction began before still sees what was deleted, and VACUUM keeps it for them.
  const [reading] = await db.rows<{ old: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
       AND datname = current_database() AND xact_start <= to_timestamp(?::double precision / 1000)) AS old`,
    waiting.last,
  )
  if (reading?.old === true) return
  // Whoever else reads the keys waits behind it: it does not wait for long itself.
  if (!(await db.alone('VACUUM (FULL) keys'))) return
  const done = await db.run('DELETE FROM erasing WHERE last = ?', waiting.last)
  // Something was deleted meanwhile.
  if (done === 0) await db.run('UPDATE erasing SET since = ?', now)
}
