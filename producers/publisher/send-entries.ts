import type { AppealOutcome } from '../../src/contracts/facts/appeal-messages.ts'
import { BrokerRefused } from '../../src/contracts/facts/broker-refusal.ts'
import { shortenedTranscript } from '../../src/contracts/facts/transcript.ts'
import type { Answers } from '../../src/contracts/ports/answers.ts'
import type { Outbox, OutboxEntry } from '../../src/contracts/ports/cases.ts'
import type { Clock } from '../../src/contracts/ports/clock.ts'
import type { PublicationGate } from '../../src/contracts/ports/publication.ts'
import type { Report } from '../../src/contracts/ports/report.ts'
import { type OutgoingMessage, RefusedRecord, type TopicWriter } from '../../src/contracts/ports/topic.ts'
import { deadLetterOf, shortenedLetter } from '../dead-letter.ts'
import type { PublishedVerdict } from '../webhooks/matching.ts'
import { type PendingEntry, type PublishedTopics, subjectOf, type TraceparentOf } from './records.ts'
import type { VerdictSinks } from './sunk-records.ts'

// This decides what becomes of a record that a broker refuses; publisher.ts decides what is sent, when and again.

/** The parts with which entries are sent. */
export interface SendingContext {
  readonly outbox: Outbox
  readonly writer: TopicWriter
  /** Takes the verdicts on what was asked apart from the stream. */
  readonly answers: Pick<Answers, 'put'>
  /** Has verdicts sent to webhooks, once they are published: durable when it resolves. Repeatable. */
  readonly hook?: (published: readonly PublishedVerdict[]) => Promise<void>
  /** The same of appeals that have ended. */
  readonly hookAppeals?: (
    ended: readonly { readonly entry: string; readonly outcome: AppealOutcome }[],
  ) => Promise<void>
  /** Whether a protocol judges replies. */
  readonly judgesReplies?: (protocol: string) => boolean
  /** Told of what a broker refuses until a setting is changed. */
  readonly gate?: PublicationGate
  /** The refusal of even a small record of this topic; null if the broker takes it. Absent where no topic has a limit. */
  readonly tryTopic?: (topic: string) => Promise<BrokerRefused | null>
  readonly topics: PublishedTopics
  /** The trace context of a verdict's records, where traces are sent. */
  readonly traceparentOf?: TraceparentOf | undefined
  /** What topics of others get of each verdict. */
  readonly sinks?: VerdictSinks | undefined
  readonly clock: Clock
  readonly report: Report
}

/** A refused record is halved until it is accepted, down to this, in bytes. */
const SMALLEST_BYTES = 512

/**
 * Sends entries, and marks in each the records that are on their topic. A record that a broker permanently refuses is
 * shortened if possible, and otherwise becomes a dead letter; rejects with a `BrokerRefused` if it is no fault of the record. With `atOnce` everything is first sent in one request;
 * otherwise topic by topic, so that acknowledged records are not sent again. Rejects if a topic accepts nothing.
 */
export async function sendEntries(
  context: SendingContext,
  pending: readonly PendingEntry[],
  { atOnce }: { readonly atOnce: boolean },
): Promise<void> {
  const unsent = pending.flatMap((one) =>
    one.records.filter((record) => !one.sent.has(record)).map((record) => ({ one, record })),
  )
  if (unsent.length === 0) return
  if (atOnce) {
    try {
      await context.writer.send(unsent.map(({ record }) => record))
      for (const { one, record } of unsent) one.sent.add(record)
      return
    } catch (error) {
      // By themselves the topics show which of them is refused.
      if (!(error instanceof RefusedRecord || error instanceof BrokerRefused)) throw error
    }
  }
  for (const topic of new Set(unsent.map(({ record }) => record.topic)))
    await sendRecords(
      context,
      unsent.filter(({ record }) => record.topic === topic),
    )
}

/** Puts verdicts on requests where their clients find them: on no topic. */
export async function answerRequests(context: SendingContext, pending: readonly PendingEntry[]): Promise<void> {
  const wanted = await Promise.all(
    pending.map(async ({ answer }) => answer !== undefined && (await context.answers.put(answer))),
  )
  await hookVerdicts(
    context,
    pending.filter((_, nth) => wanted[nth] === true),
  )
}

/** Has published verdicts, and what became of appeals, sent to webhooks. */
export async function hookVerdicts(context: SendingContext, pending: readonly PendingEntry[]): Promise<void> {
  const { hook, hookAppeals, judgesReplies = () => false } = context
  const published = pending.flatMap(({ entry, verdict }) =>
    verdict === undefined || entry.kind !== 'verdict'
      ? []
      : [
          {
            verdict,
            json: entry.verdict,
            ref: subjectOf(entry.caseId, verdict, judgesReplies),
            from: { entry: entry.id, caseId: entry.caseId },
          },
        ],
  )
  if (hook !== undefined && published.length > 0) await hook(published)
  const ended = pending.flatMap(({ entry }) =>
    entry.kind === 'appeal' ? [{ entry: entry.id, outcome: entry.outcome }] : [],
  )
  if (hookAppeals !== undefined && ended.length > 0) await hookAppeals(ended)
}

type PendingRecord = { readonly one: PendingEntry; readonly record: OutgoingMessage }

async function sendRecords(context: SendingContext, all: readonly PendingRecord[]): Promise<void> {
  try {
    await context.writer.send(all.map(({ record }) => record))
  } catch (error) {
    if (!(error instanceof RefusedRecord)) throw error
    const [only] = all
    if (all.length > 1 || only === undefined) for (const each of all) await sendRecords(context, [each])
    else await sendShortened(context, only, error)
  }
  for (const { one, record } of all) one.sent.add(record)
}

/** Sends a record that was refused in a shorter form that is accepted, or as a dead letter. */
async function sendShortened(
  context: SendingContext,
  { one: { entry }, record }: PendingRecord,
  refusal: RefusedRecord,
): Promise<void> {
  const { writer, topics } = context
  let smaller = record
  for (let bytes = Buffer.byteLength(record.value) / 2; bytes >= SMALLEST_BYTES; bytes /= 2) {
    const shorter = shortened(topics, entry, record, bytes)
    if (shorter === null) break
    if (shorter.value === smaller.value) continue
    smaller = shorter
    try {
      return await writer.send([smaller])
    } catch (error) {
      if (!(error instanceof RefusedRecord)) throw error
    }
  }
  const ofAll = (await context.tryTopic?.(record.topic)) ?? null
  if (ofAll !== null) throw ofAll
  // A topic that refuses even the shortest dead letter refuses them all: the topic is at fault, not the letter.
  if (entry.kind === 'dead-letter' && shortened(topics, entry, record, SMALLEST_BYTES) !== null) throw refusal
  await putDeadLetter(context, record, refusal.message, entry)
}

/** Null for a record that can't be shortened: a verdict, or an entry of another version. */
function shortened(
  topics: PublishedTopics,
  entry: OutboxEntry,
  record: OutgoingMessage,
  bytes: number,
): OutgoingMessage | null {
  const { value } = record
  if (typeof value !== 'string') return null
  const shorter =
    record.topic === topics.transcripts
      ? shortenedTranscript(value, bytes)
      : entry.kind === 'dead-letter'
        ? shortenedLetter(value, bytes)
        : null
  return shorter === null ? null : { ...record, value: shorter }
}

/**
 * Turns a record of this entry into a dead letter with the reason `refused`. A revision's number counts as used even if its
 * verdict became one.
 */
export async function putDeadLetter(
  { outbox, clock, report }: SendingContext,
  { topic, key, value }: OutgoingMessage,
  detail: string,
  entry: OutboxEntry,
): Promise<void> {
  const place = { topic, partition: -1, offset: '-1' }
  const name = key === null ? null : String(key)
  const record = { ...place, key: name, value: Buffer.from(value), headers: {}, timestamp: clock() }
  await outbox.putDeadLetters([deadLetterOf(record, { reason: 'refused', detail })])
  const ids = 'caseId' in entry ? { caseId: entry.caseId } : {}
  report('message:dead', { ...place, reason: 'refused', detail, ...ids })
}
