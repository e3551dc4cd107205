import { firstDoc, PER_SECOND } from '../documents.ts'
import type { Sql } from './sql.ts'

/** A number for a new document, in the order of time; a second that is full goes on in the next. */
export function freeDoc(sql: Sql, decidedAt: number): number {
  for (let first = firstDoc(decidedAt, Date.now()); ; first += PER_SECOND) {
    const last = sql.get<{ doc: number | null }>(
      'SELECT max(doc) AS doc FROM rulings WHERE doc BETWEEN ? AND ?',
      first,
      first + PER_SECOND - 1,
    )?.doc
    if (last === null || last === undefined) return first
    if (last < first + PER_SECOND - 1) return last + 1
  }
}
