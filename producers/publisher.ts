import { jsonOf } from '../src/service/domain/json-of.ts'
import { deadLetter } from '../src/service/domain/messages.ts'
import { type Verdict, verdict as verdictSchema } from '../src/service/domain/verdict.ts'
import type { Outbox, OutboxEntry } from '../src/service/ports/cases.ts'
import type { Clock } from '../src/service/ports/clock.ts'
import { casesNamed, type Report } from '../src/service/ports/report.ts'
import type { TopicWriter } from '../src/service/ports/topic.ts'
import { caseIdsOf, delivery, type Parcel, type Park, type PublishedTopics, parking } from './delivery.ts'
import { type Lane, lane, RETRY_MS, SENT_AT_ONCE } from './lane.ts'

export interface PublisherSettings {
  /** This publisher's name, unique among all. */
  readonly name: string
  readonly topics: PublishedTopics
}

/** Most entries still taken for the last delivery before a stop; the rest is left to another publisher. */
const LAST_SENT_AT_ONCE = 1_000
/**
 * No more entries are taken from the outbox while this many entries, or characters of them, wait for their topics: a process has
 * some 190 MB for all that it does.
 */
const MOST_IN_HAND = 5_000
const MOST_CHARACTERS_IN_HAND = 32_000_000
/** Longest wait for the first entry, in ms; it bounds how long a stop takes. */
const WAIT_MS = 500
/** An entry is adopted when the publisher that took it has sent no heartbeat for it for this long, in ms. */
const ABANDONED_MS = 5_000
/** How often this publisher sends that heartbeat, in ms. */
const STILL_SENDING_MS = 1_500
const ADOPT_EVERY_MS = 2_000

/** The store forgets a publisher that has no entries and has taken none for this long, in ms. */
const FORGOTTEN_MS = 600_000
const FORGET_EVERY_MS = 60_000

/**
 * Sends outbox entries to Kafka, and removes them once they are acknowledged: at least once, byte-identical, with the
 * same id. Adopts entries that a dead publisher left behind. Verdicts and dead letters wait for their topics separately.
 * A record that a broker permanently refuses is shortened if possible, and otherwise becomes a `refused` dead letter; a
 * topic that accepts nothing is retried without end.
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
  const park = parking({ outbox, clock, report })
  const sending = { deliver: delivery({ writer, park, topics }), outbox, clock, report, stopping: () => stopping }
  const lanes = { verdict: lane('verdict', sending), 'dead-letter': lane('dead-letter', sending) }
  const all: readonly Lane[] = Object.values(lanes)
  let stopping = false
  let running: Promise<unknown> = Promise.resolve()

  const inHand = () => all.flatMap(({ parcels }) => parcels)

  async function take(entry: OutboxEntry): Promise<void> {
    const parcel = await parcelOf(entry, topics, park)
    if (parcel === null) return outbox.done([entry])
    lanes[parcel.entry.kind === 'dead-letter' ? 'dead-letter' : 'verdict'].put(parcel)
  }

  /** A publisher may re-adopt its own entries after missing heartbeats. */
  async function takeOnce(entry: OutboxEntry): Promise<void> {
    if (!inHand().some(({ entry: known }) => known.id === entry.id)) await take(entry)
  }

  async function read(): Promise<void> {
    let [adopted, forgot, kept] = [0, 0, clock()]
    report('loop:succeeded', { loop: 'publisher' })
    while (!stopping) {
      try {
        if (clock() - kept > STILL_SENDING_MS) {
          kept = clock()
          await outbox.heartbeat(
            name,
            inHand().map(({ entry }) => entry.id),
          )
        }
        if (!hasRoom(inHand())) {
          await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
          report('loop:succeeded', { loop: 'publisher' })
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
        report('loop:succeeded', { loop: 'publisher' })
      } catch (error) {
        report('error', { where: 'publisher', error })
        if (!stopping) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  async function takeLast(): Promise<void> {
    for (const entry of await outbox.next(name, LAST_SENT_AT_ONCE, 0)) await take(entry)
  }

  return {
    start() {
      running = Promise.all([read(), ...all.map((own) => own.run())])
    },
    /** Tries once more to send what has been decided so far, then ends; failures are reported. */
    async close() {
      stopping = true
      for (const { wake } of all) wake()
      await running
      const flushAll = () => Promise.all(all.map(({ flush }) => attempt(flush)))
      for (const step of [takeLast, flushAll, () => outbox.leave(name)]) await attempt(step)
    },
  }

  async function attempt(step: () => Promise<unknown>): Promise<void> {
    try {
      await step()
    } catch (error) {
      report('error', { where: 'publisher', error, ...casesNamed(caseIdsOf(inHand())) })
    }
  }
}

function hasRoom(parcels: readonly Parcel[]): boolean {
  const characters = parcels.reduce(
    (sum, { records }) => sum + records.reduce((own, { value }) => own + value.length, 0),
    0,
  )
  return parcels.length < MOST_IN_HAND && characters < MOST_CHARACTERS_IN_HAND
}

/** The outbox's own bytes are sent. An entry that this version can't read is parked: null. */
async function parcelOf(entry: OutboxEntry, topics: PublishedTopics, park: Park): Promise<Parcel | null> {
  if (entry.kind === 'dead-letter') {
    const headers = letterHeaders(entry.letter)
    const record = { topic: topics.deadLetters, key: entry.key, value: entry.letter, headers }
    return { entry, records: [record], sent: new Set() }
  }
  const json = entry.kind === 'verdict' ? entry.verdict : entry.json
  const read = entry.kind === 'verdict' ? readVerdict(entry.verdict) : null
  if (read === null || entry.kind !== 'verdict') {
    await park({ topic: topics.verdicts, key: entry.id, value: json }, 'this version of Gavel can’t read it', entry)
    return null
  }
  const { subjectId, verdict } = read
  const headers = verdict === null ? {} : headersOf(verdict)
  const records = [
    { topic: topics.transcripts, key: subjectId, value: entry.transcript, headers },
    { topic: topics.verdicts, key: subjectId, value: entry.verdict, headers },
  ]
  return { entry, records, sent: new Set(), ...(verdict === null ? {} : { verdict }) }
}

/** The same of a dead letter; none if another version wrote it in a form that this one can't read. */
function letterHeaders(json: string): Readonly<Record<string, string>> {
  const read = deadLetter.safeParse(jsonOf({ value: json }))
  if (!read.success) return {}
  const { schema, reason, topic } = read.data
  return { 'gavel-schema': String(schema), 'gavel-reason': reason, 'gavel-topic': topic }
}

/** What consumers filter by without parsing the record. */
function headersOf({ schema, protocol, revision, final, tenant }: Verdict): Readonly<Record<string, string>> {
  return {
    'gavel-schema': String(schema),
    'gavel-protocol': protocol,
    'gavel-revision': String(revision),
    'gavel-final': String(final),
    'gavel-tenant': tenant,
  }
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
