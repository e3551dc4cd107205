import type { AuditEntry } from '../../src/contracts/facts/audit.ts'
import { proposal as proposalSchema, type VerdictProposal } from '../../src/contracts/facts/decision-messages.ts'
import { jsonOf } from '../../src/contracts/facts/json-of.ts'
import { deadLetter, subjectKeyOf } from '../../src/contracts/facts/messages.ts'
import type { ThreadRef } from '../../src/contracts/facts/thread.ts'
import {
  transcript as transcriptSchema,
  type Verdict,
  verdict as verdictSchema,
} from '../../src/contracts/facts/verdict.ts'
import { readVerdictId, requestIn, threadIn } from '../../src/contracts/facts/verdict-id.ts'
import type { Answers } from '../../src/contracts/ports/answers.ts'
import type { OutboxEntry } from '../../src/contracts/ports/cases.ts'
import type { OutgoingMessage } from '../../src/contracts/ports/topic.ts'

export interface PublishedTopics {
  readonly verdicts: string
  readonly transcripts: string
  readonly proposals: string
  readonly reviews: string
  readonly decisionOutcomes: string
  readonly appealOutcomes: string
  readonly deadLetters: string
  /** Where it is noted that a list decided; absent where nothing is noted. */
  readonly audit?: string
}

/** The trace context of a verdict, by its id, as a header value. */
export type TraceparentOf = (verdictId: string) => string

/**
 * An outbox entry to be sent: its records, in the order in which they must be on their topics, and those known to be
 * there.
 */
export interface PendingEntry {
  readonly entry: OutboxEntry
  readonly records: readonly OutgoingMessage[]
  /** What sinks get, once the records are on their topics. */
  readonly sunk: readonly OutgoingMessage[]
  /** The sinks for which nothing could be made of it, and why; among its records is a letter for each. */
  readonly unmapped?: readonly { readonly topic: string; readonly detail: string }[]
  readonly sent: Set<OutgoingMessage>
  /** In place of records: of a request apart from the stream. */
  readonly answer?: Parameters<Answers['put']>[0]
  /** Absent if another version wrote it. */
  readonly verdict?: Verdict
  readonly proposal?: VerdictProposal
}

/** The entry with its records, whose values are the outbox's own bytes; null if this version can't read it. */
export function pendingOf(
  entry: OutboxEntry,
  topics: PublishedTopics,
  traceparentOf?: TraceparentOf,
): PendingEntry | null {
  if (entry.kind === 'dead-letter') {
    const headers = letterHeaders(entry.letter)
    const record = { topic: topics.deadLetters, key: entry.key, value: entry.letter, headers }
    return { entry, records: [record], sunk: [], sent: new Set() }
  }
  if (entry.kind === 'review' || entry.kind === 'outcome') return decisionOf(entry, topics)
  if (entry.kind === 'appeal') {
    const { id, schema, tenant } = entry.outcome
    const headers = { 'gavel-schema': String(schema), 'gavel-tenant': tenant }
    const record = { topic: topics.appealOutcomes, key: id, value: JSON.stringify(entry.outcome), headers }
    return { entry, records: [record], sunk: [], sent: new Set() }
  }
  if (entry.kind === 'proposal') return proposalOf(entry, topics, traceparentOf)
  const read = entry.kind === 'verdict' ? readVerdict(entry.verdict) : null
  if (read === null || entry.kind !== 'verdict') return null
  const { key, verdict } = read
  const known = verdict === null ? {} : { verdict }
  const request = requestIn(entry.caseId)
  if (request !== null) {
    const answer = { ...request, verdict: entry.verdict, transcript: entry.transcript }
    return { entry, records: [], sunk: [], sent: new Set(), answer, ...known }
  }
  const headers = verdict === null ? {} : { ...verdictHeaders(verdict), ...traceHeader(verdict.id, traceparentOf) }
  const records = [
    { topic: topics.transcripts, key, value: entry.transcript, headers: ofTranscript(headers) },
    { topic: topics.verdicts, key, value: entry.verdict, headers },
    ...(verdict?.veto === undefined || topics.audit === undefined
      ? []
      : [vetoNote(verdict, verdict.veto, topics.audit)]),
  ]
  return { entry, records, sunk: [], sent: new Set(), ...known }
}

/** Whose entries of the audit no person's are. */
const BY_LISTS = 'gavel'

/** That a list decided, for the audit: the same bytes at each try. */
function vetoNote(
  { id, timing }: Verdict,
  { list, entry }: NonNullable<Verdict['veto']>,
  topic: string,
): OutgoingMessage {
  const note: AuditEntry = {
    schema: 1,
    at: timing.decidedAt,
    by: BY_LISTS,
    session: '',
    what: 'did',
    page: 'veto',
    verdicts: [id],
    more: 0,
    asked: { list, entry },
  }
  return { topic, key: BY_LISTS, value: JSON.stringify(note) }
}

/** The thread that a verdict is about. */
export function subjectOf(
  caseId: string,
  { tenant, subjectId, protocol }: Verdict,
  judgesReplies: (protocol: string) => boolean,
): ThreadRef {
  if (requestIn(caseId) !== null) return { tenant, postId: subjectId, kind: 'asked' }
  const known = threadIn(caseId, new Set(judgesReplies(protocol) ? [protocol] : []))
  return known ?? { tenant, postId: subjectId, kind: 'post' }
}

function proposalOf(
  entry: Extract<OutboxEntry, { kind: 'proposal' }>,
  topics: PublishedTopics,
  traceparentOf: TraceparentOf | undefined,
): PendingEntry | null {
  const given = jsonOf({ value: entry.proposal })
  const read = proposalSchema.safeParse(given)
  const key = keyIn(given)
  if (key === null) return null
  const headers = read.success ? { ...subjectHeaders(read.data), ...traceHeader(read.data.id, traceparentOf) } : {}
  const records = [
    { topic: topics.transcripts, key, value: entry.transcript, headers: ofTranscript(headers) },
    { topic: topics.proposals, key, value: entry.proposal, headers },
  ]
  return { entry, records, sunk: [], sent: new Set(), ...(read.success ? { proposal: read.data } : {}) }
}

function decisionOf(
  entry: Extract<OutboxEntry, { kind: 'review' | 'outcome' }>,
  topics: PublishedTopics,
): PendingEntry {
  const message = entry.kind === 'review' ? entry.review : entry.outcome
  const topic = entry.kind === 'review' ? topics.reviews : topics.decisionOutcomes
  const record = { topic, key: subjectKeyOf(message), value: JSON.stringify(message), headers: subjectHeaders(message) }
  return { entry, records: [record], sunk: [], sent: new Set() }
}

export function subjectHeaders({ schema, protocol, tenant }: Pick<Verdict, 'schema' | 'protocol' | 'tenant'>) {
  return { 'gavel-schema': String(schema), 'gavel-protocol': protocol, 'gavel-tenant': tenant }
}

/** The cases whose verdicts are in these entries. */
export function caseIdsOf(pending: readonly PendingEntry[]): string[] {
  return pending.flatMap(({ entry }) => ('caseId' in entry ? [entry.caseId] : []))
}

export function charactersIn({ records, sunk, answer }: PendingEntry): number {
  const answered = answer === undefined ? 0 : answer.verdict.length + answer.transcript.length
  return [...records, ...sunk].reduce((sum, { value }) => sum + value.length, answered)
}

/** What consumers filter by without parsing the record. */
function verdictHeaders({
  schema,
  protocol,
  revision,
  final,
  tenant,
  decidedBy,
}: Verdict): Readonly<Record<string, string>> {
  return {
    'gavel-schema': String(schema),
    'gavel-protocol': protocol,
    'gavel-revision': String(revision),
    'gavel-final': String(final),
    'gavel-tenant': tenant,
    'gavel-decided-by': decidedBy,
  }
}

/** A transcript has the headers of its verdict, and a schema of its own; none where the verdict is another version's. */
function ofTranscript(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return 'gavel-schema' in headers
    ? { ...headers, 'gavel-schema': String(transcriptSchema.shape.schema.value) }
    : headers
}

/** The header by which a reader of the record continues its trace; none where no traces are sent. */
function traceHeader(verdictId: string, traceparentOf: TraceparentOf | undefined) {
  return traceparentOf === undefined ? {} : { traceparent: traceparentOf(verdictId) }
}

/** The same of a dead letter; none if another version wrote it in a form that this one can't read. */
export function letterHeaders(json: string): Readonly<Record<string, string>> {
  const read = deadLetter.safeParse(jsonOf({ value: json }))
  if (!read.success) return {}
  const { schema, reason, topic } = read.data
  return { 'gavel-schema': String(schema), 'gavel-reason': reason, 'gavel-topic': topic }
}

/** A verdict as far as this version understands it, and its record's key; null if not even its subject can be read. */
function readVerdict(json: string): { key: string; verdict: Verdict | null } | null {
  try {
    const given: unknown = JSON.parse(json)
    const key = keyIn(given)
    if (key === null) return null
    const read = verdictSchema.safeParse(given)
    return { key, verdict: read.success ? read.data : null }
  } catch {
    return null
  }
}

/** The key of a verdict's or a proposal's record: of a comment its post's id, which its own id names in either schema. */
function keyIn(given: unknown): string | null {
  const { id, subjectId } = (given ?? {}) as Partial<Verdict>
  if (typeof subjectId !== 'string') return null
  return (typeof id === 'string' ? readVerdictId(id)?.postId : undefined) ?? subjectId
}
