import { randomUUID } from 'node:crypto'
import type { RulingEntry } from '../../contracts/ports/record.ts'
import type { DrawnRate } from '../../contracts/ports/review.ts'
import { type DrawRow, drawnRates, drawRowsQuery, LANGUAGE_OF_DRAW } from '../drawn-rates.ts'
import { DRAW_SINCE, drawsOf, scopeOfVerdict } from '../draws.ts'
import { CLOSED, KEEP_CLOSED } from '../lane-audits.ts'
import {
  DETACH_LANE_DRAW,
  ENTER_LANE_DRAW,
  type LaterRuling,
  laneDraw,
  laneDrawFate,
  type OpenLaneDraw,
  SETTLE_LANE_DRAW,
} from '../lane-draws.ts'
import { columnsOf, type Sql } from './connection.ts'
import { HAS_DRAWN_LANGUAGES } from './schema.ts'
import type { WritingStep } from './writing.ts'

// This keeps the ledger of random draws. Which verdicts are drawn is decided in src/record/draws.ts.

/** Enters what chance chose when these verdicts came. Returns those whose subjects are drawn for audit, now or before. */
export async function enterDraws(
  { sql, draw, shares }: WritingStep,
  fresh: readonly (RulingEntry & { readonly s: number; readonly entry: RulingEntry })[],
): Promise<ReadonlySet<string>> {
  for (const { entry, s, protocol, subject, id, openedAt, label } of fresh) {
    const draws = drawsOf(entry, draw, shares)
    const ofLane = laneDraw(entry, draws, s)
    if (ofLane !== null) await sql.run(ENTER_LANE_DRAW, ...ofLane)
    for (const { item, purpose, chance, differs } of draws)
      await sql.run(
        `INSERT INTO draws VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (item, purpose) DO UPDATE SET
         verdict = excluded.verdict, chance = greatest(draws.chance, excluded.chance), label = excluded.label,
         differs = excluded.differs`,
        item,
        purpose,
        s,
        protocol,
        subject.tenant,
        id,
        chance,
        openedAt,
        label,
        differs === null ? null : Number(differs),
      )
  }
  await sql.run(
    `UPDATE draws SET lang = ${LANGUAGE_OF_DRAW} WHERE s = ANY (?::bigint[])`,
    fresh.map(({ s }) => s),
  )
  const machines = fresh.filter(({ decidedBy }) => decidedBy !== 'human' && decidedBy !== 'deleted')
  const audited = await sql.rows<{ item: string }>(
    "SELECT item FROM draws WHERE purpose = 'audit' AND item = ANY (?::text[])",
    machines.map(({ id }) => scopeOfVerdict(id)),
  )
  const items = new Set(audited.map(({ item }) => item))
  return new Set(machines.flatMap(({ id }) => (items.has(scopeOfVerdict(id)) ? [id] : [])))
}

interface StandingVerdict {
  readonly s: number
  readonly protocol: string
  readonly id: string
  readonly label: string | null
  readonly decided_by: string
  /** An image could not be shown to who decided: that tells nothing of whether it was judged rightly. */
  readonly unseen: boolean
  readonly beneath: { readonly id: string; readonly label: string | null } | null
  readonly opinions: readonly (string | null)[]
}

/** What is known by now of the draws that these verdicts are about. */
export async function settleDraws({ sql }: WritingStep, standing: readonly StandingVerdict[]): Promise<void> {
  const known = standing.flatMap(({ id, unseen, decided_by, beneath, opinions, ...of }) => {
    const label = unseen ? null : of.label
    const differs = (other: string | null | undefined) =>
      other == null || label === null ? null : Number(other !== label)
    if (decided_by !== 'human') return [[scopeOfVerdict(id), 'audit', id, label, null] as const]
    const audit =
      beneath === null
        ? []
        : [[scopeOfVerdict(id), 'audit', beneath.id, unseen ? null : beneath.label, differs(beneath.label)] as const]
    const opinion = opinions.find((one) => one !== null)
    const compared = opinion === undefined && opinions.length > 0 ? null : label
    return [...audit, [id, 'second-opinion', id, compared, differs(opinion)] as const]
  })
  // A person's verdict that was replaced before anybody gave a second opinion gets none.
  const current = standing.map(({ s, protocol, id }) => [s, protocol, id] as const)
  if (current.length > 0)
    await sql.run(
      `UPDATE draws SET label = NULL FROM unnest(?::bigint[], ?::text[], ?::text[]) AS of (s, protocol, id)
       WHERE draws.s = of.s AND draws.protocol = of.protocol AND purpose = 'second-opinion' AND item <> of.id AND differs IS NULL`,
      ...columnsOf(current, 3),
    )
  if (known.length === 0) return
  await sql.run(
    `UPDATE draws SET verdict = of.verdict, label = of.label, differs = of.differs
     FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::smallint[]) AS of (item, purpose, verdict, label, differs)
     WHERE draws.item = of.item AND draws.purpose = of.purpose`,
    ...columnsOf(known, 5),
  )
}

/** When a verdict, or the subject that it is about, was drawn for people to look at, ms since 1970; null if it was not. */
export async function drawnAmong(
  { sql }: WritingStep,
  standing: readonly StandingVerdict[],
): Promise<(of: StandingVerdict) => number | null> {
  const itemOf = ({ id, decided_by }: StandingVerdict) => (decided_by === 'human' ? id : scopeOfVerdict(id))
  const purposeOf = ({ decided_by }: StandingVerdict) => (decided_by === 'human' ? 'second-opinion' : 'audit')
  const rows = await sql.rows<{ item: string; purpose: string; at: number }>(
    'SELECT item, purpose, drawn_at AS at FROM draws WHERE item = ANY (?::text[])',
    standing.map(itemOf),
  )
  return (of) => rows.find(({ item, purpose }) => item === itemOf(of) && purpose === purposeOf(of))?.at ?? null
}

/** What is known by now of verdicts that lanes settled, of these subjects and protocols; of a subject alone in all of them. */
export async function settleLaneDraws(
  { sql }: Pick<WritingStep, 'sql'>,
  pairs: readonly (readonly [s: number, protocol: string | null])[],
): Promise<void> {
  if (pairs.length === 0) return
  const rows = await sql.rows<OpenLaneDraw & { readonly rulings: readonly LaterRuling[] }>(
    `SELECT lane, item, verdict, (SELECT coalesce(json_agg(json_build_object('id', id, 'label', r.label, 'decided_by', decided_by,
       'restores', restores) ORDER BY number), '[]') FROM rulings r WHERE r.s = l.s AND r.protocol = l.protocol) AS rulings
     FROM unnest(?::bigint[], ?::text[]) AS of (s, protocol) JOIN lane_draws l ON l.s = of.s AND l.protocol = coalesce(of.protocol, l.protocol)`,
    ...columnsOf(pairs, 2),
  )
  for (const { lane, item, verdict, rulings } of rows) {
    const fate = laneDrawFate(rulings, verdict)
    if (fate !== null) await sql.run(SETTLE_LANE_DRAW, fate.differs, fate.lost, Number(fate.stands), lane, item)
  }
}

/** Removes the draws of subjects and protocols of which no verdict is left. */
export async function forgetDraws({ sql }: WritingStep, pairs: readonly (readonly [number, string])[]): Promise<void> {
  if (pairs.length === 0) return
  await sql.run(
    'DELETE FROM draws USING unnest(?::bigint[], ?::text[]) AS of (s, protocol) WHERE (draws.s, draws.protocol) = (of.s, of.protocol)',
    ...columnsOf(pairs, 2),
  )
  await sql.run(
    'DELETE FROM lane_draws l USING unnest(?::bigint[], ?::text[]) AS of (s, protocol) WHERE (l.s, l.protocol) = (of.s, of.protocol)',
    ...columnsOf(pairs, 2),
  )
}

/** Erases the draws of a subject until `at`. One of its next life stands, from then on; what people said of a lane's stays. */
export async function eraseDraws({ sql }: WritingStep, s: number, at: number): Promise<void> {
  const ofLanes = await sql.rows<OpenLaneDraw>(
    'SELECT lane, item, verdict FROM lane_draws WHERE s = ? AND drawn_at <= ?',
    s,
    at,
  )
  for (const { lane, item } of ofLanes) await sql.run(DETACH_LANE_DRAW, randomUUID(), lane, item)
  await sql.run(`DELETE FROM draws WHERE s = ? AND drawn_at <= ? AND (${DRAW_SINCE}) IS NULL`, s, at)
  await sql.run(`UPDATE draws SET lang = NULL, drawn_at = (${DRAW_SINCE}) WHERE s = ? AND drawn_at <= ?`, s, at)
}

/** Keeps these marks of first lanes that are closed, and returns all that are kept. */
export async function keepClosed(sql: Sql, marks: readonly string[]): Promise<string[]> {
  for (const mark of marks) await sql.run(KEEP_CLOSED, mark)
  return (await sql.rows<{ k: string }>(CLOSED)).map(({ k }) => k)
}

/** False while a process of an earlier version keeps the record. */
export async function hasLedger(sql: Sql, table = 'draws'): Promise<boolean> {
  const [ledger] = await sql.rows<{ made: string | null }>('SELECT to_regclass(?)::text AS made', table)
  return ledger?.made != null
}

/** What the ledger shows by now, of subjects of these tenants. */
export async function drawnRatesIn(sql: Sql, tenants: readonly string[] | undefined): Promise<DrawnRate[]> {
  if (!(await hasLedger(sql))) return []
  const hasLanguages = (await sql.rows(HAS_DRAWN_LANGUAGES)).length > 0
  const { sql: query, values } = drawRowsQuery(tenants, hasLanguages ? 'lang' : LANGUAGE_OF_DRAW)
  return drawnRates(await sql.rows<DrawRow>(query, ...values))
}
