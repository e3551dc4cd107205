import type { DrawQuery, Period, PersonQuality, ReviewQueue, ReviewState } from '../../contracts/ports/review.ts'
import {
  type ComparedGroupRow,
  type ComparedRow,
  comparedGroup,
  comparedGroupsQuery,
  comparedQuery,
  comparedRuling,
} from '../compared.ts'
import { type DrawEntryRow, drawEntriesQuery, drawEntry } from '../draw-entries.ts'
import { type DrawSumRow, drawSum, drawSumsQuery } from '../draw-sums.ts'
import { LANE_AUDITS, type LaneAuditRow, laneAudit } from '../lane-audits.ts'
import { type HumanRow, MOST_SAID, type PersonNoteRow, peopleQuery, qualityOf } from '../people-quality.ts'
import { decisionsQuery, type PersonDecisionRow, personDecision } from '../person-decisions.ts'
import { DECIDERS, totalsQuery } from '../queue-filter.ts'
import type { Database } from './connection.ts'
import { drawnRatesIn, hasLedger } from './draws.ts'
import { HAS_COMPARED, IS_TIMED } from './schema.ts'

/** Where what a decision said stands. */
const DECISION_COLUMNS = {
  opinion: (said: string) => `${said}.opinion`,
  against: 'said.against',
  decider: (ruling: string) => `${ruling}.decider`,
}

type ReviewFigures = Pick<
  ReviewQueue,
  | 'drawnRates'
  | 'peopleQuality'
  | 'deciders'
  | 'decisions'
  | 'totals'
  | 'draws'
  | 'drawSums'
  | 'laneAudit'
  | 'comparedGroups'
  | 'compared'
>

/** What the record shows of machines and people as a whole. */
export function reviewFigures(db: Database): ReviewFigures {
  return {
    async decisions(query, most) {
      const { sql, values } = decisionsQuery(query, DECISION_COLUMNS)
      return (await db.rows<PersonDecisionRow>(sql, ...values, most)).map(personDecision)
    },
    totals: (tenants) => totalsIn(db, tenants),
    draws: (query, most) => drawsIn(db, query, most),
    drawSums: (tenants) => drawSumsIn(db, tenants),
    drawnRates: (tenants) => drawnRatesIn(db, tenants),
    laneAudit: async (lane, promise) =>
      laneAudit((await hasLedger(db, 'lane_draws')) ? await db.rows<LaneAuditRow>(LANE_AUDITS, lane) : [], promise),
    async comparedGroups(query) {
      // A process of an earlier version may keep the record yet.
      if ((await db.rows(HAS_COMPARED)).length === 0) return []
      const { sql, values } = comparedGroupsQuery(query)
      return (await db.rows<ComparedGroupRow>(sql, ...values)).map(comparedGroup)
    },
    async compared(query, most) {
      if ((await db.rows(HAS_COMPARED)).length === 0) return []
      const { sql, values } = comparedQuery(query)
      return (await db.rows<ComparedRow>(sql, ...values, most)).map(comparedRuling)
    },
    peopleQuality: (period, tenants) => peopleQualityIn(db, period, tenants),
    deciders: async (tenant, since, most) =>
      (await db.rows<{ one: string }>(DECIDERS, since, tenant, most)).map(({ one }) => one),
  }
}

/** What waits of subjects of these tenants. */
export async function totalsIn(db: Database, tenants?: readonly string[]): Promise<ReviewState['queue']> {
  const { sql, values } = totalsQuery(tenants)
  return db.rows<ReviewState['queue'][number]>(sql, ...values)
}

async function drawsIn(db: Database, query: DrawQuery, most: number) {
  if (!(await hasLedger(db))) return []
  const { sql, values } = drawEntriesQuery(query)
  return (await db.rows<DrawEntryRow>(sql, ...values, most)).map(drawEntry)
}

async function drawSumsIn(db: Database, tenants: readonly string[] | undefined) {
  if (!(await hasLedger(db))) return []
  const { sql, values } = drawSumsQuery(tenants)
  return (await db.rows<DrawSumRow>(sql, ...values)).map(drawSum)
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
      `SELECT s, protocol, said.by, at, label, against, opinion, ${seconds}
       FROM (SELECT * FROM said WHERE ${fits} ORDER BY at DESC, n DESC LIMIT ${MOST_SAID}) AS said ORDER BY at, n`,
      since,
      ...values,
    )
    const verdicts = await sql.rows<HumanRow>(
      `SELECT s, protocol, number, label, decider, standing FROM rulings
       WHERE decided_by = 'human' AND s IN (SELECT said.s FROM said WHERE ${fits})`,
      since,
      ...values,
    )
    return qualityOf(said, verdicts, until)
  })
}
