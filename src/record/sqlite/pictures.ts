import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type {
  CoverChoice,
  Exposure,
  KeptPicture,
  PostNote,
  ReviewPictures,
  SavedView,
} from '../../contracts/ports/pictures.ts'
import { viewToSave } from '../saved-views.ts'
import { writingBeside } from './schema.ts'
import { Sql } from './sql.ts'

const MINUTE_MS = 60_000

/** What people look at, over a connection that writes nothing else. */
export class PictureTables {
  readonly #sql: Sql

  constructor(path: string) {
    this.#sql = new Sql(path, writingBeside(path))
  }

  name(): string {
    return this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'name'")?.v ?? ''
  }

  picture({ tenant, kind, postId }: ThreadRef, address: string, now: number): KeptPicture | null {
    const found = this.#sql.get<KeptPicture>(
      `SELECT sha256, at, picture, cover FROM pictures JOIN subjects USING (s)
       WHERE tenant = ? AND kind = ? AND id = ? AND address = ? AND until > ?`,
      tenant,
      kind,
      postId,
      address,
      now,
    )
    return found === undefined ? null : { ...found }
  }

  keepPicture({ verdict, address, picture, until, most }: Parameters<ReviewPictures['keepPicture']>[0]): boolean {
    return this.#sql.transaction(() => {
      const { changes, lastInsertRowid } = this.#sql.run(
        `INSERT OR REPLACE INTO pictures (s, address, at, until, sha256, picture, cover)
         SELECT s, ?, ?, ?, ?, ?, ? FROM rulings WHERE id = ?`,
        address,
        picture.at,
        until,
        picture.sha256,
        picture.picture,
        picture.cover,
        verdict,
      )
      if (Number(changes) === 0) return false
      this.#sql.run(
        `DELETE FROM pictures WHERE rowid IN
           (SELECT rowid FROM pictures WHERE rowid <> ? ORDER BY at DESC, rowid DESC LIMIT -1 OFFSET ?)`,
        lastInsertRowid,
        most - 1,
      )
      return true
    })
  }

  coversOf(person: string): CoverChoice | null {
    const found = this.#sql.get<{ choice: string }>('SELECT choice FROM covers WHERE person = ?', person)
    // The record alone writes it, from a choice that was checked.
    return found === undefined ? null : (JSON.parse(found.choice) as CoverChoice)
  }

  chooseCovers(person: string, choice: CoverChoice): void {
    this.#sql.run('INSERT OR REPLACE INTO covers VALUES (?, ?)', person, JSON.stringify(choice))
  }

  noteUncovered(person: string, { tenant, label, at }: Parameters<ReviewPictures['noteUncovered']>[1]): void {
    this.#sql.run(
      'INSERT INTO exposures VALUES (?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1',
      person,
      Math.floor(at / MINUTE_MS),
      tenant,
      label,
    )
  }

  exposures({ since, person, tenants }: Parameters<ReviewPictures['exposures']>[0]): Exposure[] {
    return this.#sql
      .all<Exposure>(
        `SELECT person, label, sum(n) AS uncovered, count(DISTINCT minute) AS minutes FROM exposures
         WHERE minute >= ? AND (? IS NULL OR person = ?) AND (? IS NULL OR tenant IN (SELECT value FROM json_each(?)))
         GROUP BY person, label ORDER BY person, label`,
        Math.floor(since / MINUTE_MS),
        person ?? null,
        person ?? null,
        tenants === undefined ? null : 1,
        JSON.stringify(tenants ?? []),
      )
      .map((row) => ({ ...row }))
  }

  minutesUncovered(person: string, since: number): number {
    const sql = 'SELECT count(DISTINCT minute) AS n FROM exposures WHERE person = ? AND minute >= ?'
    return this.#sql.get<{ n: number }>(sql, person, Math.floor(since / MINUTE_MS))?.n ?? 0
  }

  notesOf({ tenant, kind, postId }: ThreadRef): PostNote[] {
    return this.#sql
      .all<PostNote>(
        'SELECT by, at, text FROM notes JOIN subjects USING (s) WHERE tenant = ? AND kind = ? AND id = ? ORDER BY n',
        tenant,
        kind,
        postId,
      )
      .map((row) => ({ ...row }))
  }

  addNote({ verdict, by, at, text, most }: Parameters<ReviewPictures['addNote']>[0]): boolean {
    const { changes } = this.#sql.run(
      `INSERT INTO notes (s, by, at, text) SELECT s, ?, ?, ? FROM rulings
       WHERE id = ? AND decided_by <> 'deleted' AND (SELECT count(*) FROM notes WHERE notes.s = rulings.s) < ?`,
      by,
      at,
      text,
      verdict,
      most,
    )
    return Number(changes) > 0
  }

  viewsOf(person: string): SavedView[] {
    return this.#sql
      .all<SavedView>('SELECT name, query FROM views WHERE person = ? ORDER BY name', person)
      .map((row) => ({ ...row }))
  }

  saveView(person: string, view: SavedView, most: number): boolean {
    const { sql, values } = viewToSave(person, view, most)
    return Number(this.#sql.run(sql, ...values).changes) > 0
  }

  dropView(person: string, name: string): void {
    this.#sql.run('DELETE FROM views WHERE person = ? AND name = ?', person, name)
  }

  close(): void {
    this.#sql.close()
  }
}
