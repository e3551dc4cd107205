import { randomBytes } from 'node:crypto'
import { afterAll, describe } from 'vitest'
import type { DrawShares } from '../../src/record/draws.ts'
import { scanned } from '../../src/record/held.ts'
import { database, type Sql } from '../../src/record/postgres/connection.ts'
import { HELD, HELD_NOW } from '../../src/record/postgres/held.ts'
import { postgresPictures, postgresRecord, postgresReviewQueue } from '../../src/record/postgres/record.ts'
import type { QueueRules } from '../../src/record/review-queue.ts'
import { aPostgres } from '../support/postgres-server.ts'
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
import { ANSWERS_AS_EARLIER, recordSharesContract } from './record-shares.ts'
import { writtenContract } from './written.ts'

const postgres = await aPostgres()

describe.skipIf(postgres === null)('a server of its own', () => {
  afterAll(() => postgres?.close())
  const inPostgres = async ({ costs, ownCaseAfter, ...shares }: QueueRules & DrawShares & { drawKey?: string }) => {
    if (postgres === null) throw new Error('skipped')
    const address = postgres.address(`record_${randomBytes(6).toString('hex')}`)
    const settings = { address, keep: KEEP, maxBytes: 2 ** 40, sourceKeep: 8 * DAY, vacuumWithin: 3_600_000, ...shares }
    const store = await postgresRecord(settings)
    return { store, queue: await postgresReviewQueue({ address, costs, ownCaseAfter }) }
  }
  recordContract('in PostgreSQL', inPostgres)
  drawLedgerContract('in PostgreSQL', inPostgres)
  laneDrawsContract('in PostgreSQL', inPostgres)
  queueOrderContract('in PostgreSQL', inPostgres)
  goldenItemsContract('in PostgreSQL', inPostgres)
  personDecisionsContract('in PostgreSQL', inPostgres)
  agreementContract('in PostgreSQL', inPostgres)
  appealsContract('in PostgreSQL', inPostgres)
  actionsContract('in PostgreSQL', inPostgres)
  picturesContract('in PostgreSQL', async () => {
    if (postgres === null) throw new Error('skipped')
    const address = postgres.address(`record_${randomBytes(6).toString('hex')}`)
    const kept = { keep: KEEP, maxBytes: 2 ** 40, sourceKeep: 8 * DAY, vacuumWithin: 3_600_000 }
    const store = await postgresRecord({ address, ...kept, auditShare: 0, blindShare: 0 })
    return { store, pictures: await postgresPictures(address) }
  })
  recordSharesContract(
    'in PostgreSQL',
    async () => {
      if (postgres === null) throw new Error('skipped')
      const address = postgres.address(`record_${randomBytes(6).toString('hex')}`)
      const open = (maxBytes: number) => {
        const kept = { keep: KEEP, maxBytes, tenantShare: 0.25, sourceKeep: 8 * DAY, vacuumWithin: 3_600_000 }
        const appeals = { perContact: 20, perTenant: 100 }
        return postgresRecord({ address, ...kept, auditShare: 0, blindShare: 0, appeals })
      }
      const store = await open(2 ** 40)
      const { bytes: empty } = await store.size()
      await store.close()
      const sums = async (sql: Sql, from: string) => {
        const rows = await sql.rows<{ tenant: string; bytes: number }>(
          `SELECT tenant, bytes::bigint FROM ${from} WHERE bytes <> 0`,
        )
        return Object.fromEntries(rows.map(({ tenant, bytes }) => [tenant, bytes]))
      }
      return {
        open,
        empty,
        async held() {
          const db = database(address, 1)
          const held = { counted: await sums(db, HELD_NOW), scanned: await sums(db, `(${scanned(HELD)}) AS rows`) }
          await db.close()
          return held
        },
        async asEarlier(only) {
          const db = database(address, 1)
          for (const { table } of HELD)
            if (only === undefined || table === only) await db.run(`DROP FUNCTION count_${table} CASCADE`)
          if (only === undefined) await db.run('DROP TABLE held_by, held_changes, dropped_notes')
          else {
            await db.run("UPDATE meta SET v = 'earlier' WHERE k = 'held'")
            await db.run("INSERT INTO held_changes VALUES ('alpha', -1)")
          }
          await db.close()
        },
        async answersAsEarlier() {
          const db = database(address, 1)
          for (const statement of ANSWERS_AS_EARLIER) await db.run(statement)
          await db.close()
        },
        async tables() {
          const db = database(address, 1)
          // Without partitions, which are counted with their table.
          const all = await db.rows<{ name: string }>(
            "SELECT relname::text AS name FROM pg_class WHERE relnamespace = to_regnamespace(?) AND relkind IN ('r', 'p') AND NOT relispartition",
            address.schema,
          )
          await db.close()
          return { all: all.map(({ name }) => name), counted: HELD.map(({ table }) => table) }
        },
      }
    },
    // A deletion of a post takes many statements.
    {
      runs: 8,
      floods: [
        'deletions of comments that never came',
        'feedback on what nobody judged',
        'actions on what nobody judged',
        'appeals of one contact',
        'answers to appeals that never came',
        'withdrawals of appeals that never came',
        'what is no appeal',
      ],
    },
  )
  writtenContract('in PostgreSQL', () => {
    if (postgres === null) throw new Error('skipped')
    const address = postgres.address(`record_${randomBytes(6).toString('hex')}`)
    const kept = { keep: 10_000 * DAY, maxBytes: 2 ** 40, sourceKeep: 8 * DAY, vacuumWithin: 3_600_000 }
    return {
      open: () => postgresRecord({ address, ...kept, auditShare: 0, blindShare: 0 }),
      async asEarlier() {
        const db = database(address, 1)
        await db.run('DROP TABLE written, shown')
        for (const name of ['shown_new', 'shown_gone']) await db.run(`DROP FUNCTION ${name} CASCADE`)
        await db.run("DELETE FROM meta WHERE k = 'written'")
        await db.close()
      },
    }
  })
})
