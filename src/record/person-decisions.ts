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
  /** 1 if it is in force, and if it was withdrawn. */
  readonly stands: number
  readonly withdrawn: number
  readonly seen: string | null
  readonly seen_label: string | null
  readonly seen_degraded: number | null
}

/** Where a store has what a row of `said` says, and who decided a row of `rulings`; each by the name of its table. */
interface DecisionColumns {
  readonly opinion: (said: string) => string
  readonly against: (said: string) => string
  readonly decider: (ruling: string) => string
}

const PLACE = /^(\d{1,15})\.(\d{1,15})$/

/** The decisions that are asked for, the newest first, in the SQL that both databases understand. The last value is yet to come: how many. */
export function decisionsQuery(query: DecisionQuery, columns: DecisionColumns) {
  const { viewer, person, named, protocol, subject, kind, degraded, since, before, tenants } = query
  const [opinion, against] = [columns.opinion('said'), columns.against('said')]
  const { stands, withdrawn } = becameOf(columns)
  const kinds = {
    stands: `${opinion} = 0 AND said.label IS NOT NULL AND ${stands} = 1`,
    withdrawn: `${opinion} = 0 AND said.label IS NOT NULL AND ${withdrawn} = 1`,
    replaced: `${opinion} = 0 AND said.label IS NOT NULL AND ${stands} = 0 AND ${withdrawn} = 0`,
    withdrawal: `${opinion} = 0 AND said.label IS NULL`,
    opinion: `${opinion} <> 0`,
  }
  const all: (readonly [sql: string, ...values: (string | number)[]])[] = [
    ["said.said = 'decision' AND said.at >= ?", since],
    // Of golden items nobody is told who answers them, nor what the key is.
    [`(${opinion} NOT IN (${GOLDEN_KEY}, ${GOLDEN_ANSWER}, ${GOLDEN_UNSEEN}) OR said.by = ?)`, viewer],
  ]
  if (person !== undefined) all.push(['said.by = ?', person])
  if (named !== undefined) all.push(['(said.by = ? OR lower(said.by) = ?)', named, named.toLowerCase()])
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
        ${opinion} AS opinion, latest.id AS verdict, ${stands} AS stands, ${withdrawn} AS withdrawn,
        seen.id AS seen, seen.label AS seen_label, seen.degraded AS seen_degraded
      FROM said JOIN subjects ON subjects.s = said.s
      LEFT JOIN rulings AS latest ON latest.s = said.s AND latest.protocol = said.protocol AND latest.standing = 1
      LEFT JOIN rulings AS seen ON seen.s = said.s AND seen.protocol = said.protocol AND seen.number = ${against}
      WHERE ${all.map(([sql]) => sql).join(' AND ')} ORDER BY said.at DESC, said.n DESC LIMIT ?`,
    values: all.flatMap(([, ...values]) => values),
  }
}

/**
 * What became of a decision, in SQL: it is in force while the latest verdict is of who made it and they decided on no later
 * revision; it was withdrawn if somebody took back the verdict that came of it, and no other decision came before that.
 */
function becameOf({ opinion, against, decider }: DecisionColumns) {
  const after = (name: string) =>
    `${name}.s = said.s AND ${name}.protocol = said.protocol AND ${name}.said = 'decision' AND ${against(name)} > ${against('said')}`
  const later = `EXISTS (SELECT 1 FROM said AS later WHERE ${after('later')} AND later.by = said.by AND later.label IS NOT NULL AND ${opinion('later')} = 0)`
  const first = `SELECT min(one.number) FROM rulings AS one WHERE one.s = said.s AND one.protocol = said.protocol AND one.number > ${against('said')}`
  const taken = `EXISTS (SELECT 1 FROM said AS taken JOIN rulings AS made
    ON made.s = taken.s AND made.protocol = taken.protocol AND made.number = ${against('taken')}
    WHERE ${after('taken')} AND taken.label IS NULL AND ${decider('made')} = said.by AND made.standing = 0 AND made.number = (${first})
      AND NOT EXISTS (SELECT 1 FROM rulings AS next WHERE next.s = made.s AND next.protocol = made.protocol
        AND next.number = made.number + 1 AND ${decider('next')} IS NOT NULL))`
  return {
    stands: `CASE WHEN ${decider('latest')} = said.by AND NOT ${later} THEN 1 ELSE 0 END`,
    withdrawn: `CASE WHEN ${taken} THEN 1 ELSE 0 END`,
  }
}

export function personDecision(row: PersonDecisionRow): PersonDecision {
  const { n, by, at, tenant, kind, subject, protocol, label, opinion, verdict, seen } = row
  return {
    by,
    at,
    subject: { tenant, kind, postId: subject },
    protocol,
    label,
    isOpinion: (opinion ?? 0) > 0,
    verdict,
    isCurrent: row.stands === 1,
    isWithdrawn: row.withdrawn === 1,
    seen: seen === null ? null : { verdict: seen, label: row.seen_label, isDegraded: row.seen_degraded === 1 },
    place: `${at}.${n}`,
  }
}
