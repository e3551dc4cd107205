import type { QueueFilter, QueuePlace, QueueReason } from '../contracts/ports/review.ts'
import { DAY_MS, JUDGES_PEOPLE, OLDEST_COUNTS, type RankingRules } from './review-queue.ts'

// This writes what a filter of the queue asks for in the SQL that both databases understand.

interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

const hasReason = (reason: string) => `' ' || reasons || ' ' LIKE '% ${reason} %'`

/** Items that wait for nobody in particular: they measure people, and are in no count of what is to be done. */
const IS_GOLDEN = "reasons = 'golden'"

/** What waits, by protocol, of subjects of these tenants. */
export function totalsQuery(tenants: readonly string[] | undefined): Condition {
  const isSeen = tenants === undefined ? '1 = 1' : `tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`
  return {
    sql: `SELECT protocol, count(*) AS waiting, min(since) AS oldest FROM queue WHERE NOT ${IS_GOLDEN} AND ${isSeen}
      GROUP BY protocol ORDER BY protocol`,
    values: tenants ?? [],
  }
}

/** Items that are about what people decided. */
export const ABOUT_PEOPLE = `(${(Object.keys(JUDGES_PEOPLE) as QueueReason[]) // Keys of a closed record.
  .filter((reason) => JUDGES_PEOPLE[reason])
  .map(hasReason)
  .join(' OR ')})`

/** Rows that were assigned to somebody at some time. */
export const WAS_ASSIGNED =
  "queue.s IN (SELECT said.s FROM said WHERE said.said = 'assignment' AND said.label IS NOT NULL)"

const lastAssigned = (column: string) => `CASE WHEN ${WAS_ASSIGNED} THEN (SELECT said.${column} FROM said
  WHERE said.s = queue.s AND said.said = 'assignment' ORDER BY said.at DESC, said.n DESC LIMIT 1) END`

/** To whom a row's subject is assigned, since when, and by whom; null where it is to nobody. Looked up where there is one alone. */
const ASSIGNED = `${lastAssigned('label')} AS assignee, ${lastAssigned('at')} AS assigned_at,
  ${lastAssigned('by')} AS assigned_by`

/** Whether the person of both values decided or spoke about the item's subject and protocol before, or did something about the subject. */
export const MAY_BE_PARTY = `((s, protocol) IN (SELECT said.s, said.protocol FROM said WHERE said.said = 'decision' AND said.by = ?)
  OR s IN (SELECT said.s FROM said WHERE said.said = 'action' AND said.by = ?))`

/**
 * Whether somebody is a party of an item: by their word on it; of what is appealed against also by what they did about its subject. Looked
 * up by who they are, whatever thousands of others did. Both databases read the index by subject and person.
 */
const isParty = (person: string) => `CASE WHEN ${ABOUT_PEOPLE} AND EXISTS (SELECT 1 FROM said WHERE said.s = queue.s
  AND said.by = ${person} AND said.said IN ('decision', 'action') AND said.protocol || '' IN (queue.protocol, '')
  AND (said.said = 'decision' OR ${hasReason('appealed')})) THEN 1 ELSE 0 END`

/** The columns of a `QueueRow`. Their value: the person who asks. */
export const QUEUED = `s, verdict, tenant, protocol, number, label, reasons, weight, since, decider, holder, until, ${ASSIGNED},
  ${isParty('?')} AS party, ${isParty(lastAssigned('label'))} AS assignee_party`

/**
 * Who decided on subjects of a tenant since a time, among the last 200 that each decided: of all who ever did, one after the other. Its
 * values: time, tenant, how many.
 */
export const DECIDERS = `WITH RECURSIVE people (one) AS (
    SELECT min(said.by) FROM said WHERE said.said = 'decision'
    UNION ALL SELECT (SELECT min(said.by) FROM said WHERE said.said = 'decision' AND said.by > one) FROM people WHERE one IS NOT NULL)
  SELECT one FROM people WHERE one IS NOT NULL AND EXISTS (SELECT 1 FROM
    (SELECT said.s FROM said WHERE said.said = 'decision' AND said.by = one AND said.at >= ? ORDER BY said.at DESC LIMIT 200) AS newest
    JOIN subjects USING (s) WHERE tenant = ?) LIMIT ?`

/** What reviewers' pages are read by, in the words of both databases; `decider`: who decided a verdict. */
export const reviewIndexes = (decider: string) => `
  CREATE INDEX IF NOT EXISTS said_by ON said (by, at) WHERE said = 'decision';
  CREATE INDEX IF NOT EXISTS said_assignments ON said (s, at, n, label, by) WHERE said = 'assignment';
  CREATE INDEX IF NOT EXISTS said_party ON said (s, by) WHERE said IN ('decision', 'action');
  CREATE INDEX IF NOT EXISTS said_acted ON said (by, s) WHERE said = 'action';
  CREATE INDEX IF NOT EXISTS said_named ON said (lower(by), at) WHERE said = 'decision';
  CREATE INDEX IF NOT EXISTS said_decided ON said (at, n) WHERE said = 'decision';
  CREATE INDEX IF NOT EXISTS subjects_lang ON subjects (lang, s) WHERE lang IS NOT NULL;
  CREATE INDEX IF NOT EXISTS rulings_human ON rulings (s, protocol, number, label, standing, ${decider}) WHERE decided_by = 'human';
`

/** Rows whose subjects are in the same words, judged by the same protocol. */
const COPIES = `protocol = (SELECT own.protocol FROM queue AS own WHERE own.verdict = ?)
  AND s IN (SELECT other.s FROM queue AS own JOIN subjects AS one ON one.s = own.s
    JOIN subjects AS other ON other.tenant = one.tenant AND other.kind = one.kind AND other.same = one.same AND other.s <> one.s
    WHERE own.verdict = ?)`

/** The rows that fit, whoever may take them; `subjects`: of these alone. */
export function fittingRows(filter: QueueFilter, now: number, subjects?: readonly number[]): Condition {
  const {
    tenants,
    exceptTenants,
    protocol,
    verdict,
    verdicts,
    copiesOf,
    reason,
    label,
    lang,
    reach,
    waitingSince,
    reserved,
    assigned,
  } = filter
  const oneOf = (column: string, values: readonly (string | number)[]): Condition => ({
    sql: values.length === 0 ? '1 = 0' : `${column} IN (${values.map(() => '?').join(', ')})`,
    values,
  })
  const all = [
    tenants === undefined ? null : oneOf('tenant', tenants),
    exceptTenants === undefined ? null : { sql: `NOT (${oneOf('tenant', exceptTenants).sql})`, values: exceptTenants },
    protocol === undefined ? null : { sql: 'protocol = ?', values: [protocol] },
    verdict === undefined ? null : { sql: 'verdict = ?', values: [verdict] },
    verdicts === undefined ? null : oneOf('verdict', verdicts),
    copiesOf === undefined ? null : { sql: COPIES, values: [copiesOf, copiesOf] },
    reason === undefined ? null : { sql: hasReason(reason), values: [] },
    // In a list of what waits it would stand out: it is there for who has taken it alone.
    reason === 'golden' || (verdict !== undefined && reserved === undefined)
      ? null
      : { sql: `NOT ${IS_GOLDEN} OR holder = ?`, values: [filter.for ?? ''] },
    label === undefined
      ? null
      : { sql: `label = ? AND NOT ${hasReason('second-opinion')} AND NOT ${IS_GOLDEN}`, values: [label] },
    lang === undefined
      ? null
      : { sql: 's IN (SELECT subjects.s FROM subjects WHERE subjects.lang = ?)', values: [lang] },
    reach === undefined ? null : { sql: 'reach >= ?', values: [reach] },
    waitingSince === undefined ? null : { sql: 'since <= ?', values: [waitingSince] },
    subjects === undefined ? null : oneOf('s', subjects),
    reserved === 'own' || reserved === 'all' ? { sql: 'holder IS NOT NULL AND until > ?', values: [now] } : null,
    assigned === undefined
      ? null
      : { sql: "s IN (SELECT said.s FROM said WHERE said.said = 'assignment' AND said.label = ?)", values: [assigned] },
    reserved === 'own' ? { sql: 'holder = ?', values: [filter.for ?? ''] } : null,
  ].filter((one) => one !== null)
  return {
    sql: ['1 = 1', ...all.map(({ sql }) => `(${sql})`)].join(' AND '),
    values: all.flatMap(({ values }) => values),
  }
}

/** What a mistake would cost, as `scoreOf` reckons it: the same sums in the same order, so that each place is the same number. */
function scoreAt({ dear }: RankingRules, at: number): Condition {
  const costs = [...dear].flatMap(([protocol, own]): (string | number)[][] => [
    ...[...own].map(([label, cost]) => [protocol, label, cost]),
    [protocol, Math.max(1, ...own.values())],
  ])
  const cases = costs.map(
    ({ length }) => `WHEN protocol = ? AND label ${length === 3 ? '= ?' : 'IS NULL'} THEN CAST(? AS double precision)`,
  )
  const cost = cases.length === 0 ? '1' : `CASE ${cases.join(' ')} ELSE 1 END`
  const age = `CASE WHEN since <= ? THEN ${OLDEST_COUNTS} WHEN since < ?
    THEN 1 + CAST(? - since AS double precision) / ${DAY_MS} ELSE 1 END`
  return {
    sql: `(weight * ${cost} * ${age})`,
    values: [...costs.flat(), at - (OLDEST_COUNTS - 1) * DAY_MS, at, at],
  }
}

/**
 * The first rows that fit, in the order of the filter, behind a place. Their columns are looked up for these alone; `named` is what
 * verdicts are ordered by. The last value is yet to come: how many rows.
 */
export function firstRows(
  filter: QueueFilter,
  { rules, now, after }: { readonly rules: RankingRules; readonly now: number; readonly after: QueuePlace | null },
  { named }: { readonly named: string },
): Condition {
  const byAge = filter.order === 'oldest'
  const score = byAge ? { sql: '0', values: [] } : scoreAt(rules, after?.at ?? now)
  const fitting = fittingRows(filter, now)
  const behind = byAge ? '(since_then, named) > (?, ?)' : '(score < ? OR (score = ? AND (since_then, named) > (?, ?)))'
  const places = after === null ? [] : [...(byAge ? [] : [after.score, after.score]), after.since, after.verdict]
  const order = `ORDER BY ${byAge ? '' : 'score DESC, '}since_then, named`
  return {
    sql: `SELECT ${QUEUED} FROM (
        SELECT * FROM (SELECT s AS of_s, protocol AS of_protocol, since AS since_then, ${named} AS named, ${score.sql} AS score
          FROM queue WHERE ${fitting.sql}) AS fitting
        ${after === null ? '' : `WHERE ${behind}`} ${order} LIMIT ?) AS first
      JOIN queue ON queue.s = of_s AND queue.protocol = of_protocol ${order}`,
    values: [filter.for ?? '', ...score.values, ...fitting.values, ...places],
  }
}
