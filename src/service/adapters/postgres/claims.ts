import {
  MOST_CLAIMS,
  type QueueFilter,
  type ReviewItem,
  type ReviewQueue,
  type ReviewState,
} from '../../ports/review.ts'
import { type Costs, costsOf, holds, itemOf, mayTake, type QueuedRow, ranked } from '../../record/queue.ts'
import type { Database } from './connection.ts'
import { keysOf, unsealed } from './seals.ts'

/** Items by weight that are ranked: cost and age move one no further than six times up. */
const RANKED = 20_000

type Row = QueuedRow & { readonly s: number }
const QUEUED = 's, verdict, tenant, protocol, number, label, reasons, weight, since, decider, holder, until FROM queue'

/** The queue, and who has claimed what of it. */
export function reviewClaims(db: Database, costs: Costs): ReviewQueue {
  const dear = costsOf(costs)
  const FITS =
    '(?::text[] IS NULL OR tenant = ANY (?::text[])) AND (?::text IS NULL OR protocol = ?) AND (?::text IS NULL OR verdict = ?)'
  const fits = ({ tenants, protocol, verdict }: QueueFilter) =>
    [tenants ?? null, tenants ?? null, protocol ?? null, protocol ?? null, verdict ?? null, verdict ?? null] as const

  const heaviest = (filter: QueueFilter) =>
    db.rows<Row>(`SELECT ${QUEUED} WHERE ${FITS} ORDER BY weight DESC LIMIT ?`, ...fits(filter), RANKED)

  async function heldBy(person: string, now: number): Promise<number> {
    const [held] = await db.rows<{ n: number }>(
      'SELECT count(*) AS n FROM queue WHERE holder = ? AND until > ?',
      ...[person, now],
    )
    return held?.n ?? 0
  }

  async function itemsOf(some: readonly { row: Row; score: number }[], now: number): Promise<ReviewItem[]> {
    if (some.length === 0) return []
    const subjects = await db.rows<SubjectRow>(
      'SELECT s, kind, id, lang, k, sealed FROM subjects WHERE s = ANY (?::bigint[])',
      some.map(({ row }) => row.s),
    )
    const keys = await keysOf(
      db,
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
    async list(filter, most, now) {
      const rows = await heaviest(filter)
      const all = ranked(rows, filter, dear, now)
      const items = await itemsOf(all.slice(0, most), now)
      if (rows.length < RANKED) return { items, waiting: all.length }
      const [counted] = await db.rows<{ n: number }>(`SELECT count(*) AS n FROM queue WHERE ${FITS}`, ...fits(filter))
      return { items, waiting: counted?.n ?? 0 }
    },
    async claim(item, filter, until, now) {
      const rows =
        item === null
          ? await heaviest(filter)
          : (await db.rows<Row>(`SELECT ${QUEUED} WHERE verdict = ?`, item)).filter(
              ({ tenant }) => filter.tenants?.includes(tenant) !== false,
            )
      const [one] = rows
      if (item !== null && one !== undefined) {
        const may = mayTake(one, filter.for, now)
        if (may === 'own') return { outcome: 'own' }
        if (may === 'taken') return { outcome: 'taken', by: one.holder ?? '', until: one.until ?? 0 }
      }
      for (const wanted of ranked(rows, filter, dear, now)) {
        if (!holds(wanted.row, filter.for, now) && (await heldBy(filter.for, now)) >= MOST_CLAIMS)
          return { outcome: 'many' }
        const taken = await db.run(
          'UPDATE queue SET holder = ?, until = ? WHERE verdict = ? AND (holder IS NULL OR holder = ? OR until <= ?)',
          ...[filter.for, until, wanted.row.verdict, filter.for, now],
        )
        const [claimed] = taken > 0 ? await itemsOf([wanted], now) : []
        if (claimed !== undefined) return { outcome: 'claimed', item: { ...claimed, claim: { by: filter.for, until } } }
      }
      return { outcome: 'gone' }
    },
    async release(item, by, anyone, now) {
      const released = await db.run(
        'UPDATE queue SET holder = NULL, until = NULL WHERE verdict = ? AND holder IS NOT NULL AND until > ? AND (holder = ? OR ? = 1)',
        ...[item, now, by, Number(anyone)],
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
