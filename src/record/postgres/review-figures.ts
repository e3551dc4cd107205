import type { Period, PersonQuality, ReviewQueue } from '../../contracts/ports/review.ts'
import { type HumanRow, type PersonNoteRow, peopleQuery, qualityOf, SAID_SINCE } from '../people-quality.ts'
import { DECIDERS } from '../queue-filter.ts'
import type { Database } from './connection.ts'
import { drawnRatesIn } from './draws.ts'
import { IS_TIMED } from './schema.ts'

/** What the record shows of machines and people as a whole. */
export function reviewFigures(db: Database): Pick<ReviewQueue, 'drawnRates' | 'peopleQuality' | 'deciders'> {
  return {
    drawnRates: (tenants) => drawnRatesIn(db, tenants),
    peopleQuality: (period, tenants) => peopleQualityIn(db, period, tenants),
    deciders: async (tenant, since, most) =>
      (await db.rows<{ one: string }>(DECIDERS, since, tenant, most)).map(({ one }) => one),
  }
}

async function peopleQualityIn(
  db: Database,
  { since, until }: Period,
  tenants: readonly string[] | undefined,
): Promise<PersonQuality[]> {
  const { sql: fits, values } = peopleQuery(tenants)
  return db.snapshot(async (sql) => {
    // A process of an earlier version may keep the record yet.
    const seconds = (await sql.rows(IS_TIMED)).length > 0 ? 'seconds' : 'NULL AS seconds'
    const said = await sql.rows<PersonNoteRow>(
      `SELECT s, protocol, said.by, at, label, against, opinion, ${seconds} FROM said WHERE ${fits} ORDER BY at, n`,
      since,
      ...values,
    )
    const verdicts = await sql.rows<HumanRow>(
      `SELECT s, protocol, number, label, decider, standing FROM rulings
       WHERE decided_by = 'human' AND s IN (SELECT said.s FROM said WHERE ${SAID_SINCE})`,
      since,
    )
    return qualityOf(said, verdicts, until)
  })
}
