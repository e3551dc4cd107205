import type { z } from 'zod'
import { deadLetterOf } from '../producers/dead-letter.ts'
import type { Outcome } from '../src/service/domain/messages.ts'
import type { Post, ThreadRef } from '../src/service/domain/thread.ts'
import type { Outbox } from '../src/service/ports/cases.ts'
import type { Clock } from '../src/service/ports/clock.ts'
import type { Report } from '../src/service/ports/report.ts'
import type { StreamMark, StreamMarks } from '../src/service/ports/threads.ts'
import type { Batch, Incoming, Later, TopicReader } from '../src/service/ports/topic.ts'
import { advanceMark, UNREAD } from '../src/service/threads/stream-clock.ts'
import { type Read, type ReadLimits, readMessage } from './read-message.ts'

/**
 * Says that work on messages goes on: one message may mean any amount of it. Rejects if this reader is no longer the one to do it.
 */
export type Heartbeat = () => Promise<void>

export interface ReadOk<Message> {
  readonly message: Message
  readonly from: Incoming
}

/** How one topic's messages are parsed, which subjects they belong to, and how they are processed. */
export interface Intake<Message extends { createdAt: number }> {
  readonly schema: z.ZodType<Message>
  /** Whether its messages drive the stream's clock. */
  readonly clocked: boolean
  /** The thread that the message belongs to. */
  subjectOf(message: Message): ThreadRef
  /** The post or reply as its thread stores it; null for a comment and for a deletion. */
  postOf(message: Message): Post | null
  /**
   * Makes the messages' effects durable; resolves to their outcomes, in order. Beats between the steps of a long one. What
   * follows from them elsewhere is begun `later`, or done as well where that is left out.
   */
  take(read: readonly ReadOk<Message>[], heartbeat: Heartbeat, later?: Later): Promise<Outcome[]>
}

/** The intake of one topic, with its message type hidden: Kafka's bytes go in, effects come out. */
export interface TopicIntake {
  readonly clocked: boolean
  read(incoming: readonly Incoming[], limits: ReadLimits, now: number): ReadBatch
}

/** Messages that have been parsed but not processed. */
export interface ReadBatch {
  readonly good: readonly GoodMessage[]
  readonly bad: readonly BadMessage[]
  /** Makes the effects of the wanted good messages durable; resolves to their outcomes, in order. */
  take(wanted?: (one: GoodMessage) => boolean, heartbeat?: Heartbeat, later?: Later): Promise<Outcome[]>
}

/** A parsed message, as seen by code that does not know its topic. */
export interface GoodMessage {
  readonly from: Incoming
  /** ms since 1970 */
  readonly createdAt: number
  /** As in {@link Intake}. */
  subject(): ThreadRef
  post(): Post | null
}

export type BadMessage = Extract<Read<never>, { ok: false }>

/** Hides an intake's message type behind `TopicIntake`. */
export function topicIntake<Message extends { createdAt: number }>(intake: Intake<Message>): TopicIntake {
  const { schema, clocked } = intake
  return {
    clocked,
    read(incoming, limits, now) {
      const good: ParsedMessage<Message>[] = []
      const bad: BadMessage[] = []
      for (const from of incoming) {
        const one = readMessage(from, schema, limits, now)
        if (one.ok) good.push(new ParsedMessage(one.message, from, intake))
        else bad.push(one)
      }
      return {
        good,
        bad,
        async take(wanted, heartbeat = async () => {}, later) {
          const taken = wanted === undefined ? good : good.filter(wanted)
          return taken.length === 0 ? [] : intake.take(taken, heartbeat, later)
        },
      }
    },
  }
}

/** A class, so that a message takes one object: functions of its own for each of them would be most of what is allocated. */
class ParsedMessage<Message extends { createdAt: number }> implements ReadOk<Message>, GoodMessage {
  readonly message: Message
  readonly from: Incoming
  readonly #intake: Pick<Intake<Message>, 'subjectOf' | 'postOf'>

  constructor(message: Message, from: Incoming, intake: Pick<Intake<Message>, 'subjectOf' | 'postOf'>) {
    this.message = message
    this.from = from
    this.#intake = intake
  }

  get createdAt(): number {
    return this.message.createdAt
  }

  subject(): ThreadRef {
    return this.#intake.subjectOf(this.message)
  }

  post(): Post | null {
    return this.#intake.postOf(this.message)
  }
}

/**
 * Most messages, and bytes, handled together, between two heartbeats: what they need is gone before the young space is collected
 * (docs/bench.md), and a small batch can decompress to large messages. They are parsed in one piece, and a kilobyte of short
 * values takes up to half a millisecond.
 */
const HANDLED_AT_ONCE = { messages: 250, bytes: 2 ** 17 }

/**
 * From a batch of messages to durable effects: each message is parsed and passed to its topic's intake, or becomes a
 * dead letter; the stream's clock is advanced; only then is the batch done and its offset committed.
 */
export function intake(deps: {
  reader: TopicReader
  /** By topic name. */
  intakes: ReadonlyMap<string, TopicIntake>
  outbox: Outbox
  marks: StreamMarks
  limits: ReadLimits
  /** Called after each batch: something may have become due. */
  taken?: () => void
  clock: Clock
  report: Report
}) {
  const { reader, intakes, outbox, marks, limits, clock, report } = deps
  const known = knownMarks(marks)
  /** By partition: the sequence number of the last start or end of a batch. */
  const handled = new Map<string, number>()
  let batches = 0

  /** Makes the effects of one chunk durable, dead letters included; returns the creation times of the good messages. */
  async function settle(
    topic: string,
    chunk: readonly Incoming[],
    own: TopicIntake,
    heartbeat: Heartbeat,
    later: Later,
  ): Promise<number[]> {
    const { good, bad, take } = own.read(chunk, limits, clock())
    const following: (() => Promise<unknown>)[] = []
    const outcomes = await take(undefined, heartbeat, (work) => void following.push(work))
    if (bad.length > 0)
      await outbox.putDeadLetters(bad.map(({ from, reason, detail }) => deadLetterOf(from, { reason, detail })))
    for (const { from, reason, detail } of bad)
      report('message:dead', { topic, partition: from.partition, offset: from.offset, reason, detail })
    const counts = Map.groupBy([...outcomes, ...bad.map(() => 'dead-letter' as const)], (outcome) => outcome)
    const settled = () => {
      for (const [outcome, all] of counts) report('messages:settled', { topic, outcome, count: all.length })
    }
    if (following.length === 0) settled()
    // Until then they are read again if this process dies.
    else later(() => Promise.all(following.map((work) => work())).then(settled))
    return good.map(({ createdAt }) => createdAt)
  }

  async function handle(batch: Batch, heartbeat: () => Promise<void>, later: Later): Promise<void> {
    const own = intakes.get(batch.topic)
    if (own === undefined) throw new Error(`no handler for topic ${batch.topic}`)
    const partition = partitionKey(batch)
    handled.set(partition, ++batches)
    const before = await known.of(partition)
    const last = batch.messages.at(-1)
    // A batch without messages holds nothing that the clock would have to wait for.
    let mark: StreamMark = last === undefined ? before : { ...before, endSince: null }
    // Before the first effect: otherwise the stream clock would treat the partition as idle and advance early.
    if (own.clocked && mark !== before && before.endSince !== null) await known.write(new Map([[partition, mark]]))
    for (const chunk of chunks(batch.messages)) {
      for (const createdAt of await settle(batch.topic, chunk, own, heartbeat, later))
        mark = advanceMark(mark, createdAt)
      await heartbeat()
    }
    if (own.clocked) {
      if (batch.atEnd) mark = { ...mark, endSince: mark.endSince ?? clock(), seenAt: clock() }
      await known.write(new Map([[partition, mark]]))
    }
    handled.set(partition, ++batches)
    if (last === undefined) return
    deps.taken?.()
  }

  /** Notes which partitions have been read to the end, empty ones included. */
  async function watch(): Promise<void> {
    // Messages that arrive while Kafka is asked are not in its answer.
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
  }

  return { start: () => reader.start(handle), watch }
}

/** The stream's marks by partition, as last read or written by this process. */
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
      // The next write builds on these, so writes must reach the store in order.
      for (const [partition, mark] of changed) known.set(partition, mark)
      try {
        await marks.write(changed)
      } catch (error) {
        // The write may still have succeeded: read the mark again next time.
        for (const partition of changed.keys()) known.delete(partition)
        throw error
      }
    },
    /** Other processes write the marks of the other partitions. */
    forgetBut(partitions: ReadonlySet<string>): void {
      for (const partition of known.keys()) if (!partitions.has(partition)) known.delete(partition)
    },
  }
}

/** The messages in order, in chunks that are handled together. */
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
