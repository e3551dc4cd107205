import { jsonOf } from '../../src/contracts/facts/json-of.ts'
import type { Verdict } from '../../src/contracts/facts/verdict.ts'
import type { SinkNotes } from '../../src/contracts/ports/sink-notes.ts'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'
import type { SourceRecord } from '../../src/mapping/paths.ts'
import type { SinkMapping, SinkRecord } from '../../src/mapping/sinks.ts'
import { deadLetterOf } from '../dead-letter.ts'
import { letterHeaders, type PendingEntry, type PublishedTopics, subjectOf } from './records.ts'

/** What topics of others get of verdicts, and what they have had. */
export interface VerdictSinks {
  readonly mapping: SinkMapping
  readonly notes: SinkNotes
}

/** The entry with what sinks get of its verdict. What can't be made is a dead letter, which has the verdict, and is told. */
export async function withSinks(
  pending: PendingEntry,
  sinks: VerdictSinks,
  topics: PublishedTopics,
  judgesReplies: (protocol: string) => boolean,
): Promise<PendingEntry> {
  const { entry, verdict } = pending
  const record = sinkInput(pending, topics)
  if (entry.kind !== 'verdict' || record === null) return pending
  const { headers } = record
  const made = sinks.mapping(record, typeof verdict?.supersedes === 'string')
  const of = (known: Verdict) => ({ ref: subjectOf(entry.caseId, known, judgesReplies), protocol: known.protocol })
  const meant = verdict === undefined ? made : await thoseThatFollow(made, sinks.notes, of(verdict))
  const letters = meant.flatMap((one) => {
    if (one.ok) return []
    const from = { ...record, topic: one.topic, partition: -1, offset: '-1', value: Buffer.from(entry.verdict) }
    const { key: name, letter } = deadLetterOf(from, { reason: 'unmapped', detail: one.why })
    return [{ topic: topics.deadLetters, key: name, value: letter, headers: letterHeaders(letter) }]
  })
  const sunk = meant.flatMap((one): OutgoingMessage[] =>
    one.ok ? [{ topic: one.topic, key: one.key, value: one.value, headers }] : [],
  )
  const unmapped = meant.flatMap((one) => (one.ok ? [] : [{ topic: one.topic, detail: one.why }]))
  return { ...pending, records: [...pending.records, ...letters], sunk, unmapped }
}

/** A published verdict as the mappings of sinks see it; null of all else. */
export function sinkInput({ entry, records }: PendingEntry, topics: PublishedTopics): SourceRecord | null {
  const published = records.find(({ topic }) => topic === topics.verdicts)
  if (entry.kind !== 'verdict' || published === undefined) return null
  const { key, headers = {} } = published
  const value = jsonOf({ value: entry.verdict })
  // As pendingOf made them.
  const texts = headers as Readonly<Record<string, string>>
  return { key: String(key), value, headers: texts, timestamp: decidedIn(value) }
}

/** Those whose condition the verdict meets, which is noted, and those that have had one that did. */
async function thoseThatFollow(
  made: readonly SinkRecord[],
  notes: SinkNotes,
  of: Parameters<SinkNotes['note']>[0],
): Promise<readonly SinkRecord[]> {
  const met = made.flatMap(({ entry, follows }) => (entry === null || follows ? [] : [entry]))
  if (made.every(({ entry }) => entry === null)) return made
  const had = await notes.note(of, met)
  return made.filter(({ entry, follows }) => !follows || (entry !== null && had.has(entry)))
}

/** When a verdict was made, ms since 1970; 0 where that can't be read. */
function decidedIn(verdict: unknown): number {
  const { timing } = (verdict ?? {}) as Partial<Verdict> // any object: what it lacks is undefined
  return Date.parse(timing?.decidedAt ?? '') || 0
}
