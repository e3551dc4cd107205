import type { Sql } from './connection.ts'

/** Who wrote what, by a keyed hash of the author: `comment` is empty where it is the subject itself. */
export const WRITTEN = `
  CREATE TABLE IF NOT EXISTS written (author text, s bigint, comment text, PRIMARY KEY (author, s, comment));
  CREATE INDEX IF NOT EXISTS written_subject ON written (s, comment);
`
/** How long processes of an earlier version may go on writing beside this one, in ms: what they wrote is looked through as well. */
const BESIDE_MS = 600_000
export const LOOKED_THROUGH = 'done'

/** Notes, when the table is made, that what is there is to be looked through; where nothing is, nothing has to be. */
export async function beginWritten(sql: Sql, now = Date.now()): Promise<void> {
  await sql.run(
    `INSERT INTO meta SELECT 'written', CASE WHEN EXISTS (SELECT 1 FROM transcripts) THEN ? ELSE ? END ON CONFLICT (k) DO NOTHING`,
    `-1 ${now + BESIDE_MS}`,
    LOOKED_THROUGH,
  )
}
