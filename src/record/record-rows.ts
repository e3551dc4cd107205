import type { ThreadRef } from '../contracts/facts/thread.ts'
import { verdict } from '../contracts/facts/verdict.ts'
import type { RecordedRow, RecordedVerdict, RecordedWord, RecordReader } from '../contracts/ports/record.ts'
import { actionNote } from './actions.ts'

/** A row of a verdict, as any store keeps it. */
export interface RulingRow {
  readonly json: string
  readonly standing: number | boolean
  readonly contested: number | boolean
  readonly conflicting: number | boolean
  readonly erased: number | boolean
  readonly sampled: number | boolean
}

export function recordedVerdict({
  json,
  standing,
  contested,
  conflicting,
  erased,
  sampled,
}: RulingRow): RecordedVerdict {
  return {
    verdict: verdict.parse(JSON.parse(json)),
    sent: json,
    standing: Boolean(standing),
    contested: Boolean(contested),
    conflicting: Boolean(conflicting),
    erased: Boolean(erased),
    sampled: Boolean(sampled),
  }
}

/** The same with its subject, as any store keeps it. */
export interface ListedRow extends RulingRow {
  readonly doc: number
  readonly tenant: string
  readonly kind: ThreadRef['kind']
  readonly subject: string
  readonly author: string | null
  readonly lang: string | null
  readonly words: string | null
  readonly pictures: number
}

export function recordedRow(row: ListedRow): RecordedRow {
  const { doc, tenant, kind, subject, author, lang, words, pictures } = row
  return {
    ...recordedVerdict(row),
    subject: { tenant, postId: subject, kind },
    author,
    lang,
    words,
    pictures,
    cursor: String(doc),
  }
}

/** A row of what a person said, as any store keeps it. */
export type NoteRow = Omit<RecordedWord, 'message'> & { readonly json: string }

export function recordedWord({ said, id, protocol, label, by, at, json }: NoteRow): RecordedWord {
  return { said, id, protocol, label, by, at, message: JSON.parse(json) }
}

/** A note with what it is about. */
export interface NoteOfSubject extends NoteRow {
  readonly tenant: string
  readonly kind: ThreadRef['kind']
  readonly subject: string
}

export function wordOfSubject(row: NoteOfSubject) {
  const { tenant, kind, subject: postId } = row
  return { ...recordedWord(row), subject: { tenant, kind, postId } }
}

/** What appeals and actions of an id are about; an appeal also where its words are gone, as those of one that was withdrawn. */
export function subjectsNamed(
  word: RecordReader['word'],
  appeals: RecordReader['appeals'],
): RecordReader['subjectsNamed'] {
  return async (id, tenants) => {
    const found = await Promise.all(
      tenants.map((tenant) => Promise.all([word(actionNote(tenant, id), [tenant]), appeals(tenant, { id })])),
    )
    return found.flatMap(([action, ofId]) => [action, ...ofId].flatMap((one) => one?.subject ?? []))
  }
}

/** Most documents that a search looks at: those that hold all grams of its terms, and perhaps not the terms. */
export const MOST_CANDIDATES = 20_000

/** How far what has come is counted. */
export const MOST_LEFT = 10_000
