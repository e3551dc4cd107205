import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DrawShares } from '../../src/record/draws.ts'
import { scanned } from '../../src/record/held.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { sameThreadHalf } from '../../src/record/sqlite/halves.ts'
import { HELD } from '../../src/record/sqlite/held.ts'
import { sqlitePictures, sqliteRecord, sqliteReviewQueue } from '../../src/record/sqlite/record.ts'
import { ownFolder } from '../support/own-folder.ts'
import { recordInMemory } from '../support/record-in-memory.ts'
import { actionsContract } from './actions.ts'
import { agreementContract } from './agreement.ts'
import { appealsContract } from './appeals.ts'
import { drawLedgerContract } from './draw-ledger.ts'
import { goldenItemsContract } from './golden-items.ts'
import { laneDrawsContract } from './lane-draws.ts'
import { personDecisionsContract } from './person-decisions.ts'
import { picturesContract } from './pictures.ts'
import { queueOrderContract } from './queue-order.ts'
import { DAY, KEEP, recordContract } from './record.ts'
import { ANSWERS_AS_EARLIER, FLOODS, recordSharesContract } from './record-shares.ts'
import { writtenContract } from './written.ts'

async function inFile({ costs, ownCaseAfter, ...shares }: QueueRules & DrawShares & { drawKey?: string }) {
  const path = join(ownFolder('record'), 'record.sqlite')
  const settings = { path, keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, ...shares }
  const store = await sqliteRecord(settings, sameThreadHalf)
  return { store, queue: await sqliteReviewQueue({ path, costs, ownCaseAfter }, sameThreadHalf) }
}

recordContract('in SQLite', inFile)
drawLedgerContract('in SQLite', inFile)
laneDrawsContract('in SQLite', inFile)
queueOrderContract('in SQLite', inFile)
goldenItemsContract('in SQLite', inFile)
personDecisionsContract('in SQLite', inFile)
agreementContract('in SQLite', inFile)
appealsContract('in SQLite', inFile)
actionsContract('in SQLite', inFile)

recordContract('in memory', async (review) => {
  const store = await recordInMemory(review)
  return { store, queue: store.review }
})

picturesContract('in SQLite', async () => {
  const path = join(ownFolder('pictures'), 'record.sqlite')
  const settings = { path, keep: KEEP, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, auditShare: 0, blindShare: 0 }
  const store = await sqliteRecord(settings, sameThreadHalf)
  return { store, pictures: await sqlitePictures(path, sameThreadHalf) }
})

recordSharesContract(
  'in SQLite',
  async () => {
    const path = join(ownFolder('shares'), 'record.sqlite')
    const open = (maxBytes: number) => {
      const appeals = { perContact: 20, perTenant: 100 }
      const shares = { auditShare: 0, blindShare: 0, tenantShare: 0.25, appeals }
      return sqliteRecord({ path, keep: KEEP, maxBytes, sourceKeep: 8 * DAY, ...shares }, sameThreadHalf)
    }
    await (await open(2 ** 30)).close()
    const within = <Result>(work: (db: DatabaseSync) => Result) => {
      const db = new DatabaseSync(path)
      try {
        return work(db)
      } finally {
        db.close()
      }
    }
    const sums = (db: DatabaseSync, sql: string) =>
      Object.fromEntries(
        db
          .prepare(sql)
          .all()
          .map(({ tenant, bytes }) => [String(tenant), Number(bytes)]),
      )
    return {
      open,
      empty: statSync(path).size,
      held: async () =>
        within((db) => ({
          counted: sums(db, 'SELECT * FROM held_by WHERE bytes <> 0'),
          scanned: sums(db, scanned(HELD)),
        })),
      async asEarlier(table) {
        within((db) => {
          const triggers = db
            .prepare(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'held_${table ?? ''}%'`)
            .all()
          for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
          if (table === undefined) db.exec('DROP TABLE held_by; DROP TABLE dropped_notes')
          else db.exec("UPDATE held_by SET bytes = bytes - 1; UPDATE meta SET v = 'earlier' WHERE k = 'held'")
        })
      },
      answersAsEarlier: async () => within((db) => db.exec(ANSWERS_AS_EARLIER.join(';'))),
      tables: async () =>
        within((db) => ({
          // The index of grams has tables of its own beside it.
          all: db
            .prepare(
              "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'found_*' AND name NOT GLOB 'sqlite_*'",
            )
            .all()
            .map(({ name }) => String(name)),
          counted: HELD.map(({ table }) => table),
        })),
    }
  },
  { runs: 25, floods: Object.keys(FLOODS) as (keyof typeof FLOODS)[] }, // All of them.
)

writtenContract('in SQLite', () => {
  const path = join(ownFolder('written'), 'record.sqlite')
  const shares = { auditShare: 0, blindShare: 0 }
  const settings = { path, keep: 10_000 * DAY, maxBytes: 2 ** 30, sourceKeep: 8 * DAY, ...shares }
  return {
    open: () => sqliteRecord(settings, sameThreadHalf),
    async asEarlier() {
      const db = new DatabaseSync(path)
      db.exec(`DROP TABLE written; DELETE FROM meta WHERE k IN ('written', 'authors'); DROP TRIGGER shown_new;
        DROP TRIGGER shown_gone; DROP TABLE shown`)
      db.close()
    },
  }
})
