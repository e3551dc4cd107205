import type { SubjectKind } from '../../contracts/facts/thread.ts'
import type { NoteEntry } from '../../contracts/ports/record.ts'
import { outlivesDeletion } from '../actions.ts'
import { sawOf } from '../compared.ts'
import { noteSubject } from '../note-subject.ts'
import { opinionCode } from '../opinion-code.ts'
import { joinWithdrawal } from './actions.ts'
import { joinAction, takeAnswers } from './appeals.ts'
import { dropSaid, strip } from './erasures.ts'
import { subjectsOf, touch, type WritingStep } from './writing.ts'

/** Takes what somebody said of a subject. */
export async function takeSaid(writing: WritingStep, entry: NoteEntry): Promise<void> {
  const { sql, seals, counters } = writing
  const { id, said, protocol, label, by, at, json, rests } = entry
  const { tenant, postId } = entry.subject
  const judged =
    said === 'feedback'
      ? await sql.rows<{ kind: SubjectKind }>(
          `SELECT kind FROM subjects WHERE tenant = ? AND id = ? AND kind IN ('post', 'reply')
           AND EXISTS (SELECT 1 FROM rulings WHERE rulings.s = subjects.s AND protocol = ?)`,
          tenant,
          postId,
          protocol,
        )
      : []
  const about = noteSubject(entry, () => judged.map(({ kind }) => kind))
  const { s, deletedAt, dropped } = (await subjectsOf(writing, [about]))(about)
  if (!outlivesDeletion(said) && at <= Math.max(deletedAt, dropped ?? Number.NEGATIVE_INFINITY)) return
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
  const key = seals.seal(json)
  const added = await sql.run(
    `INSERT INTO said (id, s, said, protocol, label, by, at, why, verdict, against, opinion, seconds, saw, k, sealed)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
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
    key.k,
    key.sealed,
  )
  counters.add('said', added)
  if (added === 0) await seals.forget([key.k])
  if (said === 'decision') await takeAnswers(writing, s, id, json, at)
  if (said === 'action')
    for (const note of await joinAction(writing, id, { s, deletedAt }, protocol))
      await dropSaid(writing, 'id = ?', note)
  if (said === 'proposal') {
    const [gone] = await sql.rows('SELECT 1 FROM transcripts WHERE id = ? AND comments IS NULL', id)
    if (gone !== undefined) await strip(writing, id)
  }
  if (outlivesDeletion(said)) await joinWithdrawal(writing, id)
  if (said === 'review' || said === 'decision' || said === 'feedback') touch(writing, s, protocol)
}
