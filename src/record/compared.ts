import {
  type AgreementQuery,
  type ComparedGroup,
  type ComparedQuery,
  type ComparedRuling,
  OTHER_VALUES,
  REACH_BANDS,
  type WordSight,
  type WordSource,
} from '../contracts/facts/agreement.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'

// The machines' last verdict on a subject beside people's last word on it, in the SQL that both databases understand: a row for each
// subject and protocol of which there are both. It is written anew with the queue's.

export const COMPARED = `
  CREATE TABLE compared (
    s bigint, protocol text, tenant text NOT NULL, verdict text NOT NULL, machine text, people text NOT NULL, source text NOT NULL,
    seen text NOT NULL, clauses text NOT NULL, reach bigint NOT NULL, lang text, at bigint NOT NULL, PRIMARY KEY (s, protocol)
  );
  CREATE INDEX compared_at ON compared (at, s, protocol)
`

/** What of an earlier version's record has to be compared. */
export const COMPARABLE = `(SELECT s, protocol FROM rulings WHERE decided_by = 'human' AND standing = 1
  UNION SELECT s, protocol FROM said WHERE said = 'feedback') AS wanted`

/** A decision without eyes for what was judged is nobody's word; of a decision and feedback the later one counts. */
export const compare = (wanted: string) => {
  const isFeedback = 'feedback.n IS NOT NULL AND (human.doc IS NULL OR human.decided_at < feedback.at)'
  const either = (fed: string, decided: string) => `CASE WHEN ${isFeedback} THEN ${fed} ELSE ${decided} END`
  return `INSERT INTO compared (s, protocol, tenant, verdict, machine, people, source, seen, clauses, reach, lang, at)
    SELECT wanted.s, wanted.protocol, machine.tenant, machine.id, machine.label, ${either('feedback.label', 'human.label')},
      ${either("'feedback'", "'decision'")},
      CASE ${either('feedback.saw', 'decision.saw')} WHEN 1 THEN 'shown' WHEN 0 THEN 'blind' ELSE 'unknown' END,
      coalesce(machine.clauses, ''), machine.accepted, subjects.lang, ${either('feedback.at', 'human.decided_at')}
    FROM ${wanted} JOIN subjects ON subjects.s = wanted.s
    LEFT JOIN rulings AS human ON human.s = wanted.s AND human.protocol = wanted.protocol AND human.standing = 1
      AND human.decided_by = 'human' AND human.label IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.doc = human.doc AND mark = 'unseen')
    LEFT JOIN said AS decision ON decision.id = 'decision ' || human.decision
    LEFT JOIN said AS feedback ON feedback.n = (SELECT last.n FROM said AS last WHERE last.s = wanted.s
      AND last.protocol = wanted.protocol AND last.said = 'feedback' AND last.label IS NOT NULL ORDER BY last.at DESC, last.n DESC LIMIT 1)
    JOIN rulings AS machine ON machine.doc = (SELECT last.doc FROM rulings AS last WHERE last.s = wanted.s
      AND last.protocol = wanted.protocol AND last.decided_by NOT IN ('human', 'deleted') ORDER BY last.number DESC LIMIT 1)
    WHERE human.doc IS NOT NULL OR feedback.n IS NOT NULL`
}

/** What a verdict cites, as a row has it: each between two ends of a line, so that one is found in it. */
export function clausesText(clauses: readonly string[]): string | null {
  return clauses.length === 0 ? null : `\n${clauses.map((one) => one.replaceAll('\n', ' ')).join('\n')}\n`
}

const clausesIn = (text: string) => text.split('\n').filter((one) => one !== '')

/** Whether the label was shown, as a row of `said` has it; null: nobody says. */
export function sawOf({ sawLabel }: { readonly sawLabel?: unknown }): 0 | 1 | null {
  return typeof sawLabel === 'boolean' ? (sawLabel ? 1 : 0) : null
}

const BAND = `CASE ${[...REACH_BANDS]
  .slice(1)
  .map((from, at) => `WHEN reach < ${from} THEN ${REACH_BANDS[at]}`)
  .join(' ')} ELSE ${REACH_BANDS.at(-1)} END`

type Condition = readonly [sql: string, ...values: (string | number)[]]

function conditionsOf({ since, tenants, source, seen }: AgreementQuery): Condition[] {
  const all: Condition[] = [['at >= ?', since]]
  if (tenants !== undefined)
    all.push([`compared.tenant IN (${['NULL', ...tenants.map(() => '?')].join(', ')})`, ...tenants])
  if (source !== undefined) all.push(['source = ?', source])
  if (seen !== undefined) all.push(['seen = ?', seen])
  return all
}

const [DAY_MS, WEEK_MS] = [86_400_000, 604_800_000]
/** Weeks since the one in which 1970 began, on a Thursday; each begins on its Monday, by UTC. */
const WEEK = `(at + ${3 * DAY_MS}) / ${WEEK_MS}`
const beginsAt = (week: number) => week * WEEK_MS - 3 * DAY_MS

const WORDS = `protocol, machine, people, source, seen, clauses, ${BAND} AS band, lang`

interface WordsRow {
  readonly protocol: string
  readonly machine: string | null
  readonly people: string
  readonly source: WordSource
  readonly seen: WordSight
  readonly clauses: string
  readonly band: number
  readonly lang: string | null
}
export type ComparedGroupRow = WordsRow & { readonly week: number; readonly count: number }
export type ComparedRow = WordsRow & {
  readonly s: number
  readonly tenant: string
  readonly kind: ThreadRef['kind']
  readonly subject: string
  readonly verdict: string
  readonly at: number
}

/** Groups that are read at most, the largest first: what authors write, such as languages, may make one of each verdict. */
const MOST_GROUPS = 50_000

/** Languages, and labels of people, that are told apart: more than have figures of their own. */
const MOST_TOLD_APART = 200

export function comparedGroupsQuery(query: AgreementQuery) {
  const all = conditionsOf(query)
  const [where, values] = [all.map(([sql]) => sql).join(' AND '), all.flatMap(([, ...own]) => own)]
  const commonest = (column: 'people' | 'lang', orIf: string) =>
    `CASE WHEN ${orIf} OR ${column} IN (SELECT ${column} FROM compared WHERE ${where}
       GROUP BY ${column} ORDER BY count(*) DESC, ${column} LIMIT ${MOST_TOLD_APART}) THEN ${column} ELSE '${OTHER_VALUES}' END AS ${column}`
  const words = WORDS.replace('people', commonest('people', 'people = machine')).replace(
    'lang',
    commonest('lang', 'lang IS NULL'),
  )
  return {
    sql: `SELECT ${words}, ${WEEK} AS week, count(*) AS count FROM compared WHERE ${where}
      GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY count(*) DESC LIMIT ${MOST_GROUPS}`,
    values: [...values, ...values, ...values],
  }
}

export function comparedGroup({ clauses, band, week, ...row }: ComparedGroupRow): ComparedGroup {
  const monday = new Date(beginsAt(week)).toISOString().slice(0, 10)
  return { ...row, clauses: clausesIn(clauses), reach: band, week: monday }
}

const PLACE = /^(\d{1,15})\.(\d{1,15})\.(.{1,64})$/s

/** The verdicts of a figure, those first on which people spoke last. The last value is yet to come: how many. */
export function comparedQuery(query: ComparedQuery) {
  const { protocol, part, value, people, machine, agrees, before } = query
  const all: Condition[] = [...conditionsOf(query), ['protocol = ?', protocol]]
  if (part !== undefined && part !== 'all' && value !== undefined) all.push(PARTS[part](value))
  if (people !== undefined) all.push(['people = ?', people])
  if (machine !== undefined) all.push(machine === '' ? ['machine IS NULL'] : ['machine = ?', machine])
  if (agrees !== undefined) all.push([agrees ? 'machine = people' : 'machine <> people'])
  const [, at, s, of] = PLACE.exec(before ?? '') ?? []
  if (at !== undefined && s !== undefined && of !== undefined)
    all.push(['(at, compared.s, protocol) < (?, ?, ?)', Number(at), Number(s), of])
  return {
    // Subjects are looked up for these rows alone.
    sql: `SELECT ${WORDS.replace('lang', 'compared.lang')}, compared.s, compared.tenant, subjects.kind, subjects.id AS subject, verdict, at
      FROM (SELECT * FROM compared WHERE ${all.map(([sql]) => sql).join(' AND ')} ORDER BY at DESC, s DESC, protocol DESC LIMIT ?) AS compared
      JOIN subjects ON subjects.s = compared.s ORDER BY at DESC, compared.s DESC, protocol DESC`,
    values: all.flatMap(([, ...values]) => values),
  }
}

const PARTS: { readonly [Part in Exclude<ComparedQuery['part'], undefined | 'all'>]: (value: string) => Condition } = {
  label: (value) => ['machine = ?', value],
  week(value) {
    const from = /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(`${value}T00:00:00Z`) : Number.NaN
    return Number.isNaN(from) ? ['1 = 0'] : ['at >= ? AND at < ?', from, from + WEEK_MS]
  },
  'label-language': (value) => ["machine || '/' || coalesce(compared.lang, '') = ?", value],
  language: (value) => ["coalesce(compared.lang, '') = ?", value],
  // Whoever writes a name of a policy writes no pattern.
  clause: (value) => ["replace(clauses, ?, '') <> clauses", `\n${value}\n`],
  reach: (value) => (REACH_BANDS.some((one) => one === Number(value)) ? [`${BAND} = ?`, Number(value)] : ['1 = 0']),
  seen: (value) => ['seen = ?', value],
  source: (value) => ['source = ?', value],
}

export function comparedRuling({ clauses, band, s, tenant, kind, subject, ...row }: ComparedRow): ComparedRuling {
  return {
    ...row,
    clauses: clausesIn(clauses),
    reach: band,
    subject: { tenant, kind, postId: subject },
    place: `${row.at}.${s}.${row.protocol}`,
  }
}
