import { isReversed, newestActions, noteReversals } from '../actions.ts'
import { compare } from '../compared.ts'
import { GOLDEN_KEY, OPINION, OPINION_UNSEEN } from '../opinion-code.ts'
import { ASKED_FOR, lookAt, NEWEST_OPINIONS } from '../review-queue.ts'
import { settleAppeals } from './appeals.ts'
import { columnsOf } from './connection.ts'
import { drawnAmong, forgetDraws, settleDraws, settleLaneDraws } from './draws.ts'
import type { WritingStep } from './writing.ts'

// This keeps the rows of the queue. Why a verdict is in it is decided in src/record/review-queue.ts.

interface Standing {
  readonly s: number
  readonly protocol: string
  readonly id: string
  readonly tenant: string
  readonly number: number
  readonly label: string | null
  readonly decided_by: string
  readonly decider: string | null
  readonly contested: number
  readonly degraded: number
  readonly confidence: number | null
  readonly accepted: number
  readonly decided_at: number
  readonly sampled: number
  /** An image could not be shown to who decided. */
  readonly unseen: boolean
  readonly golden: boolean
  /** The machines' last ruling beneath a person's: its id and label. */
  readonly beneath: { readonly id: string; readonly label: string | null } | null
  /** Since when the oldest appeal waits. */
  readonly appealed: number | null
  readonly asked: readonly { why: string; at: number }[]
  /** What others say in a second opinion, each their last word, by who spoke first; null where an image could not be shown to them. */
  readonly opinions: readonly (string | null)[]
}

const NOTE_REVERSALS = noteReversals('unnest(?::bigint[], ?::text[]) AS wanted (s, protocol)', {
  actions: `LATERAL ${newestActions('wanted.s', 'wanted.protocol')}`,
  verdict: 'a.verdict',
  at: 'a.against',
})

/** How many others' opinions are read. */
const MOST_OPINIONS = 10

/** Writes anew what the queue has of all that was touched. Reservations stay until a person decides. */
export async function settle(writing: WritingStep): Promise<void> {
  await settleAppeals(writing)
  const { sql, touched } = writing
  const pairs = [...touched].flatMap(([s, protocols]) => [...protocols].map((protocol) => [s, protocol] as const))
  touched.clear()
  if (pairs.length === 0) return
  const columns = columnsOf(pairs, 2)
  await sql.run(
    'DELETE FROM compared USING unnest(?::bigint[], ?::text[]) AS of (s, protocol) WHERE (compared.s, compared.protocol) = (of.s, of.protocol)',
    ...columns,
  )
  await sql.run(compare('unnest(?::bigint[], ?::text[]) AS wanted (s, protocol)'), ...columns)
  await sql.run(NOTE_REVERSALS, ...columns)
  // Of one verdict thousands may be refused: of each reason the first is read alone.
  const rows = await sql.rows<Standing>(
    `SELECT r.s, r.protocol, r.id, r.tenant, number, label, decided_by, decider, contested, degraded, confidence, accepted,
       decided_at, sampled, EXISTS (SELECT 1 FROM marks WHERE marks.doc = r.doc AND mark = 'unseen') AS unseen,
       decided_by = 'human' AND EXISTS (SELECT 1 FROM said WHERE said.s = r.s AND said.protocol = r.protocol
         AND said = 'decision' AND opinion = ${GOLDEN_KEY} AND against = r.number AND said.label = r.label) AS golden,
       CASE decided_by WHEN 'human' THEN (SELECT json_build_object('id', m.id, 'label', m.label) FROM rulings m WHERE m.s = r.s AND m.protocol = r.protocol
         AND m.number < r.number AND m.decided_by NOT IN ('human', 'deleted') ORDER BY m.number DESC LIMIT 1) END AS beneath,
       (SELECT min(at) FROM appeals WHERE appeals.s = r.s AND appeals.protocol = r.protocol AND outcome IS NULL
         AND appeals.number > 0) AS appealed,
       (SELECT coalesce(json_agg(json_build_object('why', why, 'at', first) ORDER BY n), '[]') FROM (
         SELECT of.why, first.at AS first, first.n FROM unnest(?::text[]) AS of (why) CROSS JOIN LATERAL (
           SELECT at, n FROM said WHERE said.s = r.s AND said.protocol = r.protocol AND said = 'review' AND said.verdict = r.id
           AND said.why = of.why AND NOT ${isReversed('r.id', 'r.tenant')} ORDER BY at, n LIMIT 1) AS first) AS reasons) AS asked,
       (SELECT coalesce(json_agg(said_of.label ORDER BY first), '[]') FROM (
         SELECT label, first FROM (
           SELECT CASE opinion WHEN ${OPINION} THEN said.label END AS label, row_number() OVER (PARTITION BY by ORDER BY at DESC, n DESC) AS nth,
             min(n) OVER (PARTITION BY by) AS first
           FROM (SELECT * FROM said WHERE said.s = r.s AND said.protocol = r.protocol AND said = 'decision' AND opinion <> 0
             AND against = r.number ORDER BY at DESC, n DESC LIMIT ${NEWEST_OPINIONS}) AS said
           WHERE opinion IN (${OPINION}, ${OPINION_UNSEEN}) AND by IS DISTINCT FROM r.decider AND said.label IS NOT NULL) AS each
         WHERE nth = 1 ORDER BY first LIMIT ?) AS said_of) AS opinions
     FROM unnest(?::bigint[], ?::text[]) AS wanted (s, protocol)
     JOIN rulings r ON r.s = wanted.s AND r.protocol = wanted.protocol AND standing = 1`,
    ASKED_FOR,
    MOST_OPINIONS,
    ...columns,
  )
  const agreement = rows.flatMap((row) =>
    (['machine', 'person'] as const).flatMap((beside) => {
      const other =
        beside === 'machine' ? (row.beneath?.label ?? null) : (row.opinions.find((one) => one !== null) ?? null)
      if (row.decided_by !== 'human' || row.unseen || other === null) return []
      return [[row.s, row.protocol, beside, Number(other === row.label)]]
    }),
  )
  // What has fallen out of both, or has another verdict now.
  await sql.run(
    'DELETE FROM agreement USING unnest(?::bigint[], ?::text[]) AS of (s, protocol) WHERE (agreement.s, agreement.protocol) = (of.s, of.protocol)',
    ...columns,
  )
  if (agreement.length > 0)
    await sql.run(
      'INSERT INTO agreement SELECT * FROM unnest(?::bigint[], ?::text[], ?::text[], ?::smallint[])',
      ...columnsOf(agreement, 4),
    )
  await settleDraws(writing, rows)
  await settleLaneDraws(writing, pairs)
  await forgetDraws(
    writing,
    pairs.filter(([s, protocol]) => !rows.some((row) => row.s === s && row.protocol === protocol)),
  )
  const drawnAt = await drawnAmong(writing, rows)
  const items = rows.flatMap((row) => {
    const { s, protocol, id, tenant, number, label, decider, decided_by: decidedBy, decided_at: decidedAt } = row
    const drawn = drawnAt(row)
    const standing = {
      ...row,
      decidedBy,
      decidedAt: Math.min(decidedAt, drawn ?? decidedAt),
      drawn: drawn !== null || (decidedBy !== 'human' && row.sampled === 1),
      contested: row.contested === 1,
      degraded: row.degraded === 1,
    }
    const appealed = row.appealed === null ? [] : [{ why: 'appealed', at: row.appealed }]
    const look = lookAt(standing, [...row.asked, ...appealed], row.opinions.length)
    if (look === null) return []
    return [
      [s, protocol, id, tenant, number, label, look.reasons.join(' '), look.weight, look.since, decider, row.accepted],
    ]
  })
  const kept = new Set(items.map(([s, protocol]) => `${s} ${protocol}`))
  await sql.run(
    'DELETE FROM queue USING unnest(?::bigint[], ?::text[]) AS of (s, protocol) WHERE (queue.s, queue.protocol) = (of.s, of.protocol)',
    ...columnsOf(
      pairs.filter(([s, protocol]) => !kept.has(`${s} ${protocol}`)),
      2,
    ),
  )
  if (items.length > 0)
    await sql.run(
      `INSERT INTO queue (s, protocol, verdict, tenant, number, label, reasons, weight, since, decider, reach)
       SELECT * FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::double precision[],
         ?::bigint[], ?::text[], ?::bigint[])
       ON CONFLICT (s, protocol) DO UPDATE SET verdict = excluded.verdict, number = excluded.number, label = excluded.label,
         reasons = excluded.reasons, weight = excluded.weight, since = excluded.since, decider = excluded.decider,
         reach = excluded.reach,
         holder = CASE WHEN queue.decider IS NOT DISTINCT FROM excluded.decider THEN queue.holder END,
         until = CASE WHEN queue.decider IS NOT DISTINCT FROM excluded.decider THEN queue.until END`,
      ...columnsOf(items, 11),
    )
}
