import type { z } from 'zod'
import { deadLetterOf } from '../producers/dead-letter.ts'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import type { CommentMessage, CounterspeechMessage, Outcome, PostMessage } from '../src/contracts/facts/messages.ts'
import type { ReadLimits } from '../src/contracts/facts/read-value.ts'
import type { Post, ThreadRef } from '../src/contracts/facts/thread.ts'
import { readTraceparent } from '../src/contracts/facts/trace.ts'
import type { Outbox } from '../src/contracts/ports/cases.ts'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { Routes } from '../src/contracts/ports/routes.ts'
import type { StreamMark, StreamMarks, ThreadRules, ThreadStore } from '../src/contracts/ports/threads.ts'
import type {
  BackgroundRunner,
  Heartbeat,
  IncomingMessage,
  MessageBatch,
  TopicReader,
} from '../src/contracts/ports/topic.ts'
import type { TraceLinks } from '../src/contracts/ports/traces.ts'
import type { CheckpointSettings } from '../src/judging/threads/checkpoints.ts'
import type { StoryOf } from '../src/judging/threads/story-id.ts'
import { advanceMark } from '../src/judging/threads/stream-clock.ts'
import { type NoteAuthors, writtenIn, writtenUnread } from './authors.ts'
import type { BackgroundErasures } from './background-erasures.ts'
import { type ParsedMessages, parseMessages, type ValidMessage } from './read-message.ts'
import type { RedisGuard } from './redis-guard.ts'
import { PartitionMarks, partitionKey } from './stream-marks.ts'

/** Erases a subject, what was asked about it and what was learnt from it; retracts its verdicts. Repeatable. */
export type EraseSubject = (subject: ThreadRef) => Promise<Outcome>

/** What the handlers of all topics work with. */
export interface IntakeContext {
  readonly threads: ThreadStore
  readonly outbox: Pick<Outbox, 'putDeadLetters'>
  readonly routes: Routes
  readonly rules: ThreadRules
  readonly checkpoints: CheckpointSettings
  readonly limits: ReadLimits
  /** Most replies of one post, with its comments that are judged by themselves. */
  readonly maxReplies: number
  /** By how many ms the next comment on a post counts as younger than it is, in the order of due work. */
  readonly commentPace: (post: ThreadRef) => number
  /** The story of a post, by its words. */
  readonly storyOf: StoryOf
  readonly erase: EraseSubject
  /** Erases what was asked apart from the stream, whole. Repeatable. */
  readonly eraseAsked: (request: ThreadRef) => Promise<unknown>
  readonly erasures: BackgroundErasures
  /** Where trace contexts of messages are noted; absent where no traces are sent. */
  readonly links?: TraceLinks | undefined
  /** Notes who wrote what; absent where nothing outlives this process. */
  readonly noteAuthors?: NoteAuthors | undefined
  /**
   * What a vision model saw in a post's images, instead of the author's words; used when posts come from a data set. It is
   * given here and never read from a message, so that nobody on a topic can pose as the vision model.
   */
  readonly descriptions: (post: ThreadRef) => readonly string[]
  /** Bytes that a tenant may hold with what it sends now; null: no limit. */
  readonly mostHeld: () => number | null
  readonly clock: Clock
  /** How far the stream has come, ms of event time; absent where messages are not read from the stream. */
  readonly reached?: number | undefined
  /** When a subject was forgotten, ms since 1970, where messages are read again: what was said of it before is over. */
  readonly endOf?: ((subject: ThreadRef) => number | undefined) | undefined
  readonly report: Report
}

export type InputMessage = PostMessage | CommentMessage | CounterspeechMessage

/** What one topic's messages are, and what they do. A handler is given only messages that its own schema has read. */
export interface TopicHandler<Message extends InputMessage = InputMessage> {
  readonly schema: z.ZodType<Message>
  /** Whether its messages drive the stream's clock. */
  readonly clocked: boolean
  /** The thread that the message belongs to. */
  subjectOf(message: Message): ThreadRef
  /** What the message itself is about: of a comment the comment. */
  itselfIn(message: Message): ThreadRef
  /** The post or reply as its thread stores it; null for a comment and for a deletion. */
  postOf(context: IntakeContext, message: Message): Post | null
  /** Of comments: the comment as a subject of its own, null if it is deleted. */
  commentOf?(context: IntakeContext, message: Message): { readonly ref: ThreadRef; readonly post: Post | null }
  /**
   * Makes the messages' effects durable; resolves to their outcomes, in order. Beats between the steps of a long one. What
   * follows from them elsewhere is begun `runInBackground`, or done as well where that is left out.
   */
  handle(
    context: IntakeContext,
    read: readonly ValidMessage<Message>[],
    heartbeat: Heartbeat,
    runInBackground?: BackgroundRunner,
  ): Promise<Outcome[]>
}

/** The input: a handler for each topic, by its name, and what all of them work with. */
export interface IntakeInput {
  readonly handlers: ReadonlyMap<string, TopicHandler>
  readonly context: IntakeContext
}

/**
 * Most messages, and bytes, handled together, between two heartbeats: what they need is gone before the young space is collected
 * (docs/bench.md), and a small batch can decompress to large messages. They are parsed in one piece, and a kilobyte of short
 * values takes up to half a millisecond.
 */
const HANDLED_AT_ONCE = { messages: 250, bytes: 2 ** 17 }

/** What a batch is handled with. */
interface BatchContext extends IntakeInput {
  readonly marks: PartitionMarks
  /** The watch over the store; absent where the store is this process's own memory. */
  readonly guard?: RedisGuard
  /** Called after each batch: something may have become due. */
  readonly handled?: () => void
}

/**
 * From Kafka to durable effects: reads batches and handles each. A reader joins its group only when the store has all its data:
 * Kafka takes a recovery's offsets only for a group without members.
 */
export function intake(
  deps: IntakeInput & Pick<BatchContext, 'guard' | 'handled'> & { reader: TopicReader; marks: StreamMarks },
) {
  const { reader, guard, handlers } = deps
  const context: BatchContext = { ...deps, marks: new PartitionMarks(deps.marks) }
  const startReading = () =>
    reader.start((batch, heartbeat, runInBackground) =>
      guard === undefined
        ? handleBatch(context, batch, heartbeat, runInBackground)
        : storeBatch(context, guard, batch, heartbeat, runInBackground),
    )
  return {
    start: () => (guard === undefined ? startReading() : guard.whenRecovered(startReading)),
    /** Notes which partitions have been read to the end. */
    noteEnds: () =>
      context.marks.noteEnds(
        () => reader.positions(),
        (topic) => handlers.get(topic)?.clocked === true,
        deps.context.clock,
      ),
    /** Since when it has been without a working consumer, wall ms; null while it has one, and before it may have one. */
    get downSince() {
      return guard?.isAwaited === true ? null : reader.downSince
    },
    close() {
      guard?.giveUp()
      return reader.close()
    },
  }
}

/** Handles a batch until the store has all of it, and notes that there, before its offset is committed to Kafka. */
async function storeBatch(
  context: BatchContext,
  guard: RedisGuard,
  batch: MessageBatch,
  heartbeat: Heartbeat,
  runInBackground: BackgroundRunner,
): Promise<void> {
  const runUntilStored: BackgroundRunner = (work) => runInBackground(() => guard.untilStored(work, async () => {}))
  await guard.untilStored(() => handleBatch(context, batch, heartbeat, runUntilStored), heartbeat)
  await guard.noteDurable(batch, heartbeat)
}

/**
 * From a batch of messages to durable effects: each message is parsed and passed to its topic's handler, or becomes a dead
 * letter; the stream's clock is advanced.
 */
async function handleBatch(
  input: BatchContext,
  batch: MessageBatch,
  heartbeat: Heartbeat,
  runInBackground: BackgroundRunner,
): Promise<void> {
  const { marks, context } = input
  const handler = input.handlers.get(batch.topic)
  if (handler === undefined) throw new Error(`no handler for topic ${batch.topic}`)
  const partition = partitionKey(batch)
  marks.noteBatch(partition)
  const before = await marks.of(partition)
  const last = batch.messages.at(-1)
  // A batch without messages holds nothing that the clock would have to wait for.
  const isIdle = batch.atEnd && marks.isLeftBehind(before)
  let mark: StreamMark = last === undefined || isIdle ? before : { ...before, endSince: null }
  // Before the first effect: otherwise the stream clock would treat the partition as idle and advance early.
  if (handler.clocked && mark !== before && before.endSince !== null) await marks.write(new Map([[partition, mark]]))
  for (const part of partsOf(batch)) {
    const { valid } = await handlePart(
      handler,
      { ...context, reached: marks.furthest },
      part,
      heartbeat,
      runInBackground,
    )
    for (const { message } of valid) mark = advanceMark(mark, message.createdAt)
    await heartbeat()
  }
  if (handler.clocked) {
    const now = context.clock()
    const endSince = isIdle && !marks.isLeftBehind(mark) ? now : (mark.endSince ?? now)
    if (batch.atEnd) mark = { ...mark, endSince, seenAt: now }
    await marks.write(new Map([[partition, mark]]))
  }
  marks.noteBatch(partition)
  if (last !== undefined) input.handled?.()
}

/** Makes the effects of some messages durable, dead letters included. */
async function handlePart(
  handler: TopicHandler,
  context: IntakeContext,
  { topic, messages }: MessageBatch,
  heartbeat: Heartbeat,
  runInBackground: BackgroundRunner,
): Promise<ParsedMessages<InputMessage>> {
  const { outbox, report } = context
  const parsed = parseMessages(handler, context, messages)
  const { valid, invalid } = parsed
  if (context.links !== undefined) await context.links.note(contextsOf(handler, context, valid), context.mostHeld())
  // Before anything of it is stored: whoever erases their author finds it.
  const written = [...writtenIn(handler, context, valid), ...writtenUnread(handler, context, invalid)]
  await context.noteAuthors?.(written, context.mostHeld())
  const backgroundWork: (() => Promise<unknown>)[] = []
  const outcomes =
    valid.length === 0 ? [] : await handler.handle(context, valid, heartbeat, (work) => void backgroundWork.push(work))
  if (invalid.length > 0)
    await outbox.putDeadLetters(invalid.map(({ from, reason, detail }) => deadLetterOf(from, { reason, detail })))
  for (const { from, reason, detail } of invalid) {
    const { partition, offset } = from
    report('message:dead', { topic, partition, offset, reason, detail })
  }
  const counts = Map.groupBy([...outcomes, ...invalid.map(() => 'dead-letter' as const)], (outcome) => outcome)
  const settled = () => {
    for (const [outcome, all] of counts) report('messages:settled', { topic, outcome, count: all.length })
  }
  if (backgroundWork.length === 0) settled()
  // Until then they are read again if this process dies.
  else runInBackground(() => Promise.all(backgroundWork.map((work) => work())).then(settled))
  return parsed
}

/** The trace contexts in the headers of these messages, by the threads that they belong to, and the comments that may be judged. */
function contextsOf(
  handler: TopicHandler,
  context: IntakeContext,
  read: readonly ValidMessage<InputMessage>[],
): ReadonlyMap<ThreadRef, readonly string[]> {
  const found = new Map<string, { readonly ref: ThreadRef; readonly contexts: string[] }>()
  for (const { message, from } of read) {
    const parent = readTraceparent(entryOf(from.headers, 'traceparent') ?? '')
    if (parent === null) continue
    const comment = context.routes.takeComments ? handler.commentOf?.(context, message).ref : undefined
    for (const ref of [handler.subjectOf(message), ...(comment === undefined ? [] : [comment])]) {
      const name = JSON.stringify([ref.tenant, ref.kind, ref.postId])
      const known = found.get(name)
      if (known === undefined) found.set(name, { ref, contexts: [parent] })
      else known.contexts.push(parent)
    }
  }
  return new Map([...found.values()].map(({ ref, contexts }) => [ref, contexts]))
}

/** The batch's messages in order, in parts that are handled together. */
function* partsOf(batch: MessageBatch): Generator<MessageBatch> {
  let [chunk, bytes]: [IncomingMessage[], number] = [[], 0]
  for (const message of batch.messages) {
    const size = message.value?.length ?? 0
    if (chunk.length >= HANDLED_AT_ONCE.messages || (chunk.length > 0 && bytes + size > HANDLED_AT_ONCE.bytes)) {
      yield { ...batch, messages: chunk }
      ;[chunk, bytes] = [[], 0]
    }
    chunk.push(message)
    bytes += size
  }
  if (chunk.length > 0) yield { ...batch, messages: chunk }
}
