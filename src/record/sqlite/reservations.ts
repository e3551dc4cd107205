import type { AgreementQuery, ComparedGroup, ComparedQuery, ComparedRuling } from '../../contracts/facts/agreement.ts'
import {
  type DecisionQuery,
  type DrawEntry,
  type DrawnRate,
  type DrawQuery,
  type DrawSum,
  type LaneAudit,
  MOST_POSTS_COUNTED,
  MOST_RESERVATIONS,
  type Period,
  type PersonDecision,
  type PersonQuality,
  type PostPage,
  type QueueFilter,
  type QueuePlace,
  type ReviewReservation,
  type ReviewState,
} from '../../contracts/ports/review.ts'
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
import { type DrawRow, drawnRates, drawRowsQuery } from '../drawn-rates.ts'
import { LANE_AUDITS, type LaneAuditRow, laneAudit } from '../lane-audits.ts'
import { type HumanRow, MOST_SAID, type PersonNoteRow, peopleQuery, qualityOf } from '../people-quality.ts'
import { decisionsQuery, type PersonDecisionRow, personDecision } from '../person-decisions.ts'
import {
  ABOUT_PEOPLE,
  DECIDERS,
  firstRows,
  fittingRows,
  MAY_BE_PARTY,
  QUEUED,
  totalsQuery,
  WAS_ASSIGNED,
} from '../queue-filter.ts'
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
  type RankingRules,
  ROWS_A_POST,
  ROWS_OF_OTHERS,
  ranked,
  rankingRules,
  reservationConflict,
  reviewPost,
} from '../review-queue.ts'
import { OPINION_CODE, writingBeside } from './schema.ts'
import { Sql } from './sql.ts'

/** What of the rows that fit is read. */
interface RowBounds {
  readonly subjects?: readonly number[]
  readonly limit?: number
}

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
      const fitting = after === null ? [] : this.#rows(filter, now, { subjects: of })
      const { subjects, next } = pageOfPosts(best, fitting, { filter, rules: this.#rules, now, after, most })
      const own = Map.groupBy(
        ranked(this.#rows({ for: filter.for }, now, { subjects }), { order: filter.order }, this.#rules, now),
        ({ row }) => row.s,
      )
      const posts = subjects.flatMap((s) => {
        const rows = (own.get(s) ?? []).map(({ row, score }) => ({ row: this.#withSubject(row), score }))
        return reviewPost(rows, filter, this.#rules, now) ?? []
      })
      return { posts, next, waiting: this.#countPosts(filter, now) }
    })
  }

  /** The first so many of all that fit. */
  #best(filter: QueueFilter, most: number, now: number, after: QueuePlace | null = null): RankedRow[] {
    const { sql, values } = firstRows(filter, { rules: this.#rules, now, after }, { named: 'verdict' })
    for (let limit = most + ROWS_OF_OTHERS; ; limit *= 4) {
      const rows = this.#sql.all<QueueRow>(sql, ...values, limit)
      const best = ranked(rows, filter, this.#rules, now, after)
      if (best.length >= most || rows.length < limit) return best.slice(0, most)
    }
  }

  /** Rows that fit, in no order; all of them where no `limit` is set. */
  #rows(filter: QueueFilter, now: number, { subjects, limit = -1 }: RowBounds = {}): QueueRow[] {
    const { sql, values } = fittingRows(filter, now, subjects)
    return this.#sql.all<QueueRow>(
      `SELECT ${QUEUED} FROM queue WHERE ${sql} LIMIT ?`,
      filter.for ?? '',
      ...values,
      limit,
    )
  }

  #countPosts(filter: QueueFilter, now: number): number {
    for (let limit = MOST_POSTS_COUNTED + ROWS_OF_OTHERS; ; limit *= 2) {
      const posts = countPosts(this.#rows(filter, now, { limit }), limit, { filter, rules: this.#rules, now })
      if (posts !== null) return posts
    }
  }

  #withSubject(row: QueueRow): QueueRowWithSubject {
    const own = this.#sql.get<Pick<QueueRowWithSubject, 'kind' | 'subject' | 'words' | 'lang' | 'pictures'>>(
      'SELECT kind, subjects.id AS subject, begins AS words, lang, coalesce(images, 0) AS pictures FROM queue JOIN subjects USING (s) WHERE queue.verdict = ?',
      row.verdict,
    )
    return { ...row, kind: 'post', subject: '', words: null, lang: null, pictures: 0, ...own }
  }

  #count(filter: QueueFilter, now: number): number {
    const { sql, values } = fittingRows(filter, now)
    const all = this.#sql.get<{ n: number }>(`SELECT count(*) AS n FROM queue WHERE ${sql}`, ...values)?.n ?? 0
    const person = filter.for
    if (person === undefined || filter.reserved !== undefined) return all
    const others = this.#sql.all<QueueRow>(
      `SELECT ${QUEUED} FROM queue WHERE ${sql} AND holder IS NOT NULL
       UNION SELECT ${QUEUED} FROM queue WHERE ${sql} AND ${ABOUT_PEOPLE} AND (decider = ? OR ${MAY_BE_PARTY})
       UNION SELECT ${QUEUED} FROM queue WHERE ${sql} AND ${WAS_ASSIGNED}`,
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
    return all - others.filter((row) => mayTake(row, filter, this.#rules, now) !== 'yes').length
  }

  reserve(
    item: string | null,
    filter: QueueFilter & { readonly for: string },
    until: number,
    now: number,
  ): ReviewReservation {
    if (item !== null) {
      const [one] = this.#rows({ ...filter, verdict: item }, now)
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
        return madeReservation(row, reserved, filter.for, until)
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

  decisions(query: DecisionQuery, most: number): PersonDecision[] {
    const { sql, values } = decisionsQuery(query, {
      opinion: (said) => `(${OPINION_CODE.replaceAll('said.', `${said}.`)})`,
      against: "json_extract(said.json, '$.against')",
      decider: (ruling) => `json_extract(${ruling}.json, '$.decision.by')`,
    })
    return this.#sql.all<PersonDecisionRow>(sql, ...values, most).map(personDecision)
  }

  deciders(tenant: string, since: number, most: number): string[] {
    return this.#sql.all<{ one: string }>(DECIDERS, since, tenant, most).map(({ one }) => one)
  }

  state(): ReviewState {
    return {
      queue: this.totals(),
      agreement: this.#sql
        .all<{ protocol: string; beside: 'machine' | 'person'; agrees: number; verdicts: number }>(
          'SELECT protocol, beside, agrees, count(*) AS verdicts FROM agreement GROUP BY protocol, beside, agrees',
        )
        .map((row) => ({ ...row, agrees: row.agrees === 1 })),
    }
  }

  totals(tenants?: readonly string[]): ReviewState['queue'] {
    const { sql, values } = totalsQuery(tenants)
    return this.#sql.all<ReviewState['queue'][number]>(sql, ...values).map((row) => ({ ...row }))
  }

  draws(query: DrawQuery, most: number): DrawEntry[] {
    const { sql, values } = drawEntriesQuery(query)
    return this.#sql.all<DrawEntryRow>(sql, ...values, most).map(drawEntry)
  }

  drawSums(tenants?: readonly string[]): DrawSum[] {
    const { sql, values } = drawSumsQuery(tenants)
    return this.#sql.all<DrawSumRow>(sql, ...values).map(drawSum)
  }

  drawnRates(tenants?: readonly string[]): DrawnRate[] {
    const { sql, values } = drawRowsQuery(tenants)
    return drawnRates(this.#sql.all<DrawRow>(sql, ...values))
  }

  laneAudit(lane: string, promise: Parameters<typeof laneAudit>[1]): LaneAudit {
    return laneAudit(this.#sql.all<LaneAuditRow>(LANE_AUDITS, lane), promise)
  }

  peopleQuality({ since, until }: Period, tenants?: readonly string[]): PersonQuality[] {
    const { sql, values } = peopleQuery(tenants)
    return this.#sql.snapshot(() => {
      const said = this.#sql.all<PersonNoteRow>(
        `SELECT s, protocol, said.by, at, label, json_extract(json, '$.against') AS against,
           ${OPINION_CODE} AS opinion, json_extract(json, '$.seconds') AS seconds
         FROM (SELECT * FROM said WHERE ${sql} ORDER BY at DESC, n DESC LIMIT ${MOST_SAID}) AS said ORDER BY at, n`,
        since,
        ...values,
      )
      const verdicts = this.#sql.all<HumanRow>(
        `SELECT s, protocol, number, label, json_extract(json, '$.decision.by') AS decider, standing FROM rulings INDEXED BY rulings_human
         WHERE decided_by = 'human' AND s IN (SELECT said.s FROM said WHERE ${sql})`,
        since,
        ...values,
      )
      return qualityOf(said, verdicts, until)
    })
  }

  comparedGroups(query: AgreementQuery): ComparedGroup[] {
    const { sql, values } = comparedGroupsQuery(query)
    return this.#sql.all<ComparedGroupRow>(sql, ...values).map(comparedGroup)
  }

  compared(query: ComparedQuery, most: number): ComparedRuling[] {
    const { sql, values } = comparedQuery(query)
    return this.#sql.all<ComparedRow>(sql, ...values, most).map(comparedRuling)
  }

  close(): void {
    this.#sql.close()
  }
}
