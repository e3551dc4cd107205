import type { ReviewPictures, SavedView } from '../../contracts/ports/pictures.ts'
import { viewToSave } from '../saved-views.ts'
import type { Database } from './connection.ts'
import { Counters } from './counters.ts'
import { keysOf, Seals, unsealed } from './seals.ts'

type Notes = Pick<ReviewPictures, 'notesOf' | 'addNote' | 'viewsOf' | 'saveView' | 'dropView'>

/** What people note on subjects, each note a sealed value, and the lists that they named. */
export function reviewNotes(db: Database): Notes {
  /** A process of an earlier version may keep the record yet. */
  const areThere = async () => {
    const [tables] = await db.rows<{ made: string | null }>("SELECT to_regclass('notes')::text AS made")
    return tables?.made != null
  }
  return {
    async notesOf({ tenant, kind, postId }) {
      if (!(await areThere())) return []
      const rows = await db.rows<{ by: string; at: number; k: number; sealed: Buffer }>(
        `SELECT by, at, notes.k, notes.sealed FROM notes JOIN subjects USING (s)
         WHERE tenant = ? AND kind = ? AND id = ? ORDER BY n`,
        tenant,
        kind,
        postId,
      )
      const keys = await keysOf(
        db,
        rows.map(({ k }) => k),
      )
      return rows.flatMap(({ by, at, k, sealed }) => {
        const key = keys.get(k)
        return key === undefined ? [] : [{ by, at, text: unsealed(key, sealed).toString('utf8') }]
      })
    },
    addNote: ({ verdict, by, at, text, most }) =>
      db.transaction(async (sql) => {
        const counters = await Counters.locked(sql)
        const seals = new Seals(sql, counters)
        const { k, sealed } = seals.seal(text)
        const added = await sql.run(
          `INSERT INTO notes (s, by, at, k, sealed) SELECT s, ?, ?::bigint, ?::bigint, ?::bytea FROM rulings
           WHERE id = ? AND decided_by <> 'deleted' AND (SELECT count(*) FROM notes WHERE notes.s = rulings.s) < ?`,
          by,
          at,
          k,
          sealed,
          verdict,
          most,
        )
        if (added > 0) await seals.save()
        await counters.save()
        return added > 0
      }),
    async viewsOf(person) {
      if (!(await areThere())) return []
      return db.rows<SavedView>('SELECT name, query FROM views WHERE person = ? ORDER BY name', person)
    },
    async saveView(person, view, most) {
      const { sql, values } = viewToSave(person, view, most)
      return (await db.run(sql, ...values)) > 0
    },
    async dropView(person, name) {
      await db.run('DELETE FROM views WHERE person = ? AND name = ?', person, name)
    },
  }
}
