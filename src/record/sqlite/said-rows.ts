import type { NoteEntry, RecordBatch, UnreadEntry } from '../../contracts/ports/record.ts'
import { sawOf } from '../compared.ts'
import type { Sql } from './sql.ts'

/** Writes what somebody said of the subject of this number, once. */
export function insertSaid(sql: Sql, s: number, { id, said, protocol, label, by, at, json }: NoteEntry): void {
  sql.run(
    'INSERT OR IGNORE INTO said (id, s, said, protocol, label, by, at, saw, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    id,
    s,
    said,
    protocol,
    label,
    by,
    at,
    sawOf(JSON.parse(json)),
    json,
  )
}

/** Keeps a message of another version as it is, unless its subject was deleted since. */
export function insertUnread(
  sql: Sql,
  { topic, partition }: Pick<RecordBatch, 'topic' | 'partition'>,
  offset: number,
  { subjectId, at, raw }: UnreadEntry,
): void {
  const erased = sql.get('SELECT 1 FROM subjects WHERE id = ? AND deleted_at >= ?', subjectId, at)
  if (erased !== undefined) return
  sql.run('INSERT OR IGNORE INTO unread VALUES (?, ?, ?, ?, ?, ?)', topic, partition, offset, subjectId, at, raw)
}
