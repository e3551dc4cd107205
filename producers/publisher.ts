import { shortenedTranscript } from '../src/domain/transcript.ts'

import { type Verdict, verdict as verdictSchema } from '../src/domain/verdict.ts'
import type { Outbox, OutboxEntry } from '../src/ports/cases.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Report } from '../src/ports/report.ts'
import { type Outgoing, RefusedRecord, type TopicWriter } from '../src/ports/topic.ts'
import { deadLetterOf, shortenedLetter } from './dead-letter.ts'

export interface PublisherSettings {
  /** This publisher among all. */
  readonly name: string
  readonly topics: { readonly verdicts: string; readonly transcripts: string; readonly deadLetters: string }
}

/** Entries sent in one go. */
const SENT_AT_ONCE = 64
/** Entries sent in the last go before a stop; what is left then is for the next publisher. */
const LAST_SENT_AT_ONCE = 1_000
/** No more is taken while so many entries, or characters of them, wait for a topic that takes nothing. */
const MOST_IN_HAND = 5_000
const MOST_CHARACTERS_IN_HAND = 64_000_000
/** Wait for the first entry, in ms; it bounds how long a stop takes. */
const WAIT_MS = 500
/** An entry whose publisher said nothing for this long is another's, in ms. */
const ABANDONED_MS = 5_000
const STILL_SENDING_MS = 1_500
const ADOPT_EVERY_MS = 2_000
const RETRY_MS = 1_000
/** What is refused is halved until it is taken, down to this, in bytes. */
const SMALLEST_BYTES = 512

/** Of a publisher that holds nothing and has taken nothing for this long nothing is kept, in ms. */
const FORGOTTEN_MS = 600_000
const FORGET_EVERY_MS = 60_000

/** An entry on its way: its records in the order in which they are to stand, and those that are known to. */
interface Parcel {
  readonly entry: OutboxEntry
  readonly records: readonly Outgoing[]
  readonly sent: Set<Outgoing>
  /** Absent where another version wrote it. */
  readonly verdict?: Verdict
}

/**
 * Sends what the outbox holds to Kafka and takes it out once it is acknowledged: at least once, byte-identical, under the
 * same id. What another publisher left behind is adopted. Verdicts and dead letters wait for their topics apart. A record
 * that a broker refuses for good is shortened where it can be, and else stands among the dead letters as `refused`; a topic
 * that takes nothing is waited for, however long.
 */
export function publisher(deps: {
  outbox: Outbox
  writer: TopicWriter
  clock: Clock
  report: Report
  settings: PublisherSettings
}) {
  const { outbox, writer, clock, report, settings } = deps
  const { name, topics } = settings
  const lanes = { verdict: lane('verdict'), 'dead-letter': lane('dead-letter') }
  const all = Object.values(lanes)
  let stopping = false
  let running: Promise<unknown> = Promise.resolve()

  /** What goes one way. */
  function lane(what: 'verdict' | 'dead-letter') {
    const parcels: Parcel[] = []
    let held = false
    let wake = () => {}

    async function deliver(batch: readonly Parcel[]): Promise<void> {
      const unsent = batch.flatMap(({ records, sent }) => records.filter((record) => !sent.has(record)))
      // One request while all goes well; afterwards topic by topic, so that what stands is not sent again and again.
      if (!held) {
        try {
          await writer.send(unsent)
          for (const { records, sent } of batch) for (const record of records) sent.add(record)
          return
        } catch (error) {
          if (!(error instanceof RefusedRecord)) throw error
        }
      }
      for (const topic of new Set(unsent.map((record) => record.topic)))
        await deliverTo(
          batch.flatMap((parcel) =>
            parcel.records.flatMap((record) =>
              record.topic === topic && !parcel.sent.has(record) ? [{ parcel, record }] : [],
            ),
          ),
        )
    }

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

    /** Shortens a record until it is taken; what can't be shortened is put among the dead letters. */
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
      // A topic that refuses the shortest dead letter refuses all of them: that is its fault.
      if (parcel.entry.kind === 'dead-letter') throw refusal
      await park(record, refusal.message)
    }

    async function once(atOnce: number): Promise<void> {
      const batch = parcels.slice(0, atOnce)
      try {
        await deliver(batch)
      } catch (error) {
        tellHeld(true, error instanceof Error ? error.message : String(error))
        throw error
      }
      tellHeld(false, '')
      await outbox.done(batch.map(({ entry }) => entry))
      parcels.splice(0, batch.length)
      const published = clock()
      for (const { verdict } of batch) if (verdict !== undefined) tell(verdict, published)
    }

    function tellHeld(now: boolean, why: string): void {
      if (now !== held) report('publication:held', { what, held: now, why })
      held = now
    }

    return {
      parcels,
      put(parcel: Parcel): void {
        parcels.push(parcel)
        wake()
      },
      wake: () => wake(),
      once,
      /** Delivers until the stop. */
      async run(): Promise<void> {
        while (!stopping) {
          if (parcels.length === 0)
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          else
            try {
              await once(SENT_AT_ONCE)
            } catch (error) {
              report('trouble:met', { where: 'publisher', error })
              if (!stopping) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
            }
        }
      },
    }
  }

  /** Puts a record that no broker takes among the dead letters: its revision's number is used all the same. */
  async function park({ topic, key, value }: Outgoing, detail: string): Promise<void> {
    const place = { topic, partition: -1, offset: '-1' }
    const name = key === null ? null : String(key)
    const record = { ...place, key: name, value: Buffer.from(value), headers: {}, timestamp: clock() }
    await outbox.putDeadLetters([deadLetterOf(record, { reason: 'refused', detail })])
    report('message:dead', { ...place, reason: 'refused', detail })
  }

  function shortened(entry: OutboxEntry, record: Outgoing, bytes: number): Outgoing | null {
    const { value } = record
    if (typeof value !== 'string') return null
    if (record.topic === topics.transcripts) return { ...record, value: shortenedTranscript(value, bytes) }
    return entry.kind === 'dead-letter' ? { ...record, value: shortenedLetter(value, bytes) } : null
  }

  /** What is sent are the outbox's own bytes. */
  async function take(entry: OutboxEntry): Promise<void> {
    if (entry.kind === 'dead-letter') {
      const record = { topic: topics.deadLetters, key: entry.key, value: entry.letter }
      return lanes['dead-letter'].put({ entry, records: [record], sent: new Set() })
    }
    const json = entry.kind === 'verdict' ? entry.verdict : entry.json
    const read = entry.kind === 'verdict' ? readVerdict(entry.verdict) : null
    if (read === null || entry.kind !== 'verdict') {
      await park({ topic: topics.verdicts, key: entry.id, value: json }, 'this version of Gavel can’t read it')
      return outbox.done([entry])
    }
    const { subjectId, verdict } = read
    const records = [
      { topic: topics.transcripts, key: subjectId, value: entry.transcript },
      { topic: topics.verdicts, key: subjectId, value: entry.verdict },
    ]
    lanes.verdict.put({ entry, records, sent: new Set(), ...(verdict === null ? {} : { verdict }) })
  }

  function tell(verdict: Verdict, published: number): void {
    const sinceDecided = Math.max(0, published - Date.parse(verdict.timing.decidedAt))
    report('verdict:published', {
      verdict,
      latencySeconds: Math.max(0, published - Date.parse(verdict.timing.receivedAt)) / 1000,
      overheadSeconds: (verdict.timing.overheadMs + sinceDecided) / 1000,
    })
  }

  const inHand = () => all.flatMap(({ parcels }) => parcels)

  function hasRoom(): boolean {
    const parcels = inHand()
    const characters = parcels.reduce(
      (sum, { records }) => sum + records.reduce((own, { value }) => own + value.length, 0),
      0,
    )
    return parcels.length < MOST_IN_HAND && characters < MOST_CHARACTERS_IN_HAND
  }

  async function read(): Promise<void> {
    let [adopted, forgot, kept] = [0, 0, clock()]
    while (!stopping) {
      try {
        if (clock() - kept > STILL_SENDING_MS) {
          kept = clock()
          await outbox.keep(
            name,
            inHand().map(({ entry }) => entry.id),
          )
        }
        if (!hasRoom()) {
          await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
          continue
        }
        if (clock() - adopted > ADOPT_EVERY_MS) {
          adopted = clock()
          for (const entry of await outbox.adopt(name, SENT_AT_ONCE, ABANDONED_MS)) await takeOnce(entry)
        }
        if (clock() - forgot > FORGET_EVERY_MS) {
          forgot = clock()
          await outbox.forget(FORGOTTEN_MS)
        }
        for (const entry of await outbox.next(name, SENT_AT_ONCE, WAIT_MS)) await takeOnce(entry)
      } catch (error) {
        report('trouble:met', { where: 'publisher', error })
        if (!stopping) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  /** Its own that it could not keep for a while come back to it by adoption. */
  async function takeOnce(entry: OutboxEntry): Promise<void> {
    if (!inHand().some(({ entry: known }) => known.id === entry.id)) await take(entry)
  }

  return {
    start() {
      running = Promise.all([read(), ...all.map((own) => own.run())])
    },
    /** Sends once more what has been decided by now, as far as Kafka takes it, and ends. */
    async close() {
      stopping = true
      for (const { wake } of all) wake()
      await running
      for (const entry of await outbox.next(name, LAST_SENT_AT_ONCE, 0)) await take(entry)
      const last = await Promise.allSettled(
        all.map(({ parcels, once }) => (parcels.length === 0 ? undefined : once(parcels.length))),
      )
      for (const one of last)
        if (one.status === 'rejected') report('trouble:met', { where: 'publisher', error: one.reason })
      await outbox.leave(name)
    },
  }
}

/** A verdict as far as this version understands it; null where not even its subject can be told. */
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
