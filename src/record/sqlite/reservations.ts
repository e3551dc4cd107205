import {
  MOST_RESERVATIONS,
  type QueueFilter,
  type ReviewReservation,
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
  type QueueRowWithSubject,
  ranked,
  reservationConflict,
  unionOf,
} from '../review-queue.ts'
import { writingBeside } from './schema.ts'
import { Sql } from './sql.ts'

const QUEUED = 'verdict, tenant, protocol, number, label, reasons, weight, since, decider, holder, until FROM queue'

function fits({ tenants, protocol, verdict }: QueueFilter) {
  const conditions = [
    ...(tenants === undefined ? [] : [`tenant IN (${tenants.map(() => '?').join(', ')})`]),
    ...(protocol === undefined ? [] : ['protocol = ?']),
    ...(verdict === undefined ? [] : ['verdict = ?']),
  ]
  const named = [protocol, verdict].filter((one) => one !== undefined)
  return { sql: ['1 = 1', ...conditions].join(' AND '), values: [...(tenants ?? []), ...named] }
}

/** The queue, and who has reserved what of it, over a connection that writes reservations alone. */
export class ReviewReservations {
  readonly #sql: Sql
  readonly #costs: ReturnType<typeof costsOf>

  constructor({ path, costs }: { readonly path: string; readonly costs: Costs }) {
    this.#sql = new Sql(path, writingBeside(path))
    this.#costs = costsOf(costs)
  }

  name(): string {
    return this.#sql.get<{ v: string }>("SELECT v FROM meta WHERE k = 'name'")?.v ?? ''
  }

  list(filter: QueueFilter, most: number, now: number) {
    return this.#sql.snapshot(() => {
      const page = this.#best(filter, most, now).map(({ row, score }) => itemOf(this.#withSubject(row), score, now))
      return { items: page, waiting: this.#count(filter, now) }
    })
  }

  /** The first so many of all that fit. Only as much of the queue is read as it takes to be sure of them. */
  #best(filter: QueueFilter, most: number, now: number): { row: QueueRow; score: number }[] {
    for (let limit: number = FIRST_RANKED; ; limit = Math.min(4 * limit, MOST_RANKED)) {
      const heaviest = this.#rows(filter, 'weight DESC, since', limit)
      const oldest = heaviest.length < limit ? [] : this.#rows(filter, 'since', limit)
      const best = ranked(unionOf(heaviest, oldest), filter, this.#costs, now)
      if (isSettled(best, most, { heaviest, oldest, limit }, this.#costs, now)) return best.slice(0, most)
    }
  }

  #rows(filter: QueueFilter, order: string, limit: number): QueueRow[] {
    const { sql, values } = fits(filter)
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
    const { sql, values } = fits(filter)
    const all = this.#sql.get<{ n: number }>(`SELECT count(*) AS n FROM queue WHERE ${sql}`, ...values)?.n ?? 0
    const person = filter.for
    if (person === undefined) return all
    const others = this.#sql.all<QueueRow>(
      `SELECT ${QUEUED} WHERE ${sql} AND holder IS NOT NULL UNION SELECT ${QUEUED} WHERE ${sql} AND decider = ?`,
      ...values,
      ...values,
      person,
    )
    return all - others.filter((row) => mayTake(row, person, now) !== 'yes').length
  }

  reserve(
    item: string | null,
    filter: QueueFilter & { readonly for: string },
    until: number,
    now: number,
  ): ReviewReservation {
    if (item !== null) {
      const [one] = this.#rows({ ...filter, verdict: item }, 'since', 1)
      const refused = reservationConflict(one, filter.for, now)
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
        const reserved = itemOf(this.#withSubject(row), score, now)
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

  close(): void {
    this.#sql.close()
  }
}
