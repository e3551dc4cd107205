import {
  type DrawnRate,
  MOST_POSTS_COUNTED,
  MOST_RESERVATIONS,
  type OwnDecision,
  type Period,
  type PersonQuality,
  type PostPage,
  type QueueFilter,
  type QueuePlace,
  type ReviewReservation,
  type ReviewState,
} from '../../contracts/ports/review.ts'
import { type DrawRow, drawnRates, drawRowsQuery } from '../drawn-rates.ts'
import { type HumanRow, type PersonNoteRow, peopleQuery, qualityOf, SAID_SINCE } from '../people-quality.ts'
import { ABOUT_PEOPLE, ASSIGNED, fittingRows, IS_PARTY, WAS_ASSIGNED } from '../queue-filter.ts'
import {
  boundsBehind,
  countPosts,
  FIRST_RANKED,
  hasReserved,
  isSettled,
  itemOf,
  MOST_RANKED,
  MOST_TRIES,
  mayTake,
  type OwnDecisionRow,
  ownDecision,
  pageOfPosts,
  type QueueRow,
  type QueueRowWithSubject,
  type QueueRules,
  type RankedRow,
  type RankingRules,
  ROWS_A_POST,
  type RowBounds,
  ranked,
  rankingRules,
  reservationConflict,
  reviewPost,
  unionOf,
} from '../review-queue.ts'
import { writingBeside } from './schema.ts'
import { Sql } from './sql.ts'

/** Who decided or spoke about the same is looked up where it matters alone. */
const QUEUED = `s, verdict, tenant, protocol, number, label, reasons, weight, since, decider, holder, until, ${ASSIGNED},
  CASE WHEN ${ABOUT_PEOPLE} THEN (SELECT json_group_array(DISTINCT said.by) FROM said WHERE said.s = queue.s
    AND said.protocol = queue.protocol AND said.said = 'decision') ELSE '[]' END AS parties FROM queue`

/** The queue, and who has reserved what of it, over a connection that writes reservations alone. */
export class ReviewReservations {
  readonly #sql: Sql
  readonly #rules: RankingRules

  constructor({ path, ...rules }: { readonly path: string } & QueueRules) {
    this.#sql = new Sql(path, writingBeside(path))
    this.#rules = rankingRules(rules)
  }

  name(): string {
    return this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'name'")?.v ?? ''
  }

  list(filter: QueueFilter, most: number, now: number, skip = 0) {
    return this.#sql.snapshot(() => {
      const page = this.#best(filter, skip + most, now)
        .slice(skip)
        .map(({ row, score }) => itemOf(this.#withSubject(row), { score, now, person: filter.for }))
      return { items: page, waiting: this.#count(filter, now) }
    })
  }

  posts(filter: QueueFilter, most: number, now: number, after: QueuePlace | null): PostPage {
    return this.#sql.snapshot(() => {
      const best = this.#best(filter, most * ROWS_A_POST, now, after)
      const of = best.map(({ row }) => row.s)
      const fitting = after === null ? [] : this.#rowsOf(filter, of, now)
      const { subjects, next } = pageOfPosts(best, fitting, { filter, rules: this.#rules, now, after, most })
      const own = Map.groupBy(
        ranked(this.#rowsOf({}, subjects, now), { order: filter.order }, this.#rules, now),
        ({ row }) => row.s,
      )
      const posts = subjects.flatMap((s) => {
        const rows = (own.get(s) ?? []).map(({ row, score }) => ({ row: this.#withSubject(row), score }))
        return reviewPost(rows, filter, this.#rules, now) ?? []
      })
      const counted = this.#rows(filter, 'since', MOST_POSTS_COUNTED * ROWS_A_POST, now)
      return { posts, next, waiting: countPosts(counted, filter, this.#rules, now) }
    })
  }

  #rowsOf(filter: QueueFilter, subjects: readonly number[], now: number): QueueRow[] {
    return this.#rows(filter, 'since', MOST_RANKED, now, { subjects })
  }

  /** The first so many of all that fit. Only as much of the queue is read as it takes to be sure of them. */
  #best(filter: QueueFilter, most: number, now: number, after: QueuePlace | null = null): RankedRow[] {
    const bounds = boundsBehind(after, filter, this.#rules)
    for (let limit: number = FIRST_RANKED; ; limit = Math.min(4 * limit, MOST_RANKED)) {
      const byAge = filter.order === 'oldest'
      const heaviest = byAge ? [] : this.#rows(filter, 'weight DESC, since', limit, now, bounds)
      const oldest = byAge || heaviest.length === limit ? this.#rows(filter, 'since', limit, now, bounds) : []
      const best = ranked(unionOf(heaviest, oldest), filter, this.#rules, now, after)
      if (isSettled(best, most, { heaviest, oldest, limit }, filter.order, this.#rules.dear, now))
        return best.slice(0, most)
    }
  }

  #rows(filter: QueueFilter, order: string, limit: number, now: number, bounds: RowBounds = {}): QueueRow[] {
    const { sql, values } = fittingRows(filter, now, bounds)
    return this.#sql.all<QueueRow>(`SELECT ${QUEUED} WHERE ${sql} ORDER BY ${order} LIMIT ?`, ...values, limit)
  }

  #withSubject(row: QueueRow): QueueRowWithSubject {
    const own = this.#sql.get<Pick<QueueRowWithSubject, 'kind' | 'subject' | 'words' | 'lang'>>(
      'SELECT kind, subjects.id AS subject, begins AS words, lang FROM queue JOIN subjects USING (s) WHERE queue.verdict = ?',
      row.verdict,
    )
    return { ...row, kind: 'post', subject: '', words: null, lang: null, ...own }
  }

  #count(filter: QueueFilter, now: number): number {
    const { sql, values } = fittingRows(filter, now)
    const all = this.#sql.get<{ n: number }>(`SELECT count(*) AS n FROM queue WHERE ${sql}`, ...values)?.n ?? 0
    const person = filter.for
    if (person === undefined || filter.reserved !== undefined) return all
    const others = this.#sql.all<QueueRow>(
      `SELECT ${QUEUED} WHERE ${sql} AND holder IS NOT NULL
       UNION SELECT ${QUEUED} WHERE ${sql} AND ${ABOUT_PEOPLE} AND (decider = ? OR ${IS_PARTY})
       UNION SELECT ${QUEUED} WHERE ${sql} AND ${WAS_ASSIGNED}`,
      ...values,
      ...values,
      person,
      person,
      ...values,
    )
    return all - others.filter((row) => mayTake(row, filter, this.#rules, now) !== 'yes').length
  }

  reserve(
    item: string | null,
    filter: QueueFilter & { readonly for: string },
    until: number,
    now: number,
  ): ReviewReservation {
    if (item !== null) {
      const [one] = this.#rows({ ...filter, verdict: item }, 'since', 1, now)
      const refused = reservationConflict(one, filter, this.#rules, now)
      if (refused !== null) return refused
    }
    const wanted = item === null ? filter : { ...filter, verdict: item }
    for (let tries = 0; tries < MOST_TRIES; tries++)
      for (const { row, score } of this.#best(wanted, MOST_RESERVATIONS, now)) {
        if (!hasReserved(row, filter.for, now) && this.#countReserved(filter.for, now) >= MOST_RESERVATIONS)
          return { outcome: 'many' }
        const { changes } = this.#sql.run(
          'UPDATE queue SET holder = ?, until = ? WHERE verdict = ? AND (holder IS NULL OR holder = ? OR until <= ?)',
          filter.for,
          until,
          row.verdict,
          filter.for,
          now,
        )
        if (Number(changes) === 0) continue
        const reserved = itemOf(this.#withSubject(row), { score, now, person: filter.for })
        return { outcome: 'reserved', item: { ...reserved, reservation: { by: filter.for, until } } }
      }
    return { outcome: 'gone' }
  }

  #countReserved(by: string, now: number): number {
    const reserved = this.#sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM queue WHERE holder = ? AND until > ?',
      by,
      now,
    )
    return reserved?.n ?? 0
  }

  release(item: string, by: string, { anyone }: { readonly anyone: boolean }, now: number): boolean {
    const { changes } = this.#sql.run(
      'UPDATE queue SET holder = NULL, until = NULL WHERE verdict = ? AND holder IS NOT NULL AND until > ? AND (holder = ? OR ?)',
      item,
      now,
      by,
      Number(anyone),
    )
    return Number(changes) > 0
  }

  decisionsOf(person: string, since: number, most: number, tenants?: readonly string[]): OwnDecision[] {
    const isSeen =
      tenants === undefined ? '1 = 1' : `subjects.tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`
    return this.#sql
      .all<OwnDecisionRow>(
        `SELECT at, subjects.tenant, kind, subjects.id AS subject, said.protocol, said.label,
           json_extract(said.json, '$.opinion') AS opinion, r.id AS verdict, json_extract(r.json, '$.decision.by') AS decider
         FROM said JOIN subjects USING (s) LEFT JOIN rulings r ON r.s = said.s AND r.protocol = said.protocol AND r.standing = 1
         WHERE said.said = 'decision' AND said.by = ? AND at >= ? AND ${isSeen} ORDER BY at DESC, n DESC LIMIT ?`,
        person,
        since,
        ...(tenants ?? []),
        most,
      )
      .map((row) => ownDecision(row, person))
  }

  state(): ReviewState {
    return {
      queue: this.#sql.all('SELECT protocol, count(*) AS waiting, min(since) AS oldest FROM queue GROUP BY protocol'),
      agreement: this.#sql
        .all<{ protocol: string; beside: 'machine' | 'person'; agrees: number; verdicts: number }>(
          'SELECT protocol, beside, agrees, count(*) AS verdicts FROM agreement GROUP BY protocol, beside, agrees',
        )
        .map((row) => ({ ...row, agrees: row.agrees === 1 })),
    }
  }

  drawnRates(tenants?: readonly string[]): DrawnRate[] {
    const { sql, values } = drawRowsQuery(tenants)
    return drawnRates(this.#sql.all<DrawRow>(sql, ...values))
  }

  peopleQuality({ since, until }: Period, tenants?: readonly string[]): PersonQuality[] {
    const { sql, values } = peopleQuery(tenants)
    return this.#sql.snapshot(() => {
      const said = this.#sql.all<PersonNoteRow>(
        `SELECT said.s, protocol, said.by, at, label, json_extract(json, '$.against') AS against,
           json_extract(json, '$.opinion') AS opinion FROM said WHERE ${sql} ORDER BY at, n`,
        since,
        ...values,
      )
      const verdicts = this.#sql.all<HumanRow>(
        `SELECT s, protocol, number, label, json_extract(json, '$.decision.by') AS decider, standing FROM rulings
         WHERE decided_by = 'human' AND s IN (SELECT said.s FROM said WHERE ${SAID_SINCE})`,
        since,
      )
      return qualityOf(said, verdicts, until)
    })
  }

  close(): void {
    this.#sql.close()
  }
}
