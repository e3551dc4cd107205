import { recordKeyOf } from '../../contracts/facts/verdict-id.ts'
import type { TranscriptEntry } from '../../contracts/ports/record.ts'
import { mayBeDeleted } from '../held.ts'
import { columnsOf, sendableText } from './connection.ts'
import { strip } from './erasures.ts'
import type { PreparedBatch, PreparedTranscript } from './prepared-batch.ts'
import { indexed } from './texts.ts'
import { subjectsOf, type WritingStep } from './writing.ts'
import { addWritten } from './written.ts'

/** Takes transcripts, each that the record does not have yet. */
export async function takeTranscripts(
  writing: WritingStep,
  entries: readonly TranscriptEntry[],
  ready: PreparedBatch,
): Promise<void> {
  const { sql, counters, seals, days, hashes } = writing
  const subjectOf = await subjectsOf(
    writing,
    entries.map(({ subject }) => subject),
  )
  const ids = [...new Set(entries.map(({ verdictId }) => verdictId))]
  const rulings = new Map(
    (
      await sql.rows<{ id: string; doc: number; standing: number; indexed: number; erased: number }>(
        'SELECT id, doc, standing, indexed, erased FROM rulings WHERE id = ANY (?::text[])',
        ids,
      )
    ).map((row) => [row.id, row]),
  )
  const known = await sql.rows<{ id: string }>('SELECT id FROM transcripts WHERE id = ANY (?::text[])', ids)
  const there = new Set(known.map(({ id }) => id))
  const fresh = entries.flatMap((entry) => {
    const { s, deletedAt, dropped } = subjectOf(entry.subject)
    // Its verdict was erased, or is of the subject's next life and still to come.
    const isGone = !rulings.has(entry.verdictId) && (entry.askedAt ?? Number.NEGATIVE_INFINITY) <= deletedAt
    if (there.has(entry.verdictId) || (deletedAt !== Number.NEGATIVE_INFINITY && isGone)) return []
    there.add(entry.verdictId)
    return [{ ...entry, s, dropped, t: counters.next('heard'), ready: ready.transcripts.get(entry) ?? notReady() }]
  })
  if (fresh.length === 0) return
  const gone = await goneOf(writing, fresh)
  const rows = fresh.map((entry) => {
    const { t, verdictId, s, at, words, comments } = entry
    const erased = gone(entry) || rulings.get(verdictId)?.erased === 1
    const ids = erased ? null : `{${(comments ?? []).map((id) => quoted(sendableText(id))).join(',')}}`
    const k = erased ? null : seals.add(entry.ready.sealed)
    return {
      entry,
      erased,
      own: [t, verdictId, s, at, Number(words === null), ids, Number(comments === null), k],
      held: erased ? [] : [[at, t, entry.ready.sealed.sealed]],
    }
  })
  await days.make(
    sql,
    'held',
    rows.flatMap(({ held, entry }) => (held.length === 0 ? [] : [entry.at])),
  )
  await sql.run(
    'INSERT INTO held SELECT * FROM unnest(?::bigint[], ?::bigint[], ?::bytea[])',
    ...columnsOf(
      rows.flatMap(({ held }) => held),
      3,
    ),
  )
  await sql.run(
    `INSERT INTO transcripts SELECT t, id, s, at, bare, comments::text[], cut, k
     FROM unnest(?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::smallint[], ?::text[], ?::smallint[], ?::bigint[])
     AS fresh (t, id, s, at, bare, comments, cut, k)`,
    ...columnsOf(
      rows.map(({ own }) => own),
      8,
    ),
  )
  counters.add('transcripts', rows.length)
  await showSubjects(writing, fresh, hashes.mark)
  await addWritten(
    writing,
    rows.flatMap(({ entry: { subject, s, written }, erased }) =>
      erased ? [] : [{ tenant: subject.tenant, s, written }],
    ),
  )
  for (const { entry, erased } of rows) if (erased) await strip(writing, entry.verdictId)
  await indexed(
    writing,
    rows.flatMap(({ entry, erased }) => {
      const ruling = erased ? undefined : rulings.get(entry.verdictId)
      return ruling?.standing === 1 && ruling.indexed === 0 ? [ruling.doc] : []
    }),
    new Map(
      rows.flatMap(({ entry, erased }) =>
        erased || entry.words === null ? [] : [[entry.verdictId, entry.ready.words]],
      ),
    ),
  )
}

function notReady(): never {
  throw new Error('a transcript of another batch')
}

/** As an element of an array in SQL. */
const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`

type Fresh = TranscriptEntry & {
  readonly s: number
  readonly dropped: number | null
  readonly ready: PreparedTranscript
}

/** Whether a comment that an entry holds, or may hold, was deleted. */
async function goneOf({ sql }: WritingStep, fresh: readonly Fresh[]): Promise<(of: Fresh) => boolean> {
  const posts = fresh.filter(({ subject }) => subject.kind !== 'reply')
  const named = posts.map((of, nth) => ({ of, nth, tenant: of.subject.tenant, post: recordKeyOf(of.subject) }))
  // Each is looked up: of one post thousands may have been deleted.
  const shown = named.flatMap((one) => (one.of.comments ?? []).map((comment) => ({ ...one, comment })))
  const unknown = named.filter(({ of }) => of.comments === null)
  const rows = await sql.rows<{ nth: number }>(
    `SELECT nth FROM unnest(?::int[], ?::text[], ?::text[], ?::text[]) AS of (nth, tenant, post, comment)
       JOIN gone_comments USING (tenant, post, comment)
     UNION SELECT nth FROM unnest(?::int[], ?::text[], ?::text[]) AS of (nth, tenant, post)
       WHERE EXISTS (SELECT 1 FROM gone_comments AS gone WHERE (gone.tenant, gone.post) = (of.tenant, of.post))`,
    ...[shown.map(({ nth }) => nth), shown.map(({ tenant }) => tenant), shown.map(({ post }) => post)],
    shown.map(({ comment }) => comment),
    ...[unknown.map(({ nth }) => nth), unknown.map(({ tenant }) => tenant), unknown.map(({ post }) => post)],
  )
  const gone = new Set(rows.map(({ nth }) => posts[nth]))
  return (of) =>
    mayBeDeleted(of.subject, of.askedAt, of.dropped) ||
    (of.dropped !== null && of.comments?.length !== 0) ||
    gone.has(of)
}

/** Writes how a list shows the subjects, by the last of each. */
async function showSubjects(
  { sql, seals, hashes }: WritingStep,
  fresh: readonly Fresh[],
  markOf: (mark: string, value: string) => string,
): Promise<void> {
  const last = new Map(
    fresh.flatMap(({ s, shown, ready }) =>
      shown === null || ready.shown === null ? [] : [[s, { ...shown, ...ready.shown }]],
    ),
  )
  if (last.size === 0) return
  const before = await sql.rows<{ k: number | null }>('SELECT k FROM subjects WHERE s = ANY (?::bigint[])', [
    ...last.keys(),
  ])
  const rows = [...last].map(([s, shown]) => {
    const hashed = shown.author === null ? null : markOf('author', shown.author)
    return [s, hashed, shown.lang, shown.same === null ? null : hashes.key(shown.same), seals.add(shown), shown.sealed]
  })
  await sql.run(
    `UPDATE subjects SET author = fresh.author, lang = fresh.lang, same = fresh.same, k = fresh.k, sealed = fresh.sealed
     FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::bytea[]) AS fresh (s, author, lang, same, k, sealed)
     WHERE subjects.s = fresh.s`,
    ...columnsOf(rows, 6),
  )
  for (const table of ['draws', 'compared'])
    await sql.run(
      `UPDATE ${table} SET lang = fresh.lang FROM unnest(?::bigint[], ?::text[]) AS fresh (s, lang) WHERE ${table}.s = fresh.s`,
      ...columnsOf(
        [...last].map(([s, { lang }]) => [s, lang]),
        2,
      ),
    )
  await seals.forget(before.map(({ k }) => k))
}
