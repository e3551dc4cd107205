import type { z } from 'zod'
import { deadLetterOf } from '../producers/dead-letter.ts'
import type { Outcome } from '../src/domain/messages.ts'
import type { Post, ThreadRef } from '../src/domain/thread.ts'
import type { Outbox } from '../src/ports/cases.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Report } from '../src/ports/report.ts'
import type { StreamMark, StreamMarks } from '../src/ports/threads.ts'
import type { Batch, Incoming, TopicReader } from '../src/ports/topic.ts'
import { advanceMark, UNREAD } from '../src/threads/stream-clock.ts'
import { type Read, type ReadLimits, readMessage } from './read-message.ts'

export interface ReadOk<Message> {
  readonly message: Message
  readonly from: Incoming
}

/** What one topic's messages are, what they are about and what is done with them. */
export interface Intake<Message extends { createdAt: number }> {
  readonly schema: z.ZodType<Message>
  /** Whether its messages are what the stream's clock goes by. */
  readonly clocked: boolean
  /** Whose thread the message belongs to. */
  subjectOf(message: Message): ThreadRef
  /** The post or reply as its thread keeps it; null for a comment and for a deletion. */
  postOf(message: Message): Post | null
  /** Makes the messages' effects durable; resolves to their outcomes, in order. */
  take(read: readonly ReadOk<Message>[]): Promise<Outcome[]>
}

/** The intake of one topic, whose messages only it understands: they go in as Kafka's bytes, and come out as effects. */
export interface TopicIntake {
  readonly clocked: boolean
  read(incoming: readonly Incoming[], limits: ReadLimits, now: number): ReadBatch
}

/** Messages that were read at the edge, and nothing done yet. */
export interface ReadBatch {
  readonly good: readonly GoodMessage[]
  readonly bad: readonly BadMessage[]
  /** Makes the effects of the good ones durable that are `wanted`; resolves to their outcomes, in order. */
  take(wanted?: (one: GoodMessage) => boolean): Promise<Outcome[]>
}

/** A message that could be read, as whoever does not know its topic sees it. */
export interface GoodMessage {
  readonly from: Incoming
  /** ms since 1970 */
  readonly createdAt: number
  /** As of {@link Intake}. */
  subject(): ThreadRef
  post(): Post | null
}

export type BadMessage = Extract<Read<never>, { ok: false }>

/** The intake of a topic, with the type of its messages closed in. */
export function topicIntake<Message extends { createdAt: number }>(intake: Intake<Message>): TopicIntake {
  const { schema, clocked } = intake
  return {
    clocked,
    read(incoming, limits, now) {
      const all = incoming.map((from) => readMessage(from, schema, limits, now))
      const read = all.flatMap((one) => (one.ok ? [{ one, message: toGoodMessage(one, intake) }] : []))
      return {
        good: read.map(({ message }) => message),
        bad: all.flatMap((one) => (one.ok ? [] : [one])),
        async take(wanted) {
          const taken = wanted === undefined ? read : read.filter((each) => wanted(each.message))
          return taken.length === 0 ? [] : intake.take(taken.map(({ one }) => one))
        },
      }
    },
  }
}

function toGoodMessage<Message extends { createdAt: number }>(
  { message, from }: ReadOk<Message>,
  intake: Pick<Intake<Message>, 'subjectOf' | 'postOf'>,
): GoodMessage {
  const { createdAt } = message
  return { from, createdAt, subject: () => intake.subjectOf(message), post: () => intake.postOf(message) }
}

/** Messages, and bytes of them, handled between two heartbeats: a small batch can unpack to large ones. */
const HANDLED_AT_ONCE = { messages: 2_000, bytes: 4 * 2 ** 20 }

/**
 * From a batch of messages to durable effects: each message is read at the edge, taken by its topic's intake or put among
 * the dead letters, the stream's clock is moved, and only then is the batch done and its offset committed.
 */
export function intake(deps: {
  reader: TopicReader
  /** By topic name. */
  intakes: ReadonlyMap<string, TopicIntake>
  outbox: Outbox
  marks: StreamMarks
  limits: ReadLimits
  /** Told after each batch: something may have come due. */
  taken?: () => void
  clock: Clock
  report: Report
}) {
  const { reader, intakes, outbox, marks, limits, clock, report } = deps
  const known = knownMarks(marks)
  const lastTimestamp = new Map<string, number>()
  /** By partition the number of the last beginning or end of a batch. */
  const handled = new Map<string, number>()
  let batches = 0

  /** Makes what a chunk of a batch brings durable, dead letters included; returns the good messages' times. */
  async function settle(topic: string, chunk: readonly Incoming[], own: TopicIntake): Promise<number[]> {
    const { good, bad, take } = own.read(chunk, limits, clock())
    const outcomes = await take()
    if (bad.length > 0)
      await outbox.putDeadLetters(bad.map(({ from, reason, detail }) => deadLetterOf(from, { reason, detail })))
    for (const { from, reason, detail } of bad)
      report('message:dead', { topic, partition: from.partition, offset: from.offset, reason, detail })
    const counts = Map.groupBy([...outcomes, ...bad.map(() => 'dead-letter' as const)], (outcome) => outcome)
    for (const [outcome, all] of counts) report('messages:settled', { topic, outcome, count: all.length })
    return good.map(({ createdAt }) => createdAt)
  }

  async function handle(batch: Batch, heartbeat: () => Promise<void>): Promise<void> {
    const own = intakes.get(batch.topic)
    if (own === undefined) throw new Error(`no handler for topic ${batch.topic}`)
    const partition = partitionKey(batch)
    handled.set(partition, ++batches)
    const before = await known.of(partition)
    const last = batch.messages.at(-1)
    // What holds no message brings nothing that the clock would wait for.
    let mark: StreamMark = last === undefined ? before : { ...before, endSince: null }
    // Before its first effect: a clock that takes the partition for read would go on without the rest.
    if (own.clocked && mark !== before && before.endSince !== null) await known.write(new Map([[partition, mark]]))
    for (const chunk of chunks(batch.messages)) {
      for (const createdAt of await settle(batch.topic, chunk, own)) mark = advanceMark(mark, createdAt)
      await heartbeat()
    }
    if (own.clocked) {
      if (batch.atEnd) mark = { ...mark, endSince: mark.endSince ?? clock(), seenAt: clock() }
      await known.write(new Map([[partition, mark]]))
    }
    handled.set(partition, ++batches)
    if (last === undefined) return
    deps.taken?.()
    lastTimestamp.set(batch.topic, last.timestamp)
  }

  /** Notes which partitions have been read to their end, also those that never had a message, and tells the lag. */
  async function watch(): Promise<void> {
    // What comes while Kafka is asked is not in its answer.
    const [asked, before] = [clock(), batches]
    const positions = await reader.positions()
    const changed = new Map<string, StreamMark>()
    const own = new Set(positions.map(partitionKey))
    known.forgetBut(own)
    for (const position of positions) {
      if (intakes.get(position.topic)?.clocked !== true) continue
      const partition = partitionKey(position)
      const mark = await known.of(partition)
      if (position.lag === 0) changed.set(partition, { ...mark, endSince: mark.endSince ?? asked, seenAt: asked })
      if (position.lag > 0 && mark.endSince !== null) changed.set(partition, { ...mark, endSince: null })
    }
    for (const partition of changed.keys()) if ((handled.get(partition) ?? 0) > before) changed.delete(partition)
    await known.write(changed)
    for (const topic of intakes.keys()) {
      const own = positions.filter((position) => position.topic === topic)
      const messages = own.reduce((sum, { lag }) => sum + lag, 0)
      const seconds = messages === 0 ? 0 : Math.max(0, clock() - (lastTimestamp.get(topic) ?? clock())) / 1000
      report('kafka:lag', { topic, messages, seconds })
    }
  }

  return { start: () => reader.start(handle), watch }
}

/** The stream's marks by partition, as they were last written or read here. */
function knownMarks(marks: StreamMarks) {
  const known = new Map<string, StreamMark>()
  return {
    async of(partition: string): Promise<StreamMark> {
      const own = known.get(partition)
      if (own !== undefined) return own
      const stored = (await marks.read()).get(partition) ?? UNREAD
      known.set(partition, stored)
      return stored
    },
    async write(changed: ReadonlyMap<string, StreamMark>): Promise<void> {
      // Whoever writes next begins with these: writes reach the store in their order.
      for (const [partition, mark] of changed) known.set(partition, mark)
      try {
        await marks.write(changed)
      } catch (error) {
        // It may have been written all the same: the next one looks.
        for (const partition of changed.keys()) known.delete(partition)
        throw error
      }
    },
    /** Other processes write the marks of other partitions. */
    forgetBut(partitions: ReadonlySet<string>): void {
      for (const partition of known.keys()) if (!partitions.has(partition)) known.delete(partition)
    },
  }
}

/** The messages in their order, in chunks that are handled at once. */
function* chunks(messages: readonly Incoming[]): Generator<Incoming[]> {
  let [chunk, bytes]: [Incoming[], number] = [[], 0]
  for (const message of messages) {
    const size = message.value?.length ?? 0
    if (chunk.length >= HANDLED_AT_ONCE.messages || (chunk.length > 0 && bytes + size > HANDLED_AT_ONCE.bytes)) {
      yield chunk
      ;[chunk, bytes] = [[], 0]
    }
    chunk.push(message)
    bytes += size
  }
  if (chunk.length > 0) yield chunk
}

function partitionKey({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`
}
