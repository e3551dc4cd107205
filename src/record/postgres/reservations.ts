import {
  MOST_RESERVATIONS,
  type QueueFilter,
  type ReviewItem,
  type ReviewQueue,
  type ReviewState,
} from '../../contracts/ports/review.ts'
import {
  type Costs,
  costsOf,
  FIRST_RANKED,
  hasReserved,
  isSettled,
  itemOf,
  MOST_RANKED,
  MOST_TRIES,
  mayTake,
  type QueueRow,
  ranked,
  reservationConflict,
  unionOf,
} from '../review-queue.ts'
import type { Database, Sql } from './connection.ts'
import { keysOf, unsealed } from './seals.ts'

type Row = QueueRow & { readonly s: number }
const QUEUED = 's, verdict, tenant, protocol, number, label, reasons, weight, since, decider, holder, until FROM queue'

function fits({ tenants, protocol, verdict }: QueueFilter) {
  const conditions = [
    ...(tenants === undefined ? [] : [{ sql: 'tenant = ANY (?::text[])', value: tenants }]),
    ...(protocol === undefined ? [] : [{ sql: 'protocol = ?', value: protocol }]),
    ...(verdict === undefined ? [] : [{ sql: 'verdict = ?', value: verdict }]),
  ]
  return {
    sql: ['true', ...conditions.map(({ sql }) => sql)].join(' AND '),
    values: conditions.map(({ value }) => value),
  }
}

/** The queue, and who has reserved what of it. */
export function reviewReservations(db: Database, costs: Costs): ReviewQueue {
  const dear = costsOf(costs)
  const rowsOf = (sql: Sql, filter: QueueFilter, order: string, limit: number) => {
    const { sql: fit, values } = fits(filter)
    return sql.rows<Row>(`SELECT ${QUEUED} WHERE ${fit} ORDER BY ${order} LIMIT ?`, ...values, limit)
  }

  /** The first so many of all that fit. Only as much of the queue is read as it takes to be sure of them. */
  async function bestOf(
    sql: Sql,
    filter: QueueFilter,
    most: number,
    now: number,
  ): Promise<{ row: Row; score: number }[]> {
    for (let limit: number = FIRST_RANKED; ; limit = Math.min(4 * limit, MOST_RANKED)) {
      const heaviest = await rowsOf(sql, filter, 'weight DESC, since', limit)
      const oldest = heaviest.length < limit ? [] : await rowsOf(sql, filter, 'since', limit)
      const best = ranked(unionOf(heaviest, oldest), filter, dear, now)
      if (isSettled(best, most, { heaviest, oldest, limit }, dear, now)) return best.slice(0, most)
    }
  }

  async function waitingOf(sql: Sql, filter: QueueFilter, now: number): Promise<number> {
    const { sql: fit, values } = fits(filter)
    const [all] = await sql.rows<{ n: number }>(`SELECT count(*) AS n FROM queue WHERE ${fit}`, ...values)
    const person = filter.for
    if (person === undefined) return all?.n ?? 0
    const others = await sql.rows<Row>(
      `SELECT ${QUEUED} WHERE ${fit} AND holder IS NOT NULL UNION SELECT ${QUEUED} WHERE ${fit} AND decider = ?`,
      ...values,
      ...values,
      person,
    )
    return (all?.n ?? 0) - others.filter((row) => mayTake(row, person, now) !== 'yes').length
  }

  async function countReserved(person: string, now: number): Promise<number> {
    const [held] = await db.rows<{ n: number }>(
      'SELECT count(*) AS n FROM queue WHERE holder = ? AND until > ?',
      person,
      now,
    )
    return held?.n ?? 0
  }

  async function itemsOf(sql: Sql, some: readonly { row: Row; score: number }[], now: number): Promise<ReviewItem[]> {
    if (some.length === 0) return []
    const subjects = await sql.rows<SubjectRow>(
      'SELECT s, kind, id, lang, k, sealed FROM subjects WHERE s = ANY (?::bigint[])',
      some.map(({ row }) => row.s),
    )
    const keys = await keysOf(
      sql,
      subjects.flatMap(({ k }) => (k === null ? [] : [k])),
    )
    const of = new Map(subjects.map((one) => [one.s, one]))
    return some.flatMap(({ row, score }) => {
      const subject = of.get(row.s)
      if (subject === undefined) return []
      const { kind, id, lang, k, sealed } = subject
      const key = k === null ? undefined : keys.get(k)
      const words =
        key === undefined || sealed === null
          ? null
          : (JSON.parse(unsealed(key, sealed).toString('utf8')) as { begins: string }).begins
      return [itemOf({ ...row, kind, subject: id, words, lang }, score, now)]
    })
  }

  return {
    list: (filter, most, now) =>
      db.snapshot(async (sql) => {
        const items = await itemsOf(sql, await bestOf(sql, filter, most, now), now)
        return { items, waiting: await waitingOf(sql, filter, now) }
      }),
    async reserve(item, filter, until, now) {
      const wanted = item === null ? filter : { ...filter, verdict: item }
      if (item !== null) {
        const [one] = await rowsOf(db, wanted, 'since', 1)
        const refused = reservationConflict(one, filter.for, now)
        if (refused !== null) return refused
      }
      for (let tries = 0; tries < MOST_TRIES; tries++)
        for (const first of await bestOf(db, wanted, MOST_RESERVATIONS, now)) {
          if (!hasReserved(first.row, filter.for, now) && (await countReserved(filter.for, now)) >= MOST_RESERVATIONS)
            return { outcome: 'many' }
          const taken = await db.run(
            'UPDATE queue SET holder = ?, until = ? WHERE verdict = ? AND (holder IS NULL OR holder = ? OR until <= ?)',
            filter.for,
            until,
            first.row.verdict,
            filter.for,
            now,
          )
          const [reserved] = taken > 0 ? await itemsOf(db, [first], now) : []
          if (reserved !== undefined)
            return { outcome: 'reserved', item: { ...reserved, reservation: { by: filter.for, until } } }
        }
      return { outcome: 'gone' }
    },
    async release(item, by, { anyone }, now) {
      const released = await db.run(
        'UPDATE queue SET holder = NULL, until = NULL WHERE verdict = ? AND holder IS NOT NULL AND until > ? AND (holder = ? OR ? = 1)',
        item,
        now,
        by,
        Number(anyone),
      )
      return released > 0
    },
    async state(): Promise<ReviewState> {
      const queue = await db.rows<ReviewState['queue'][number]>(
        'SELECT protocol, count(*) AS waiting, min(since) AS oldest FROM queue GROUP BY protocol ORDER BY protocol',
      )
      const agreement = await db.rows<{
        protocol: string
        beside: 'machine' | 'person'
        agrees: number
        verdicts: number
      }>(
        'SELECT protocol, beside, agrees, count(*) AS verdicts FROM agreement GROUP BY protocol, beside, agrees ORDER BY protocol, beside, agrees',
      )
      return { queue, agreement: agreement.map((row) => ({ ...row, agrees: row.agrees === 1 })) }
    },
    close: () => db.close(),
  }
}

interface SubjectRow {
  readonly s: number
  readonly kind: ReviewItem['subject']['kind']
  readonly id: string
  readonly lang: string | null
  readonly k: number | null
  readonly sealed: Buffer | null
}
