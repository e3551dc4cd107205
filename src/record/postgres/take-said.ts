import type { SubjectKind, ThreadRef } from '../../contracts/facts/thread.ts'
import type { NoteEntry } from '../../contracts/ports/record.ts'
import { outlivesDeletion } from '../actions.ts'
import { sawOf } from '../compared.ts'
import { noteSubject } from '../note-subject.ts'
import { opinionCode } from '../opinion-code.ts'
import { joinWithdrawal } from './actions.ts'
import { joinAction, takeAnswers } from './appeals.ts'
import { columnsOf } from './connection.ts'
import { dropSaid, strip } from './erasures.ts'
import { subjectsOf, touch, type WritingStep, type WrittenSubject } from './writing.ts'

/** Takes what somebody said of a subject; feedback that comes together in one statement. */
export async function takeSaid(writing: WritingStep, entries: readonly NoteEntry[]): Promise<void> {
  const { sql, seals, counters } = writing
  const about = await subjectsMeant(writing, entries)
  const subjectOf = await subjectsOf(writing, about)
  const taken = entries.flatMap((entry, nth) => {
    const subject = subjectOf(about[nth] ?? entry.subject)
    const isGone = entry.at <= Math.max(subject.deletedAt, subject.dropped ?? Number.NEGATIVE_INFINITY)
    return isGone && !outlivesDeletion(entry.said) ? [] : [{ entry, subject, key: seals.seal(entry.json) }]
  })
  if (taken.length === 0) return
  const added = await sql.rows<{ id: string }>(
    `INSERT INTO said (id, s, said, protocol, label, by, at, why, verdict, against, opinion, seconds, saw, k, sealed)
     SELECT * FROM unnest(?::text[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::text[], ?::text[], ?::bigint[],
       ?::smallint[], ?::bigint[], ?::smallint[], ?::bigint[], ?::bytea[])
     ON CONFLICT DO NOTHING RETURNING id`,
    ...columnsOf(
      taken.map(({ entry, subject, key }) => [...rowOf(entry, subject.s), key.k, key.sealed]),
      15,
    ),
  )
  counters.add('said', added.length)
  const fresh = new Set(added.map(({ id }) => id))
  await seals.forget(taken.flatMap(({ entry, key }) => (fresh.has(entry.id.toWellFormed()) ? [] : [key.k])))
  for (const { entry, subject } of taken) await followSaid(writing, entry, subject)
}

/** What each is about; of feedback that names no kind what its protocol has judged of that id. */
async function subjectsMeant({ sql }: WritingStep, entries: readonly NoteEntry[]): Promise<ThreadRef[]> {
  const fed = entries.filter(({ said, isKindNamed }) => said === 'feedback' && isKindNamed !== true)
  const judged =
    fed.length === 0
      ? []
      : await sql.rows<{ nth: number; kind: SubjectKind }>(
          `SELECT nth, kind FROM unnest(?::text[], ?::text[], ?::text[]) WITH ORDINALITY AS fed (tenant, id, protocol, nth)
           JOIN subjects ON subjects.tenant = fed.tenant AND subjects.id = fed.id AND kind IN ('post', 'reply')
           WHERE EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s AND rulings.protocol = fed.protocol)`,
          ...columnsOf(
            fed.map(({ subject, protocol }) => [subject.tenant, subject.postId, protocol]),
            3,
          ),
        )
  const kinds = Map.groupBy(judged, ({ nth }) => fed[nth - 1])
  return entries.map((entry) => noteSubject(entry, () => (kinds.get(entry) ?? []).map(({ kind }) => kind)))
}

function rowOf({ id, said, protocol, label, by, at, json, rests }: NoteEntry, s: number) {
  const message = JSON.parse(json) as {
    why?: unknown
    verdict?: unknown
    against?: unknown
    opinion?: unknown
    golden?: unknown
    unseen?: unknown
    sawLabel?: unknown
    seconds?: unknown
  }
  const textOf = (value: unknown) => (said === 'review' && typeof value === 'string' ? value : null)
  const wholeOf = (value: unknown) => (typeof value === 'number' && Number.isSafeInteger(value) ? value : null)
  const against = wholeOf(said === 'action' ? rests : message.against)
  return [
    id,
    s,
    said,
    protocol,
    label,
    by,
    at,
    textOf(message.why),
    said === 'action' && typeof rests === 'string' ? rests : textOf(message.verdict),
    against,
    opinionCode(message),
    wholeOf(message.seconds),
    sawOf(message),
  ]
}

/** What follows from it elsewhere. */
async function followSaid(
  writing: WritingStep,
  { id, said, protocol, at, json }: NoteEntry,
  subject: WrittenSubject,
): Promise<void> {
  const { s } = subject
  if (said === 'decision') await takeAnswers(writing, s, id, json, at)
  if (said === 'action')
    for (const note of await joinAction(writing, id, subject, protocol)) await dropSaid(writing, 'id = ?', note)
  if (said === 'proposal') {
    const [gone] = await writing.sql.rows('SELECT 1 FROM transcripts WHERE id = ? AND comments IS NULL', id)
    if (gone !== undefined) await strip(writing, id)
  }
  if (outlivesDeletion(said)) await joinWithdrawal(writing, id)
  if (said === 'review' || said === 'decision' || said === 'feedback') touch(writing, s, protocol)
}
