import type { CoverChoice, Exposure, ReviewPictures } from '../../contracts/ports/pictures.ts'
import type { Database } from './connection.ts'
import { Counters } from './counters.ts'
import { reviewNotes } from './notes.ts'
import { keysOf, Seals, unsealed } from './seals.ts'

const MINUTE_MS = 60_000

/** What people look at. A picture with its cover is one sealed value. */
export function reviewPictures(db: Database): ReviewPictures {
  return {
    async picture({ tenant, kind, postId }, address, now) {
      const [found] = await db.rows<{ sha256: string; at: number; k: number; sealed: Buffer }>(
        `SELECT sha256, at, pictures.k, pictures.sealed FROM pictures JOIN subjects USING (s)
         WHERE tenant = ? AND kind = ? AND id = ? AND address = ? AND until > ?`,
        tenant,
        kind,
        postId,
        address,
        now,
      )
      const key = found === undefined ? undefined : (await keysOf(db, [found.k])).get(found.k)
      if (found === undefined || key === undefined) return null
      const both = unsealed(key, found.sealed)
      const end = 4 + both.readUInt32BE(0)
      const { sha256, at } = found
      return { sha256, at, picture: new Uint8Array(both.subarray(4, end)), cover: new Uint8Array(both.subarray(end)) }
    },
    keepPicture: ({ verdict, address, picture: { sha256, at, picture, cover }, until, most }) =>
      db.transaction(async (sql) => {
        const counters = await Counters.locked(sql)
        const seals = new Seals(sql, counters)
        const [of] = await sql.rows<{ s: number }>('SELECT s FROM rulings WHERE id = ?', verdict)
        if (of === undefined) return false
        const length = Buffer.alloc(4)
        length.writeUInt32BE(picture.length)
        const { k, sealed } = seals.seal(Buffer.concat([length, picture, cover]))
        const gone = [
          ...(await sql.rows<{ k: number }>(
            'DELETE FROM pictures WHERE s = ? AND address = ? RETURNING k',
            of.s,
            address,
          )),
          ...(await sql.rows<{ k: number }>(
            `DELETE FROM pictures WHERE (s, address) IN (SELECT s, address FROM pictures ORDER BY at DESC, s DESC OFFSET ?)
             RETURNING k`,
            most - 1,
          )),
        ]
        await sql.run('INSERT INTO pictures VALUES (?, ?, ?, ?, ?, ?, ?)', of.s, address, at, until, sha256, k, sealed)
        await seals.save()
        await seals.forget(gone.map((one) => one.k))
        await counters.save()
        return true
      }),
    async coversOf(person) {
      const [found] = await db.rows<{ choice: string }>('SELECT choice FROM covers WHERE person = ?', person)
      // The record alone writes it, from a choice that was checked.
      return found === undefined ? null : (JSON.parse(found.choice) as CoverChoice)
    },
    async chooseCovers(person, choice) {
      await db.run(
        'INSERT INTO covers VALUES (?, ?) ON CONFLICT (person) DO UPDATE SET choice = excluded.choice',
        person,
        JSON.stringify(choice),
      )
    },
    async noteUncovered(person, { tenant, label, at }) {
      await db.run(
        `INSERT INTO exposures VALUES (?, ?, ?, ?, 1)
         ON CONFLICT (person, minute, tenant, label) DO UPDATE SET n = exposures.n + 1`,
        person,
        Math.floor(at / MINUTE_MS),
        tenant,
        label,
      )
    },
    exposures: ({ since, person, tenants }) =>
      db.rows<Exposure>(
        `SELECT person, label, sum(n)::bigint AS uncovered, count(DISTINCT minute) AS minutes FROM exposures
         WHERE minute >= ? AND (? = 0 OR person = ?) AND (? = 0 OR tenant = ANY (?::text[]))
         GROUP BY person, label ORDER BY person, label`,
        Math.floor(since / MINUTE_MS),
        Number(person !== undefined),
        person ?? '',
        Number(tenants !== undefined),
        tenants ?? [],
      ),
    async minutesUncovered(person, since) {
      const sql = 'SELECT count(DISTINCT minute) AS n FROM exposures WHERE person = ? AND minute >= ?'
      const [found] = await db.rows<{ n: number }>(sql, person, Math.floor(since / MINUTE_MS))
      return found?.n ?? 0
    },
    ...reviewNotes(db),
    close: () => db.close(),
  }
}
