import type { z } from 'zod'
import type { Outcome } from '../src/domain/messages.ts'
import type { Outbox } from '../src/ports/cases.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Report } from '../src/ports/report.ts'
import type { StreamMark, StreamMarks } from '../src/ports/threads.ts'
import type { Batch, Incoming, TopicReader } from '../src/ports/topic.ts'
import { advanceMark, UNREAD } from '../src/threads/stream-clock.ts'
import { deadLetterOf, type Read, type ReadLimits, readMessage } from './read-message.ts'

export interface ReadOk<Message> {
  readonly message: Message
  readonly from: Incoming
}

/** What one topic's messages are and what is done with them. */
export interface Intake<Message extends { createdAt: number }> {
  readonly schema: z.ZodType<Message>
  /** Whether its messages are what the stream's clock goes by. */
  readonly clocked: boolean
  /** Makes the messages' effects durable; resolves to their outcomes, in order. */
  take(read: readonly ReadOk<Message>[]): Promise<Outcome[]>
}

/** An intake whose messages only it understands. */
export interface AnyIntake {
  readonly clocked: boolean
  readonly schema: z.ZodType<{ createdAt: number }>
  take(read: readonly ReadOk<never>[]): Promise<Outcome[]>
}

/** Messages, and bytes of them, handled between two signs of life to the group: a small batch can unpack to large ones. */
const HANDLED_AT_ONCE = { messages: 2_000, bytes: 4 * 2 ** 20 }

/**
 * From a batch of messages to durable effects: each message is read at the edge, taken by its topic's intake or put among
 * the dead letters, the stream's clock is moved, and only then is the batch done and its offset committed.
 */
export function intake(deps: {
  reader: TopicReader
  /** By topic name. */
  intakes: ReadonlyMap<string, AnyIntake>
  outbox: Outbox
  marks: StreamMarks
  limits: ReadLimits
  /** Told after each batch: something may have come due. */
  taken?: () => void
  clock: Clock
  report: Report
}) {
  const { reader, intakes, outbox, marks, limits, clock, report } = deps
  const held = new Map<string, StreamMark>()
  const lastTimestamp = new Map<string, number>()
  /** By partition the number of the last beginning or end of a batch. */
  const handled = new Map<string, number>()
  let batches = 0

  async function markOf(partition: string): Promise<StreamMark> {
    const known = held.get(partition)
    if (known !== undefined) return known
    const stored = (await marks.read()).get(partition) ?? UNREAD
    held.set(partition, stored)
    return stored
  }

  async function note(changed: ReadonlyMap<string, StreamMark>): Promise<void> {
    // Whoever writes next begins with these: writes reach the store in their order.
    for (const [partition, mark] of changed) held.set(partition, mark)
    try {
      await marks.write(changed)
    } catch (error) {
      // It may have been written all the same: the next one looks.
      for (const partition of changed.keys()) held.delete(partition)
      throw error
    }
  }

  async function settle(topic: string, part: readonly Incoming[], take: AnyIntake): Promise<number[]> {
    const now = clock()
    const read = part.map((from): Read<{ createdAt: number }> => readMessage(from, take.schema, limits, now))
    const good = read.flatMap((one): ReadOk<{ createdAt: number }>[] => (one.ok ? [one] : []))
    const bad = read.flatMap((one) => (one.ok ? [] : [one]))
    const outcomes = good.length === 0 ? [] : await take.take(good as ReadOk<never>[])
    if (bad.length > 0)
      await outbox.putDeadLetters(bad.map(({ from, reason, detail }) => deadLetterOf(from, { reason, detail })))
    for (const { from, reason, detail } of bad)
      report('message:dead', { topic, partition: from.partition, offset: from.offset, reason, detail })
    const counts = Map.groupBy([...outcomes, ...bad.map(() => 'dead-letter' as const)], (outcome) => outcome)
    for (const [outcome, all] of counts) report('messages:settled', { topic, outcome, count: all.length })
    return good.map(({ message }) => message.createdAt)
  }

  async function handle(batch: Batch, alive: () => Promise<void>): Promise<void> {
    const take = intakes.get(batch.topic)
    if (take === undefined) throw new Error(`nobody takes the topic ${batch.topic}`)
    const partition = partitionKey(batch)
    handled.set(partition, ++batches)
    const known = await markOf(partition)
    const last = batch.messages.at(-1)
    // What holds no message brings nothing that the clock would wait for.
    let mark: StreamMark = last === undefined ? known : { ...known, endSince: null }
    // Before its first effect: a clock that takes the partition for read would go on without the rest.
    if (take.clocked && mark !== known && known.endSince !== null) await note(new Map([[partition, mark]]))
    for (const part of parts(batch.messages)) {
      for (const createdAt of await settle(batch.topic, part, take)) mark = advanceMark(mark, createdAt)
      await alive()
    }
    if (take.clocked) {
      if (batch.atEnd) mark = { ...mark, endSince: mark.endSince ?? clock(), seenAt: clock() }
      await note(new Map([[partition, mark]]))
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
    for (const partition of held.keys()) if (!own.has(partition)) held.delete(partition)
    for (const position of positions) {
      if (intakes.get(position.topic)?.clocked !== true) continue
      const partition = partitionKey(position)
      const mark = await markOf(partition)
      if (position.lag === 0) changed.set(partition, { ...mark, endSince: mark.endSince ?? asked, seenAt: asked })
      if (position.lag > 0 && mark.endSince !== null) changed.set(partition, { ...mark, endSince: null })
    }
    for (const partition of changed.keys()) if ((handled.get(partition) ?? 0) > before) changed.delete(partition)
    await note(changed)
    for (const topic of intakes.keys()) {
      const parts = positions.filter((position) => position.topic === topic)
      const messages = parts.reduce((sum, { lag }) => sum + lag, 0)
      const seconds = messages === 0 ? 0 : Math.max(0, clock() - (lastTimestamp.get(topic) ?? clock())) / 1000
      report('kafka:lag', { topic, messages, seconds })
    }
  }

  return { start: () => reader.start(handle), watch }
}

/** The messages in their order, in parts that are handled at once. */
function* parts(messages: readonly Incoming[]): Generator<Incoming[]> {
  let [part, bytes]: [Incoming[], number] = [[], 0]
  for (const message of messages) {
    const size = message.value?.length ?? 0
    if (part.length >= HANDLED_AT_ONCE.messages || (part.length > 0 && bytes + size > HANDLED_AT_ONCE.bytes)) {
      yield part
      ;[part, bytes] = [[], 0]
    }
    part.push(message)
    bytes += size
  }
  if (part.length > 0) yield part
}

function partitionKey({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}/${partition}`
}
