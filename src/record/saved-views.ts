import type { SavedView } from '../contracts/ports/pictures.ts'

/** Keeps a person's list in place of one of the same name, unless they have `most` others, in the SQL that both databases understand. */
export function viewToSave(person: string, { name, query }: SavedView, most: number) {
  const sql = `INSERT INTO views SELECT CAST(? AS text), CAST(? AS text), CAST(? AS text)
    WHERE (SELECT count(*) FROM views WHERE person = ? AND name <> ?) < ?
    ON CONFLICT (person, name) DO UPDATE SET query = excluded.query`
  return { sql, values: [person, name, query, person, name, most] }
}
