import { shortenedTranscript } from '../src/service/domain/transcript.ts'
import type { Verdict } from '../src/service/domain/verdict.ts'
import type { Outbox, OutboxEntry } from '../src/service/ports/cases.ts'
import type { Clock } from '../src/service/ports/clock.ts'
import type { Report } from '../src/service/ports/report.ts'
import { type Outgoing, RefusedRecord, type TopicWriter } from '../src/service/ports/topic.ts'
import { deadLetterOf, shortenedLetter } from './dead-letter.ts'

export interface PublishedTopics {
  readonly verdicts: string
  readonly transcripts: string
  readonly deadLetters: string
}

/**
 * An outbox entry to be sent: its records, in the order in which they must be on their topics, and those known to be
 * there.
 */
export interface Parcel {
  readonly entry: OutboxEntry
  readonly records: readonly Outgoing[]
  readonly sent: Set<Outgoing>
  /** Absent if another version wrote it. */
  readonly verdict?: Verdict
}

/** The cases whose verdicts are in these parcels. */
export function caseIdsOf(parcels: readonly Parcel[]): string[] {
  return parcels.flatMap(({ entry }) => (entry.kind === 'verdict' ? [entry.caseId] : []))
}

/** Turns a record of this entry into a dead letter with the reason `refused`. */
export type Park = (record: Outgoing, detail: string, entry: OutboxEntry) => Promise<void>

/** A revision's number counts as used even if its verdict became a dead letter. */
export function parking({ outbox, clock, report }: { outbox: Outbox; clock: Clock; report: Report }): Park {
  return async ({ topic, key, value }, detail, entry) => {
    const place = { topic, partition: -1, offset: '-1' }
    const name = key === null ? null : String(key)
    const record = { ...place, key: name, value: Buffer.from(value), headers: {}, timestamp: clock() }
    await outbox.putDeadLetters([deadLetterOf(record, { reason: 'refused', detail })])
    const ids = entry.kind === 'verdict' ? { caseId: entry.caseId } : {}
    report('message:dead', { ...place, reason: 'refused', detail, ...ids })
  }
}

/** A refused record is halved until it is accepted, down to this, in bytes. */
const SMALLEST_BYTES = 512

/**
 * Sends parcels, and marks in each the records that are on their topic. A record that a broker permanently refuses is
 * shortened if possible, and otherwise parked. Rejects if a topic accepts nothing.
 */
export function delivery({ writer, park, topics }: { writer: TopicWriter; park: Park; topics: PublishedTopics }) {
  async function deliverTo(all: readonly { parcel: Parcel; record: Outgoing }[]): Promise<void> {
    try {
      await writer.send(all.map(({ record }) => record))
    } catch (error) {
      if (!(error instanceof RefusedRecord)) throw error
      const [one] = all
      if (all.length > 1 || one === undefined) for (const each of all) await deliverTo([each])
      else await deliverSmaller(one.parcel, one.record, error)
    }
    for (const { parcel, record } of all) parcel.sent.add(record)
  }

  async function deliverSmaller(parcel: Parcel, record: Outgoing, refusal: RefusedRecord): Promise<void> {
    let smaller = record
    for (let bytes = Buffer.byteLength(record.value) / 2; bytes >= SMALLEST_BYTES; bytes /= 2) {
      const shorter = shortened(parcel.entry, record, bytes)
      if (shorter === null) break
      if (shorter.value === smaller.value) continue
      smaller = shorter
      try {
        return await writer.send([smaller])
      } catch (error) {
        if (!(error instanceof RefusedRecord)) throw error
      }
    }
    // A topic that refuses even the shortest dead letter refuses them all: the topic is at fault, not the letter.
    if (parcel.entry.kind === 'dead-letter' && shortened(parcel.entry, record, SMALLEST_BYTES) !== null) throw refusal
    await park(record, refusal.message, parcel.entry)
  }

  /** Null for a record that can't be shortened: a verdict, or an entry of another version. */
  function shortened(entry: OutboxEntry, record: Outgoing, bytes: number): Outgoing | null {
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
   * With `atOnce` everything is first sent in one request; otherwise topic by topic, so that delivered records are not
   * sent again.
   */
  return async function deliver(parcels: readonly Parcel[], atOnce: boolean): Promise<void> {
    const unsent = parcels.flatMap(({ records, sent }) => records.filter((record) => !sent.has(record)))
    if (atOnce) {
      try {
        await writer.send(unsent)
        for (const { records, sent } of parcels) for (const record of records) sent.add(record)
        return
      } catch (error) {
        if (!(error instanceof RefusedRecord)) throw error
      }
    }
    for (const topic of new Set(unsent.map((record) => record.topic)))
      await deliverTo(
        parcels.flatMap((parcel) =>
          parcel.records.flatMap((record) =>
            record.topic === topic && !parcel.sent.has(record) ? [{ parcel, record }] : [],
          ),
        ),
      )
  }
}
