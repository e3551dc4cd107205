import { jsonOf } from '../../src/service/domain/json-of.ts'
import { deadLetter } from '../../src/service/domain/messages.ts'
import { type Verdict, verdict as verdictSchema } from '../../src/service/domain/verdict.ts'
import type { OutboxEntry } from '../../src/service/ports/cases.ts'
import type { Outgoing } from '../../src/service/ports/topic.ts'

export interface PublishedTopics {
  readonly verdicts: string
  readonly transcripts: string
  readonly deadLetters: string
}

/**
 * An outbox entry to be sent: its records, in the order in which they must be on their topics, and those known to be
 * there.
 */
export interface PendingEntry {
  readonly entry: OutboxEntry
  readonly records: readonly Outgoing[]
  readonly sent: Set<Outgoing>
  /** Absent if another version wrote it. */
  readonly verdict?: Verdict
}

/** The entry with its records, whose values are the outbox's own bytes; null if this version can't read it. */
export function pendingOf(entry: OutboxEntry, topics: PublishedTopics): PendingEntry | null {
  if (entry.kind === 'dead-letter') {
    const headers = letterHeaders(entry.letter)
    const record = { topic: topics.deadLetters, key: entry.key, value: entry.letter, headers }
    return { entry, records: [record], sent: new Set() }
  }
  const read = entry.kind === 'verdict' ? readVerdict(entry.verdict) : null
  if (read === null || entry.kind !== 'verdict') return null
  const { subjectId, verdict } = read
  const headers = verdict === null ? {} : verdictHeaders(verdict)
  const records = [
    { topic: topics.transcripts, key: subjectId, value: entry.transcript, headers },
    { topic: topics.verdicts, key: subjectId, value: entry.verdict, headers },
  ]
  return { entry, records, sent: new Set(), ...(verdict === null ? {} : { verdict }) }
}

/** The cases whose verdicts are in these entries. */
export function caseIdsOf(pending: readonly PendingEntry[]): string[] {
  return pending.flatMap(({ entry }) => (entry.kind === 'verdict' ? [entry.caseId] : []))
}

export function charactersIn({ records }: PendingEntry): number {
  return records.reduce((sum, { value }) => sum + value.length, 0)
}

/** What consumers filter by without parsing the record. */
function verdictHeaders({ schema, protocol, revision, final, tenant }: Verdict): Readonly<Record<string, string>> {
  return {
    'gavel-schema': String(schema),
    'gavel-protocol': protocol,
    'gavel-revision': String(revision),
    'gavel-final': String(final),
    'gavel-tenant': tenant,
  }
}

/** The same of a dead letter; none if another version wrote it in a form that this one can't read. */
function letterHeaders(json: string): Readonly<Record<string, string>> {
  const read = deadLetter.safeParse(jsonOf({ value: json }))
  if (!read.success) return {}
  const { schema, reason, topic } = read.data
  return { 'gavel-schema': String(schema), 'gavel-reason': reason, 'gavel-topic': topic }
}

/** A verdict as far as this version understands it; null if not even its subject can be read. */
function readVerdict(json: string): { subjectId: string; verdict: Verdict | null } | null {
  try {
    const given: unknown = JSON.parse(json)
    const read = verdictSchema.safeParse(given)
    if (read.success) return { subjectId: read.data.subjectId, verdict: read.data }
    const { subjectId } = given as Partial<Verdict>
    return typeof subjectId === 'string' ? { subjectId, verdict: null } : null
  } catch {
    return null
  }
}
