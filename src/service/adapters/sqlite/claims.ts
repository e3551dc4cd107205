import { type Claimed, MOST_CLAIMS, type QueueFilter, type ReviewState } from '../../ports/review.ts'
import {
  type Costs,
  costsOf,
  holds,
  itemOf,
  mayTake,
  type QueuedRow,
  type QueueRow,
  ranked,
} from '../../record/queue.ts'
import { writingBeside } from './schema.ts'
import { Sql } from './sql.ts'

/** Items by weight that are ranked: cost and age move one no further than six times up. */
const RANKED = 20_000

const QUEUED = 'verdict, tenant, protocol, number, label, reasons, weight, since, decider, holder, until FROM queue'

/** The queue, and who has claimed what of it, over a connection that writes claims alone. */
export class Claims {
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
    const rows = this.#rows(filter)
    const items = ranked(rows, filter, this.#costs, now)
    const page = items.slice(0, most).map(({ row, score }) => itemOf(this.#withSubject(row), score, now))
    return { items: page, waiting: rows.length < RANKED ? items.length : this.#count(filter) }
  }

  #rows({ tenants, protocol, verdict }: QueueFilter): QueuedRow[] {
    const conditions = [
      ...(tenants === undefined ? [] : [`tenant IN (${tenants.map(() => '?').join(', ')})`]),
      ...(protocol === undefined ? [] : ['protocol = ?']),
      ...(verdict === undefined ? [] : ['verdict = ?']),
    ]
    const named = [protocol, verdict].filter((one) => one !== undefined)
    const values = [...(tenants ?? []), ...named]
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    return this.#sql.all<QueuedRow>(`SELECT ${QUEUED} ${where} ORDER BY weight DESC LIMIT ?`, ...values, RANKED)
  }

  #withSubject(row: QueuedRow): QueueRow {
    const own = this.#sql.get<Pick<QueueRow, 'kind' | 'subject' | 'words' | 'lang'>>(
      'SELECT kind, subjects.id AS subject, begins AS words, lang FROM queue JOIN subjects USING (s) WHERE queue.verdict = ?',
      row.verdict,
    )
    return { ...row, kind: 'post', subject: '', words: null, lang: null, ...own }
  }

  #count({ tenants, protocol }: QueueFilter): number {
    const all = this.#sql.all<{ tenant: string; protocol: string; n: number }>(
      'SELECT tenant, protocol, count(*) AS n FROM queue GROUP BY tenant, protocol',
    )
    return all
      .filter((one) => tenants?.includes(one.tenant) !== false && (protocol ?? one.protocol) === one.protocol)
      .reduce((sum, { n }) => sum + n, 0)
  }

  claim(item: string | null, filter: QueueFilter & { readonly for: string }, until: number, now: number): Claimed {
    const rows =
      item === null
        ? this.#rows(filter)
        : this.#sql
            .all<QueuedRow>(`SELECT ${QUEUED} WHERE verdict = ?`, item)
            .filter(({ tenant }) => filter.tenants?.includes(tenant) !== false)
    const [one] = rows
    if (item !== null && one !== undefined) {
      const may = mayTake(one, filter.for, now)
      if (may === 'own') return { outcome: 'own' }
      if (may === 'taken') return { outcome: 'taken', by: one.holder ?? '', until: one.until ?? 0 }
    }
    for (const { row: wanted, score } of ranked(rows, filter, this.#costs, now)) {
      if (!holds(wanted, filter.for, now) && this.#held(filter.for, now) >= MOST_CLAIMS) return { outcome: 'many' }
      const { changes } = this.#sql.run(
        'UPDATE queue SET holder = ?, until = ? WHERE verdict = ? AND (holder IS NULL OR holder = ? OR until <= ?)',
        ...[filter.for, until, wanted.verdict, filter.for, now],
      )
      if (Number(changes) === 0) continue
      const claimed = itemOf(this.#withSubject(wanted), score, now)
      return { outcome: 'claimed', item: { ...claimed, claim: { by: filter.for, until } } }
    }
    return { outcome: 'gone' }
  }

  #held(by: string, now: number): number {
    const held = this.#sql.get<{ n: number }>(
      'SELECT count(*) AS n FROM queue WHERE holder = ? AND until > ?',
      ...[by, now],
    )
    return held?.n ?? 0
  }

  release(item: string, by: string, anyone: boolean, now: number): boolean {
    const { changes } = this.#sql.run(
      'UPDATE queue SET holder = NULL, until = NULL WHERE verdict = ? AND holder IS NOT NULL AND until > ? AND (holder = ? OR ?)',
      ...[item, now, by, Number(anyone)],
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
