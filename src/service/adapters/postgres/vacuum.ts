import type { Database } from './connection.ts'
import { KEY_PARTS, keyPart } from './schema.ts'

/**
 * Writes the keys anew once some of deleted words have waited for half of `within` (ms). The last bytes of these are gone then, and
 * nothing that was sealed under them can be read, wherever its own bytes still lie. Copied row by row: VACUUM keeps deleted rows for
 * whoever might still see them, another user's transaction, a replica or a prepared one, and does not say so.
 */
export async function vacuumed(db: Database, within: number, now: number): Promise<void> {
  const [waiting] = await db.rows<{ since: number; last: number }>('SELECT since, last FROM erasing')
  if (waiting === undefined || now - waiting.since < within / 2) return
  for (let part = 0; part < KEY_PARTS; part++) {
    const name = `keys_${part}`
    const isDone = await db.alone(async (sql) => {
      // The whole table first: who waits for one part of it has the others.
      await sql.run('LOCK TABLE ONLY keys IN ACCESS EXCLUSIVE MODE')
      await sql.run(`LOCK TABLE ${name} IN ACCESS EXCLUSIVE MODE`)
      await sql.run(`ALTER TABLE keys DETACH PARTITION ${name}`)
      await sql.run(`ALTER TABLE ${name} RENAME TO keys_before`)
      await keyPart(sql, part)
      await sql.run(`INSERT INTO ${name} SELECT * FROM keys_before`)
      await sql.run('DROP TABLE keys_before')
    })
    // Whoever else reads the keys waits behind it: it does not wait for long itself, and begins again.
    if (!isDone) return
  }
  const done = await db.run('DELETE FROM erasing WHERE last = ?', waiting.last)
  // Something was deleted meanwhile.
  if (done === 0) await db.run('UPDATE erasing SET since = ?', now)
}
