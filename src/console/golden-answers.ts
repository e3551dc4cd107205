import type { SubjectRecord } from '../contracts/ports/record.ts'

/** The fields of a decision that was sent. */
export function sentFields({ said, message }: SubjectRecord['said'][number]): Readonly<Record<string, unknown>> {
  return said === 'decision' ? (message as Readonly<Record<string, unknown>>) : {} // The record has read it as one.
}

/** What a person may know of a subject: of golden items only that they made one, so that none is told from a second opinion. */
export function withoutGolden(subject: SubjectRecord, by: string | undefined): SubjectRecord {
  const said = subject.said.flatMap((one) => {
    const { golden, ...message } = sentFields(one)
    if (golden === undefined || (golden === 'key' && one.by === by)) return [one]
    return one.by === by ? [{ ...one, message }] : []
  })
  return { ...subject, said }
}
