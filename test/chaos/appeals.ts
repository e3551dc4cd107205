import { appealMessage, appealOutcome } from '../../src/contracts/facts/appeal-messages.ts'
import { appealNoteId } from '../../src/record/appeal-note.ts'
import type { TopicRecord } from './reader.ts'
import type { Held } from './recorded.ts'

const nameOf = ({ tenant, id }: { readonly tenant: string; readonly id: string }) => appealNoteId(tenant, id)

/** Each appeal has one outcome, or waits in the record for somebody's answer. In words what does not hold. */
export function appealBreaches(
  { appeals, outcomes }: { readonly appeals: readonly TopicRecord[]; readonly outcomes: readonly TopicRecord[] },
  { subjects }: Pick<Held, 'subjects'>,
): string[] {
  const sent = new Set(appeals.map(({ value }) => nameOf(appealMessage.parse(JSON.parse(value)))))
  const told = Map.groupBy(outcomes, ({ value }) => nameOf(appealOutcome.parse(JSON.parse(value))))
  const said = [...subjects.values()].flatMap((one) => one.said).filter((one) => one.said === 'appeal')
  const open = new Set(said.flatMap(({ id, label }) => (label === null ? [id] : [])))
  const breaches: [string, string[]][] = [
    ['an outcome of no appeal', [...told.keys()].filter((name) => !sent.has(name))],
    [
      'more than one outcome',
      [...told].flatMap(([name, all]) => (new Set(all.map(({ value }) => value)).size > 1 ? [name] : [])),
    ],
    ['neither an outcome nor open', [...sent].filter((name) => !told.has(name) && !open.has(name))],
    ['open, and has its outcome', [...open].filter((name) => told.has(name))],
  ]
  return breaches.flatMap(([what, all]) =>
    all.length === 0 ? [] : [`appeals: ${what}: ${all.length} (${all.slice(0, 5).join('; ')})`],
  )
}
