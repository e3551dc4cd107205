import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { seededRandom } from '../../src/lab/evaluation/statistics/random.ts'
import { FreeSpace } from '../../src/record/sqlite/free-space.ts'
import { writing } from '../../src/record/sqlite/schema.ts'
import { Sql } from '../../src/record/sqlite/sql.ts'
import { zeroFreeSpace } from '../../src/record/sqlite/zero-free-space.ts'
import { ownFolder } from '../support/own-folder.ts'

const SECRET = 'Xylozebraquark'

/** A record's file of which secret rows were removed among others, by chance; what is left in its rows. */
function lived(path: string, seed: number) {
  const db = writing(path, 2 ** 30)
  const chance = seededRandom(seed)
  db.exec('CREATE TABLE lived (k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID')
  const put = db.prepare('INSERT OR REPLACE INTO lived VALUES (?, ?)')
  const secret: string[] = []
  db.exec('BEGIN')
  for (let nth = 0; nth < 20_000; nth++) {
    const key = String(chance.below(1e9))
    const isSecret = chance.unit() < 0.5
    if (isSecret) secret.push(key)
    put.run(key, `${isSecret ? SECRET : 'others'}${'x'.repeat(chance.below(300))}`)
  }
  const remove = db.prepare('DELETE FROM lived WHERE k = ?')
  for (const key of chance.shuffled(secret)) remove.run(key)
  db.exec('COMMIT')
  db.prepare('DELETE FROM lived WHERE v LIKE ?').run(`${SECRET}%`)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  return db
}
const rowsOf = (db: DatabaseSync) => db.prepare('SELECT k, v FROM lived ORDER BY k').all()
const hasSecret = (path: string) => readFileSync(path).includes(SECRET)

it('zeroes what deleted rows left in the unused middle of pages, and nothing else', () => {
  for (let seed = 0; seed < 4; seed++) {
    const path = join(ownFolder('free-space'), 'record.sqlite')
    const db = lived(path, seed)
    const before = rowsOf(db)
    db.close()
    expect(hasSecret(path)).toBe(true)
    expect(zeroFreeSpace(path, 0, Number.POSITIVE_INFINITY)).toBeGreaterThan(0)
    expect(hasSecret(path)).toBe(false)
    expect(zeroFreeSpace(path, 0, Number.POSITIVE_INFINITY)).toBe(0)
    const again = new DatabaseSync(path)
    expect(again.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    expect(rowsOf(again)).toEqual(before)
    again.close()
  }
})

it.each(['who cleared', 'another'])(
  'does so beside connections that have read the pages; %s writes them first',
  (first) => {
    const path = join(ownFolder('free-space'), 'record.sqlite')
    const db = lived(path, 5)
    const beside = new DatabaseSync(path)
    for (const one of [db, beside]) one.exec('PRAGMA cache_size = -64000')
    expect(rowsOf(beside)).toEqual(rowsOf(db))
    beside.exec('BEGIN IMMEDIATE')
    beside.exec("INSERT INTO lived VALUES ('a', 'others')")
    new FreeSpace(path, new Sql(path, db)).step()
    expect(hasSecret(path)).toBe(true)
    beside.exec('COMMIT')
    const before = rowsOf(db)
    new FreeSpace(path, new Sql(path, db)).step()
    expect(hasSecret(path)).toBe(false)
    const one = first === 'another' ? beside : db
    expect(rowsOf(one)).toEqual(before)
    // Each page is written once more, from what the connection has of it; no row changes its place.
    one.exec("UPDATE lived SET v = 'OTHERS' || substr(v, 7)")
    one.exec("UPDATE lived SET v = 'others' || substr(v, 7)")
    one.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    expect(hasSecret(path)).toBe(false)
    expect(rowsOf(db)).toEqual(before)
    expect(beside.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    beside.close()
    db.close()
  },
)
