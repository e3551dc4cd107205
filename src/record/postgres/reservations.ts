import {
  MOST_POSTS_COUNTED,
  MOST_RESERVATIONS,
  type QueueFilter,
  type QueuePlace,
  type ReviewItem,
  type ReviewQueue,
  type ReviewState,
} from '../../contracts/ports/review.ts'
import { ABOUT_PEOPLE, firstRows, fittingRows, MAY_BE_PARTY, QUEUED, WAS_ASSIGNED } from '../queue-filter.ts'
import {
  countPosts,
  hasReserved,
  itemOf,
  MOST_TRIES,
  madeReservation,
  mayTake,
  pageOfPosts,
  type QueueRow,
  type QueueRowWithSubject,
  type QueueRules,
  type RankedRow,
  ROWS_A_POST,
  ROWS_OF_OTHERS,
  ranked,
  rankingRules,
  reservationConflict,
  reviewPost,
} from '../review-queue.ts'
import type { Database, Sql } from './connection.ts'
import type { SealedPreview } from './prepared-batch.ts'
import { reviewFigures, totalsIn } from './review-figures.ts'
import { keysOf, unsealed } from './seals.ts'

/** The queue, and who has reserved what of it. */
export function reviewReservations(db: Database, queueRules: QueueRules): ReviewQueue {
  const rules = rankingRules(queueRules)
  /** Rows that fit, in no order. */
  const rowsOf = (
    sql: Sql,
    filter: QueueFilter,
    now: number,
    subjects?: readonly number[],
    limit: number | null = null,
  ) => {
    const { sql: fit, values } = fittingRows(filter, now, subjects)
    return sql.rows<QueueRow>(`SELECT ${QUEUED} FROM queue WHERE ${fit} LIMIT ?`, filter.for ?? '', ...values, limit)
  }

  /** The first so many of all that fit. */
  async function bestOf(
    sql: Sql,
    filter: QueueFilter,
    most: number,
    now: number,
    after: QueuePlace | null = null,
  ): Promise<RankedRow[]> {
    const first = firstRows(filter, { rules, now, after }, { named: 'verdict COLLATE "C"' })
    for (let limit = most + ROWS_OF_OTHERS; ; limit *= 4) {
      const rows = await sql.rows<QueueRow>(first.sql, ...first.values, limit)
      const best = ranked(rows, filter, rules, now, after)
      if (best.length >= most || rows.length < limit) return best.slice(0, most)
    }
  }

  async function postsWaiting(sql: Sql, filter: QueueFilter, now: number): Promise<number> {
    for (let limit = MOST_POSTS_COUNTED + ROWS_OF_OTHERS; ; limit *= 2) {
      const rows = await rowsOf(sql, filter, now, undefined, limit)
      const posts = countPosts(rows, limit, { filter, rules, now })
      if (posts !== null) return posts
    }
  }

  async function waitingOf(sql: Sql, filter: QueueFilter, now: number): Promise<number> {
    const { sql: fit, values } = fittingRows(filter, now)
    const [all] = await sql.rows<{ n: number }>(`SELECT count(*) AS n FROM queue WHERE ${fit}`, ...values)
    const person = filter.for
    if (person === undefined || filter.reserved !== undefined) return all?.n ?? 0
    const others = await sql.rows<QueueRow>(
      `SELECT ${QUEUED} FROM queue WHERE ${fit} AND holder IS NOT NULL
       UNION SELECT ${QUEUED} FROM queue WHERE ${fit} AND ${ABOUT_PEOPLE} AND (decider = ? OR ${MAY_BE_PARTY})
       UNION SELECT ${QUEUED} FROM queue WHERE ${fit} AND ${WAS_ASSIGNED}`,
      person,
      ...values,
      person,
      ...values,
      person,
      person,
      person,
      person,
      ...values,
    )
    return (all?.n ?? 0) - others.filter((row) => mayTake(row, filter, rules, now) !== 'yes').length
  }

  const itemsOf = async (sql: Sql, some: readonly RankedRow[], person: string | undefined, now: number) =>
    (await withSubjects(sql, some)).map(({ row, score }) => itemOf(row, { score, now, person }))

  return {
    list: (filter, most, now, skip = 0) =>
      db.snapshot(async (sql) => {
        const page = (await bestOf(sql, filter, skip + most, now)).slice(skip)
        const items = await itemsOf(sql, page, filter.for, now)
        return { items, waiting: await waitingOf(sql, filter, now) }
      }),
    posts: (filter, most, now, after) =>
      db.snapshot(async (sql) => {
        const best = await bestOf(sql, filter, most * ROWS_A_POST, now, after)
        const of = best.map(({ row }) => row.s)
        const fitting = after === null ? [] : await rowsOf(sql, filter, now, of)
        const { subjects, next } = pageOfPosts(best, fitting, { filter, rules, now, after, most })
        const rows = ranked(await rowsOf(sql, { for: filter.for }, now, subjects), { order: filter.order }, rules, now)
        const own = Map.groupBy(await withSubjects(sql, rows), ({ row }) => row.s)
        const posts = subjects.flatMap((s) => reviewPost(own.get(s) ?? [], filter, rules, now) ?? [])
        return { posts, next, waiting: await postsWaiting(sql, filter, now) }
      }),
    async reserve(item, filter, until, now) {
      const wanted = item === null ? filter : { ...filter, verdict: item }
      if (item !== null) {
        const [one] = await rowsOf(db, wanted, now)
        const refused = reservationConflict(one, filter, rules, now)
        if (refused !== null) return refused
      }
      for (let tries = 0; tries < MOST_TRIES; tries++)
        for (const first of await bestOf(db, wanted, MOST_RESERVATIONS, now)) {
          if (
            !hasReserved(first.row, filter.for, now) &&
            (await countReserved(db, filter.for, now)) >= MOST_RESERVATIONS
          )
            return { outcome: 'many' }
          const taken = await db.run(
            'UPDATE queue SET holder = ?, until = ? WHERE verdict = ? AND (holder IS NULL OR holder = ? OR until <= ?)',
            filter.for,
            until,
            first.row.verdict,
            filter.for,
            now,
          )
          const [reserved] = taken > 0 ? await itemsOf(db, [first], filter.for, now) : []
          if (reserved !== undefined) return madeReservation(first.row, reserved, filter.for, until)
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
      const queue = await totalsIn(db)
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
    ...reviewFigures(db),
    close: () => db.close(),
  }
}

async function withSubjects(sql: Sql, some: readonly RankedRow[]): Promise<RankedRow<QueueRowWithSubject>[]> {
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
    const shown =
      key === undefined || sealed === null
        ? null
        : (JSON.parse(unsealed(key, sealed).toString('utf8')) as SealedPreview) // As this record sealed it.
    const [words, pictures] = [shown?.begins ?? null, shown?.pictures ?? 0]
    return [{ row: { ...row, kind, subject: id, words, lang, pictures }, score }]
  })
}

async function countReserved(db: Database, person: string, now: number): Promise<number> {
  const [held] = await db.rows<{ n: number }>(
    'SELECT count(*) AS n FROM queue WHERE holder = ? AND until > ?',
    person,
    now,
  )
  return held?.n ?? 0
}

interface SubjectRow {
  readonly s: number
  readonly kind: ReviewItem['subject']['kind']
  readonly id: string
  readonly lang: string | null
  readonly k: number | null
  readonly sealed: Buffer | null
}
