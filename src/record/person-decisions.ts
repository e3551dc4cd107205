import type { DecisionQuery, PersonDecision } from '../contracts/ports/review.ts'
import { GOLDEN_ANSWER, GOLDEN_KEY, GOLDEN_UNSEEN } from './opinion-code.ts'

/** A decision, as any store has it. */
export interface PersonDecisionRow {
  readonly n: number
  readonly by: string
  readonly at: number
  readonly tenant: string
  readonly kind: PersonDecision['subject']['kind']
  readonly subject: string
  readonly protocol: string
  readonly label: string | null
  /** By `opinionCode`. */
  readonly opinion: number | null
  readonly verdict: string | null
  readonly decider: string | null
  readonly seen: string | null
  readonly seen_label: string | null
  readonly seen_degraded: number | null
}

/** Where a store has what a decision said, and who decided the latest verdict. */
interface DecisionColumns {
  readonly opinion: string
  readonly against: string
  readonly decider: string
}

const PLACE = /^(\d{1,15})\.(\d{1,15})$/

/** The decisions that are asked for, the newest first, in the SQL that both databases understand. The last value is yet to come: how many. */
export function decisionsQuery(query: DecisionQuery, { opinion, against, decider }: DecisionColumns) {
  const { viewer, person, protocol, subject, kind, degraded, since, before, tenants } = query
  const kinds = {
    stands: `${opinion} = 0 AND said.label IS NOT NULL AND ${decider} = said.by`,
    replaced: `${opinion} = 0 AND said.label IS NOT NULL AND (${decider} IS NULL OR ${decider} <> said.by)`,
    withdrawal: `${opinion} = 0 AND said.label IS NULL`,
    opinion: `${opinion} <> 0`,
  }
  const all: (readonly [sql: string, ...values: (string | number)[]])[] = [
    ["said.said = 'decision' AND said.at >= ?", since],
    // Of golden items nobody is told who answers them, nor what the key is.
    [`(${opinion} NOT IN (${GOLDEN_KEY}, ${GOLDEN_ANSWER}, ${GOLDEN_UNSEEN}) OR said.by = ?)`, viewer],
  ]
  if (person !== undefined) all.push(['said.by = ?', person])
  if (protocol !== undefined) all.push(['said.protocol = ?', protocol])
  if (subject !== undefined) all.push(['subjects.id = ?', subject])
  if (kind !== undefined) all.push([kinds[kind]])
  if (degraded !== undefined) all.push(['seen.degraded = 1'])
  if (tenants !== undefined)
    all.push([`subjects.tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`, ...tenants])
  const [, at, n] = PLACE.exec(before ?? '') ?? []
  if (at !== undefined && n !== undefined) all.push(['(said.at, said.n) < (?, ?)', Number(at), Number(n)])
  return {
    sql: `SELECT said.n, said.by, said.at, subjects.tenant, subjects.kind, subjects.id AS subject, said.protocol, said.label,
        ${opinion} AS opinion, latest.id AS verdict, ${decider} AS decider,
        seen.id AS seen, seen.label AS seen_label, seen.degraded AS seen_degraded
      FROM said JOIN subjects ON subjects.s = said.s
      LEFT JOIN rulings AS latest ON latest.s = said.s AND latest.protocol = said.protocol AND latest.standing = 1
      LEFT JOIN rulings AS seen ON seen.s = said.s AND seen.protocol = said.protocol AND seen.number = ${against}
      WHERE ${all.map(([sql]) => sql).join(' AND ')} ORDER BY said.at DESC, said.n DESC LIMIT ?`,
    values: all.flatMap(([, ...values]) => values),
  }
}

export function personDecision(row: PersonDecisionRow): PersonDecision {
  const { n, by, at, tenant, kind, subject, protocol, label, opinion, verdict, decider, seen } = row
  return {
    by,
    at,
    subject: { tenant, kind, postId: subject },
    protocol,
    label,
    isOpinion: (opinion ?? 0) > 0,
    verdict,
    isCurrent: decider === by,
    seen: seen === null ? null : { verdict: seen, label: row.seen_label, isDegraded: row.seen_degraded === 1 },
    place: `${at}.${n}`,
  }
}
