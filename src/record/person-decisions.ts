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
  /** 1 if it was carried out, if it is in force, and if it was withdrawn. */
  readonly taken: number
  readonly stands: number
  readonly withdrawn: number
  readonly seen: string | null
  readonly seen_label: string | null
  readonly seen_degraded: number | null
}

/** Where a store has what a row of `said` says, and who decided a row of `rulings`; each by the name of its table. */
interface DecisionColumns {
  readonly opinion: (said: string) => string
  /** The revision that they saw. */
  readonly against: string
  readonly decider: (ruling: string) => string
}

const PLACE = /^(\d{1,15})\.(\d{1,15})$/

/** The decisions that are asked for, the newest first, in the SQL that both databases understand. The last value is yet to come: how many. */
export function decisionsQuery(query: DecisionQuery, columns: DecisionColumns) {
  const { viewer, person, named, protocol, subject, kind, degraded, overrules, since, before, tenants } = query
  const opinion = columns.opinion('said')
  const { taken, stands, withdrawn } = becameOf(columns)
  const decided = `${opinion} = 0 AND said.label IS NOT NULL AND ${taken}`
  // Most decisions are on posts of which nobody withdrew anything: those need not be asked what came next.
  const mayBeWithdrawn = "said.s IN (SELECT s FROM said AS taken WHERE taken.said = 'decision' AND taken.label IS NULL)"
  const kinds = {
    stands: `${decided} AND ${stands}`,
    withdrawn: `${mayBeWithdrawn} AND ${decided} AND ${withdrawn}`,
    replaced: `${decided} AND NOT ${stands} AND NOT (${mayBeWithdrawn} AND ${withdrawn})`,
    withdrawal: `${opinion} = 0 AND said.label IS NULL AND ${taken}`,
    opinion: `${opinion} <> 0`,
    refused: `${opinion} = 0 AND NOT ${taken}`,
  }
  const flag = (is: string) => `CASE WHEN ${is} THEN 1 ELSE 0 END`
  const all: (readonly [sql: string, ...values: (string | number)[]])[] = [
    ["said.said = 'decision' AND said.at >= ?", since],
    // Of golden items nobody is told who answers them, nor what the key is.
    [`(${opinion} NOT IN (${GOLDEN_KEY}, ${GOLDEN_ANSWER}, ${GOLDEN_UNSEEN}) OR said.by = ?)`, viewer],
  ]
  if (person !== undefined) all.push(['said.by = ?', person])
  if (named !== undefined) all.push(['lower(said.by) IN (lower(?), ?)', named, named.toLowerCase()])
  if (protocol !== undefined) all.push(['said.protocol = ?', protocol])
  if (subject !== undefined) all.push(['subjects.id = ?', subject])
  if (kind !== undefined) all.push([kinds[kind]])
  if (degraded !== undefined) all.push(['seen.degraded = 1'])
  if (overrules !== undefined)
    all.push([`${opinion} = 0 AND seen.id IS NOT NULL AND said.label <> coalesce(seen.label, '')`])
  if (tenants !== undefined)
    all.push([`subjects.tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`, ...tenants])
  const [, at, n] = PLACE.exec(before ?? '') ?? []
  if (at !== undefined && n !== undefined) all.push(['(said.at, said.n) < (?, ?)', Number(at), Number(n)])
  return {
    sql: `SELECT said.n, said.by, said.at, subjects.tenant, subjects.kind, subjects.id AS subject, said.protocol, said.label,
        ${opinion} AS opinion, latest.id AS verdict, ${flag(taken)} AS taken, ${flag(stands)} AS stands, ${flag(withdrawn)} AS withdrawn,
        seen.id AS seen, seen.label AS seen_label, seen.degraded AS seen_degraded
      FROM said JOIN subjects ON subjects.s = said.s
      LEFT JOIN rulings AS latest ON latest.s = said.s AND latest.protocol = said.protocol AND latest.standing = 1
      LEFT JOIN rulings AS seen ON seen.s = said.s AND seen.protocol = said.protocol AND seen.number = ${columns.against}
      WHERE ${all.map(([sql]) => sql).join(' AND ')} ORDER BY said.at DESC, said.n DESC LIMIT ?`,
    values: all.flatMap(([, ...values]) => values),
  }
}

/**
 * What became of a decision, in SQL. Of what was sent the outcomes tell what was carried out. The last that was, by who made the latest
 * verdict, is in force; one was withdrawn if the next that was carried out is a withdrawal.
 */
function becameOf({ decider }: DecisionColumns) {
  const outcome = (name: string, became: string) =>
    `EXISTS (SELECT 1 FROM said AS ended WHERE ended.id = 'outcome ' || substr(${name}.id, ${'decision '.length + 1}) || ' ${became}')`
  const stood = (name: string) => outcome(name, 'stands')
  // The first that is found is enough, and by the index of a subject's words it is the next one: of thousands on one subject each looks
  // at few.
  const after = (name: string) =>
    `${name}.s = said.s AND ${name}.protocol = said.protocol AND ${name}.said = 'decision' AND (${name}.at, ${name}.n) > (said.at, said.n)`
  return {
    taken: `(${stood('said')} OR ${outcome('said', 'withdrawn')})`,
    // By the index of people's verdicts, which most decisions need alone: a look at the latest verdict's row costs several times as much.
    stands: `(EXISTS (SELECT 1 FROM rulings AS own WHERE own.decided_by = 'human' AND own.s = said.s AND own.protocol = said.protocol
      AND own.standing = 1 AND ${decider('own')} = said.by) AND ${stood('said')}
      AND NOT EXISTS (SELECT 1 FROM said AS later WHERE ${after('later')} AND ${stood('later')}))`,
    withdrawn: `coalesce((SELECT CASE WHEN ${outcome('back', 'withdrawn')} THEN 1 ELSE 0 END FROM said AS back
      WHERE ${after('back')} AND (${stood('back')} OR ${outcome('back', 'withdrawn')}) ORDER BY back.at, back.n LIMIT 1), 0) = 1`,
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
    isTaken: row.taken === 1,
    isCurrent: row.stands === 1,
    isWithdrawn: row.withdrawn === 1,
    seen: seen === null ? null : { verdict: seen, label: row.seen_label, isDegraded: row.seen_degraded === 1 },
    place: `${at}.${n}`,
  }
}
