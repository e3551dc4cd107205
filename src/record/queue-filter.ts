import type { LookReason, QueueFilter } from '../contracts/ports/review.ts'
import { JUDGES_PEOPLE, type RowBounds } from './review-queue.ts'

// This writes what a filter of the queue asks for in the SQL that both databases understand.

interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

const hasReason = (reason: string) => `' ' || reasons || ' ' LIKE '% ${reason} %'`

/** Items that are about what people decided. */
export const ABOUT_PEOPLE = `(${(Object.keys(JUDGES_PEOPLE) as LookReason[]) // Keys of a closed record.
  .filter((reason) => JUDGES_PEOPLE[reason])
  .map(hasReason)
  .join(' OR ')})`

/** Rows that were assigned to somebody at some time. */
export const WAS_ASSIGNED = "s IN (SELECT said.s FROM said WHERE said.said = 'assignment' AND said.label IS NOT NULL)"

const lastAssigned = (column: string) => `CASE WHEN ${WAS_ASSIGNED} THEN (SELECT said.${column} FROM said
  WHERE said.s = queue.s AND said.said = 'assignment' ORDER BY said.at DESC, said.n DESC LIMIT 1) END`

/** To whom a row's subject is assigned, and since when; null where it is to nobody. Looked up where there is one alone. */
export const ASSIGNED = `${lastAssigned('label')} AS assignee, ${lastAssigned('at')} AS assigned_at`

/** Whether the person of the value decided or spoke about the item's subject and protocol before. */
export const IS_PARTY = `EXISTS (SELECT 1 FROM said WHERE said.s = queue.s AND said.protocol = queue.protocol
  AND said.said = 'decision' AND said.by = ?)`

/** Rows whose subjects are in the same words, judged by the same protocol. */
const COPIES = `protocol = (SELECT own.protocol FROM queue AS own WHERE own.verdict = ?)
  AND s IN (SELECT other.s FROM queue AS own JOIN subjects AS one ON one.s = own.s
    JOIN subjects AS other ON other.tenant = one.tenant AND other.kind = one.kind AND other.same = one.same AND other.s <> one.s
    WHERE own.verdict = ?)`

/** The rows that fit, whoever may take them. */
export function fittingRows(filter: QueueFilter, now: number, { subjects, mostWeight, earliest }: RowBounds = {}) {
  const {
    tenants,
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
    protocol === undefined ? null : { sql: 'protocol = ?', values: [protocol] },
    verdict === undefined ? null : { sql: 'verdict = ?', values: [verdict] },
    verdicts === undefined ? null : oneOf('verdict', verdicts),
    copiesOf === undefined ? null : { sql: COPIES, values: [copiesOf, copiesOf] },
    reason === undefined ? null : { sql: hasReason(reason), values: [] },
    label === undefined ? null : { sql: `label = ? AND NOT ${hasReason('second-opinion')}`, values: [label] },
    lang === undefined
      ? null
      : { sql: 's IN (SELECT subjects.s FROM subjects WHERE subjects.lang = ?)', values: [lang] },
    reach === undefined ? null : { sql: 'reach >= ?', values: [reach] },
    waitingSince === undefined ? null : { sql: 'since <= ?', values: [waitingSince] },
    subjects === undefined ? null : oneOf('s', subjects),
    mostWeight === undefined ? null : { sql: 'weight <= ?', values: [mostWeight] },
    earliest === undefined ? null : { sql: 'since >= ?', values: [earliest] },
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
