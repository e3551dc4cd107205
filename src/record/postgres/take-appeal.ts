import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { AppealEndEntry, AppealEntry } from '../../contracts/ports/record.ts'
import { appealNoteId } from '../appeal-note.ts'
import {
  ABOUT_ACTION,
  boundsOn,
  endedAppeal,
  FORGET_APPEAL,
  KNOWN_APPEAL,
  LABELLED_APPEAL,
  SUBJECT_OF_APPEAL,
  takenAppeal,
} from '../appeal-rows.ts'
import { aboutAction, isSentAgain, keepsWords, noteOf, type RowOfAppeal, wordsAt } from '../appeals.ts'
import { isThere } from './appeals.ts'
import { dropSaid } from './erasures.ts'
import { takeSaid } from './take-said.ts'
import { subjectsOf, touch, type WritingStep } from './writing.ts'

/** Takes an appeal, and its words where they are kept. */
export async function takeAppeal(writing: WritingStep, given: AppealEntry): Promise<void> {
  const { sql } = writing
  const [action] = await sql.rows<ThreadRef & { protocol: string }>(ABOUT_ACTION, given.against)
  const entry = aboutAction(given, action)
  const { tenant, id, protocol, at } = entry
  const subject = (await subjectsOf(writing, [entry.subject]))(entry.subject)
  let [known] = await sql.rows<RowOfAppeal>(KNOWN_APPEAL, tenant, id)
  if (isSentAgain(known, entry)) {
    await sql.run(FORGET_APPEAL, tenant, id)
    known = undefined
  }
  if (known !== undefined && known.s !== null) return
  const outcome = known === undefined && (await isTooMany(writing, entry, subject.s)) ? 'too-many' : null
  const [text, ...values] = takenAppeal(entry, subject.s, outcome)
  await sql.run(text, ...values)
  if (outcome !== null) return
  touch(writing, subject.s, protocol)
  const before = known?.outcome ?? null
  if (keepsWords(before) && (await isThere(sql, subject, at))) await takeSaid(writing, [noteOf(entry, before)])
}

async function isTooMany({ sql, appeals }: WritingStep, entry: AppealEntry, s: number): Promise<boolean> {
  for (const [text, ...values] of boundsOn(entry, s, appeals))
    if ((await sql.rows(text, ...values)).length > 0) return true
  return false
}

/** An appeal was taken back, or is told of. */
export async function endAppeal(writing: WritingStep, entry: AppealEndEntry): Promise<void> {
  const { sql } = writing
  const { tenant, id } = entry
  const [known] = await sql.rows<RowOfAppeal>(KNOWN_APPEAL, tenant, id)
  const [text, ...values] = endedAppeal(entry)
  await sql.run(text, ...values)
  const words = wordsAt(entry, known)
  if (words === 'stay') return
  const note = appealNoteId(tenant, id)
  if (words === 'go') await dropSaid(writing, 'id = ?', note)
  else await sql.run(LABELLED_APPEAL, entry.outcome, note)
  for (const { s, protocol } of await sql.rows<{ s: number; protocol: string }>(SUBJECT_OF_APPEAL, tenant, id))
    touch(writing, s, protocol)
}
