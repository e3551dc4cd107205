import type { SubjectKind, ThreadRef } from '../contracts/facts/thread.ts'
import type { NoteEntry } from '../contracts/ports/record.ts'

/**
 * What somebody said is about. Feedback that names no kind is about what its protocol has judged of that id, a reply also where
 * the protocol judges posts as a rule.
 */
export function noteSubject(
  { said, subject, isKindNamed = false }: NoteEntry,
  judged: () => readonly SubjectKind[],
): ThreadRef {
  if (said !== 'feedback' || isKindNamed) return subject
  const kinds = judged()
  const [other] = kinds
  return other === undefined || kinds.includes(subject.kind) ? subject : { ...subject, kind: other }
}
