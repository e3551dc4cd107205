import type { RecordFilter } from '../contracts/ports/record.ts'
import { docAt } from './documents.ts'

/** A second that is full goes on in the next ones: so far behind its own time a document may stand, in ms. */
const OVERFLOW_MS = 60_000

/** The numbers that verdicts of a time may have: from the first of these on, before the second. */
export function docsBetween({ since, until }: Pick<RecordFilter, 'since' | 'until'>): [first: number, end: number] {
  return [
    since === undefined ? 0 : docAt(since),
    until === undefined ? Number.MAX_SAFE_INTEGER : docAt(until + OVERFLOW_MS),
  ]
}

/** The marks that a filter asks for, the rarest first. */
function marksOf({
  author,
  story,
  decider,
  prompts,
  model,
  fault,
  contested,
  opposed,
  lang,
}: RecordFilter): (readonly [string, string])[] {
  const wanted = {
    story,
    author,
    decider,
    fault,
    contested: contested === undefined ? undefined : '',
    opposed: opposed === undefined ? undefined : 'yes',
    prompts,
    model,
    lang,
  }
  return Object.entries(wanted).flatMap(([mark, value]) => (value === undefined ? [] : [[mark, value] as const]))
}

/** Marks of few verdicts: by them those that fit are found sooner than among all of a tenant. */
const RARE: readonly string[] = ['story', 'author', 'decider', 'fault']

/** The mark by which verdicts are looked for, if any: the rarest that is asked for. Of one tenant all are fewer than those of a common mark. */
export function markSoughtBy(filter: RecordFilter): readonly [string, string] | undefined {
  const [mark] = marksOf(filter)
  return mark !== undefined && filter.tenants?.length === 1 && !RARE.includes(mark[0]) ? undefined : mark
}

/** A filter as conditions on `rulings` in SQL, each value a question mark; `markOf`: how the store writes a mark. */
export function conditionsOf(filter: RecordFilter, markOf = (_mark: string, value: string) => value) {
  const { tenants, protocol, label, degraded, since, until, standing, subject, before } = filter
  const all: (readonly [sql: string, ...values: (string | number)[]])[] = [['1 = 1']]
  // No tenant is none of them: an empty list is no SQL everywhere.
  if (tenants?.length === 0) all.push(['1 = 0'])
  else if (tenants !== undefined) all.push([`rulings.tenant IN (${tenants.map(() => '?').join(', ')})`, ...tenants])
  if (protocol !== undefined) all.push(['rulings.protocol = ?', protocol])
  if (label === null) all.push(['rulings.label IS NULL'])
  else if (label !== undefined) all.push(['rulings.label = ?', label])
  if (degraded !== undefined) all.push(['rulings.degraded = 1'])
  // The bounds on documents let a page far back begin there, and one of what is new end.
  if (since !== undefined) all.push(['rulings.decided_at >= ? AND rulings.doc >= ?', since, docsBetween({ since })[0]])
  if (until !== undefined) all.push(['rulings.decided_at < ? AND rulings.doc < ?', until, docsBetween({ until })[1]])
  if (standing !== undefined) all.push(['rulings.standing = 1'])
  if (subject !== undefined) {
    const ids = [subject].flat()
    const listed = ids.map(() => '?').join(', ')
    all.push([`rulings.s IN (SELECT named.s FROM subjects AS named WHERE named.id IN (${listed}))`, ...ids])
  }
  if (before !== undefined) all.push(['rulings.doc < ?', /^\d{1,15}$/.test(before) ? Number(before) : 0])
  for (const [mark, value] of marksOf(filter))
    all.push([
      'EXISTS (SELECT 1 FROM marks AS m WHERE m.mark = ? AND m.value = ? AND m.doc = rulings.doc)',
      mark,
      markOf(mark, value),
    ])
  return { sql: all.map(([sql]) => sql).join(' AND '), values: all.flatMap(([, ...values]) => values) }
}
