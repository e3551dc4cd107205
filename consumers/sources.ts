import { setImmediate as others, setTimeout as sleep } from 'node:timers/promises'
import { deadLetterOf, shortenedLetter } from '../producers/dead-letter.ts'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { Report, SourceOutcome } from '../src/contracts/ports/report.ts'
import {
  type BackgroundRunner,
  type Heartbeat,
  type IncomingMessage,
  type MessageBatch,
  type OutgoingMessage,
  RefusedRecord,
  type TopicReader,
  type TopicWriter,
} from '../src/contracts/ports/topic.ts'
import type { TopicMapping } from '../src/mapping/mapping.ts'
import type { MappedMessage, MappedTopic } from '../src/mapping/messages.ts'
import type { RecordMapping } from '../src/mapping/source.ts'
import { CORRUPT_BATCH } from '../src/stream/record.ts'
import { RegistryAway } from '../src/stream/schema-registry.ts'
import type { DecodeValue } from './registry-values.ts'
import { MAPPING_HEADER, SOURCE_HEADER, sourceOf } from './source-place.ts'

/** Records mapped together, between two heartbeats: at most so many, and so many bytes. */
const MAPPED_AT_ONCE = { records: 500, bytes: 2 ** 17 }
/** After a record until which mapping took so long, in ms, all else has its turn, and the group hears of this reader. */
const TURN_MS = 20
/** A record that another process maps for longer, in ms, and all behind it, are waited for while other partitions are read. */
const LONG_MS = 300
/** Bytes of its record that a letter keeps where its topic takes no longer one. */
const SHORT_LETTER_BYTES = 4_096

/** What records of the sources are handled with. */
interface SourcesContext {
  readonly mappings: ReadonlyMap<string, TopicMapping>
  readonly topics: Readonly<Record<MappedTopic | 'deadLetters', string>>
  readonly writer: TopicWriter
  /** Decodes values in a registry's frame; absent where no topic has them. */
  readonly decode?: DecodeValue | undefined
  readonly report: Report
}

/** Wait before a registry that is away is asked again, and how often that is told, in ms. */
const [ASK_AGAIN_MS, TOLD_EVERY_MS] = [1_000, 60_000]

/**
 * Maps the records of the sources to messages on the input topics, as a group of its own. An offset is committed when Kafka has
 * acknowledged all that its record gave: messages, or a dead letter. Whoever reads them after a crash tells by their headers which came before.
 */
export function sourcesConsumer(context: SourcesContext & { readonly reader: TopicReader }) {
  const { reader } = context
  return {
    start: () => reader.start((...given) => mapBatch(context, ...given)),
    setPaused: (paused: boolean) => reader.setPaused(paused),
    get downSince() {
      return reader.downSince
    },
    close: () => reader.close(),
  }
}

/**
 * Maps a batch. kafkajs fetches nothing of a broker until it is done with all that came at once: what takes long in a process of its own
 * goes on behind it, and holds its own partition alone.
 */
async function mapBatch(
  context: SourcesContext,
  batch: MessageBatch,
  heartbeat: Heartbeat,
  runInBackground: BackgroundRunner,
): Promise<void> {
  const mapping = context.mappings.get(batch.topic)
  if (mapping === undefined) throw new Error(`no mapping for topic ${batch.topic}`)
  const long = Promise.withResolvers<'long'>()
  let beat = heartbeat
  const begun = mapParts(context, mapping, batch, {
    heartbeat: () => beat(),
    waitsLong: () => mapping.isApart && long.resolve('long'),
  })
  if ((await Promise.race([begun, long.promise])) !== 'long') return
  beat = async () => {
    if (batch.isOurs?.() === false) throw new NotOurs()
  }
  const ended = begun.catch((error: unknown) => {
    if (!(error instanceof NotOurs)) throw error
  })
  runInBackground(() => ended, { holdsPartition: true })
}

/** Another reader maps the rest. */
class NotOurs extends Error {
  override readonly name = 'NotOurs'
}

async function mapParts(
  context: SourcesContext,
  mapping: TopicMapping,
  batch: MessageBatch,
  { heartbeat, waitsLong }: { heartbeat: Heartbeat; waitsLong: () => void },
): Promise<void> {
  const { report } = context
  let [sending, since] = [Promise.resolve(), performance.now()]
  for (const part of partsOf(batch.messages)) {
    const counts = { mapped: 0, 'passed-over': 0, unmapped: 0 }
    const records: (readonly [IncomingMessage, readonly OutgoingMessage[]])[] = []
    // A thread has the next record as soon as it is done with one.
    const begun = mapping.isApart && mapping.format === 'json' ? part.map(async (from) => mapping.map(from)) : []
    // Whoever waits for one hears of its failure; of those behind it nobody does.
    for (const one of begun) one.catch(() => undefined)
    for (const [nth, from] of part.entries()) {
      const made = unreadable(from) ?? begun[nth] ?? mapped(context, mapping, from, heartbeat)
      const read = made instanceof Promise ? await noticed(made, waitsLong) : made
      const isLong = performance.now() - since > TURN_MS
      if (isLong) await others()
      // One record may take two seconds.
      if (isLong || made instanceof Promise) await heartbeat()
      if (isLong) since = performance.now()
      if (!read.ok) counts.unmapped++
      else counts[read.messages.length === 0 ? 'passed-over' : 'mapped']++
      records.push([
        from,
        read.ok ? messagesOf(context, mapping.hash, from, read.messages) : [letter(context, from, read.why)],
      ])
    }
    // While a part is on its way the next is mapped. One at a time is sent: they stay in order.
    await sending
    sending = send(context, records).then(() => {
      for (const [outcome, count] of Object.entries(counts))
        if (count > 0) report('source:read', { topic: batch.topic, outcome: outcome as SourceOutcome, count }) // its own keys
    })
    // It is waited for above or below; if mapping fails before, that is what is told.
    sending.catch(() => undefined)
    await heartbeat()
  }
  await sending
}

/** A record's mapping; `waitsLong` is called if it is long in coming. */
async function noticed(made: Promise<RecordMapping>, waitsLong: () => void): Promise<RecordMapping> {
  const timer = setTimeout(waitsLong, LONG_MS)
  try {
    return await made
  } finally {
    clearTimeout(timer)
  }
}

/** Why a record can't be read at all. */
function unreadable({ headers, headersCut }: IncomingMessage): RecordMapping | undefined {
  const why = entryOf(headers, CORRUPT_BATCH) ?? headersCut
  return why === undefined ? undefined : { ok: false, why }
}

function mapped(
  context: SourcesContext,
  mapping: TopicMapping,
  from: IncomingMessage,
  heartbeat: Heartbeat,
): RecordMapping | Promise<RecordMapping> {
  if (mapping.format === 'json' || from.value === null) return mapping.map(from)
  return decodedAndMapped(context, mapping, { ...from, value: from.value }, heartbeat)
}

async function decodedAndMapped(
  { decode, report }: SourcesContext,
  mapping: TopicMapping,
  from: IncomingMessage & { readonly value: Buffer },
  heartbeat: Heartbeat,
): Promise<RecordMapping> {
  if (decode === undefined) throw new Error('no registry for a topic that needs one')
  for (let toldAt = Number.NEGATIVE_INFINITY; ; ) {
    try {
      const decoded = await decode(from.value, from.topic)
      return decoded.ok ? await mapping.map(from, decoded) : decoded
    } catch (error) {
      if (!(error instanceof RegistryAway)) throw error
      if (performance.now() - toldAt > TOLD_EVERY_MS) {
        report('error', { where: 'sources registry', error })
        toldAt = performance.now()
      }
    }
    await sleep(ASK_AGAIN_MS)
    // Rejects when this reader is no longer the one to wait.
    await heartbeat()
  }
}

/** The messages of a record, each with where it comes from, so that it counts once however often it is sent. */
function messagesOf(
  { topics }: SourcesContext,
  hash: string,
  from: IncomingMessage,
  messages: readonly MappedMessage[],
): OutgoingMessage[] {
  const traceparent = entryOf(from.headers, 'traceparent')
  return messages.map(({ topic, key, value }, nth) => ({
    topic: topics[topic],
    key,
    value,
    headers: {
      [SOURCE_HEADER]: sourceOf(from, nth),
      [MAPPING_HEADER]: hash,
      ...(traceparent === undefined ? {} : { traceparent }),
    },
  }))
}

function letter({ topics, report }: SourcesContext, from: IncomingMessage, why: string): OutgoingMessage {
  const { topic, partition, offset } = from
  const detail = why.slice(0, 800)
  report('message:dead', { topic, partition, offset, reason: 'unmapped', detail })
  const { key, letter: value } = deadLetterOf(from, { reason: 'unmapped', detail })
  return { topic: topics.deadLetters, key, value }
}

/** Sends what all these records gave. If a broker refuses one as too large, record by record, and that one's letter instead. */
async function send(
  context: SourcesContext,
  records: readonly (readonly [IncomingMessage, readonly OutgoingMessage[]])[],
): Promise<void> {
  const { writer, topics } = context
  try {
    await writer.send(records.flatMap(([, outgoing]) => outgoing))
    return
  } catch (error) {
    if (!(error instanceof RefusedRecord)) throw error
  }
  for (const [from, outgoing] of records)
    try {
      await writer.send(outgoing)
    } catch (error) {
      if (!(error instanceof RefusedRecord)) throw error
      const own =
        outgoing.find(({ topic }) => topic === topics.deadLetters) ??
        letter(context, from, `a broker refuses what it gives as too large: ${error.message}`)
      await writer.send([{ ...own, value: shortenedLetter(String(own.value), SHORT_LETTER_BYTES) ?? own.value }])
    }
}

/** The records in order, in parts that are mapped and sent together. */
function* partsOf(messages: readonly IncomingMessage[]): Generator<readonly IncomingMessage[]> {
  let [part, bytes]: [IncomingMessage[], number] = [[], 0]
  for (const message of messages) {
    const size = message.value?.length ?? 0
    if (part.length >= MAPPED_AT_ONCE.records || (part.length > 0 && bytes + size > MAPPED_AT_ONCE.bytes)) {
      yield part
      ;[part, bytes] = [[], 0]
    }
    part.push(message)
    bytes += size
  }
  if (part.length > 0) yield part
}
