import { randomUUID } from 'node:crypto'
import type { Consumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { Range, TopicHistory } from '../contracts/ports/topic.ts'
import { incomingOf, onPassedOver } from './record.ts'
import { onceTopicSettled, SETTLED_WITHIN_MS } from './settled.ts'

/** How to stop reading early, and whom to tell that it waits for its topic. */
export interface ReadingControl {
  readonly signal: AbortSignal
  readonly say?: (line: string) => void
}

/** Ranges of a topic by partition. */
export type Ranges = ReadonlyMap<number, Range>

export interface TopicRecord {
  readonly partition: number
  readonly message: KafkaMessage
}

/** Consecutive records of one partition. The next batch is read after the promise for this one has resolved. */
type Take = (partition: number, messages: readonly KafkaMessage[]) => Promise<void> | void

/**
 * The range of each of a topic's partitions, from the first message of `since` (ms since 1970; null: from the beginning)
 * to the end. Waits some seconds for a topic that is being created; throws an `OperatorError` if it is still missing or
 * unreadable then.
 */
export async function rangesOf(
  kafka: Kafka,
  topic: string,
  since: number | null,
  waiting: ReadingControl & { readonly withinMs?: number },
): Promise<Map<number, Range>> {
  const settled = <Value>(ask: () => Promise<Value>) =>
    onceTopicSettled(topic, ask, { withinMs: SETTLED_WITHIN_MS, ...waiting })
  const admin = kafka.admin({ retry: { retries: 3 } })
  try {
    await settled(() => admin.connect())
    const whole = await settled(() => admin.fetchTopicOffsets(topic))
    const starts = since === null ? [] : await settled(() => admin.fetchTopicOffsetsByTimestamp(topic, since))
    return new Map(
      whole.map(({ partition, low, high }) => {
        const start = starts.find((one) => one.partition === partition)?.offset
        const from = BigInt(start ?? low)
        return [partition, { from: from < 0n ? BigInt(high) : from, to: BigInt(high) }]
      }),
    )
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/**
 * Reads these ranges of a topic in order, without a lasting group, and ends. At most one batch of each partition is in
 * memory. Rejects with what `take` rejected with, with the signal's reason, or with an `OperatorError` if expected
 * records stop arriving.
 */
export async function readRanges(
  kafka: Kafka,
  topic: string,
  ranges: Ranges,
  waiting: ReadingControl,
  take: Take,
): Promise<void> {
  const wanted = new Map([...ranges].filter(([, { from, to }]) => from < to))
  const limits = { ...waiting, withinMs: SETTLED_WITHIN_MS }
  if (wanted.size > 0) await readAs(kafka, topic, { ranges: wanted, endless: false }, limits, take)
}

/**
 * Reads a topic from its beginning or from the first message of `since` (ms since 1970), without a lasting group: to its
 * end at the start of reading, or with `follow` until the signal is aborted, which is an end and not a failure. Waits for
 * a topic that is being created: with `follow` as long as it takes, else some seconds. Throws an `OperatorError` if it is
 * still missing or unreadable then.
 */
export async function readTopic(
  kafka: Kafka,
  topic: string,
  options: ReadingControl & { readonly follow: boolean; readonly since?: number | undefined },
  take: (record: TopicRecord) => void,
): Promise<void> {
  const { follow, since = null, ...waiting } = options
  const each: Take = (partition, messages) => {
    for (const message of messages) take({ partition, message })
  }
  try {
    if (waiting.signal.aborted) return
    const limits = { ...waiting, withinMs: follow ? Number.POSITIVE_INFINITY : SETTLED_WITHIN_MS }
    const ranges = await rangesOf(kafka, topic, since, limits)
    if (follow) await readAs(kafka, topic, { ranges, endless: true }, limits, each)
    else await readRanges(kafka, topic, ranges, waiting, each)
  } catch (error) {
    if (!waiting.signal.aborted) throw error
  }
}

/** Of these ranges the newest messages: at most `most` over all partitions, each with as many. */
export function newestRanges(all: Ranges, most: number): { readonly ranges: Ranges; readonly isCut: boolean } {
  const each = BigInt(Math.ceil(most / Math.max(1, all.size)))
  const ranges = new Map(
    [...all].map(([partition, { from, to }]) => [partition, { from: to - from > each ? to - each : from, to }]),
  )
  return { ranges, isCut: [...all].some(([partition, { from }]) => from !== ranges.get(partition)?.from) }
}

/** The same as a port, with messages instead of records. */
export function topicHistory(kafka: Kafka, waiting: ReadingControl): TopicHistory {
  return {
    rangesOf: (topic, since) => rangesOf(kafka, topic, since, waiting),
    read: (topic, ranges, take) =>
      readRanges(kafka, topic, ranges, waiting, (partition, messages) =>
        take(messages.map((message) => incomingOf(topic, partition, message))),
      ),
  }
}

const SESSION_MS = 30_000
/** Messages passed on between two heartbeats. */
const TAKEN_AT_ONCE = 1_000
/** Longest time without expected records, in ms: longer than forming a group and electing a leader takes. */
const QUIET_MS = 60_000

/** What to read: ranges, or everything from where they begin until the signal. */
interface ReadPlan {
  readonly ranges: Ranges
  readonly endless: boolean
}

/** Reads with a consumer in a temporary group. */
async function readAs(
  kafka: Kafka,
  topic: string,
  wanted: ReadPlan,
  waiting: ReadingControl & { readonly withinMs: number },
  take: Take,
): Promise<void> {
  const groupId = `gavel-read-${randomUUID()}`
  const consumer = kafka.consumer({
    groupId,
    maxWaitTimeInMs: 100,
    sessionTimeout: SESSION_MS,
    allowAutoTopicCreation: false,
  })
  try {
    await onceTopicSettled(topic, () => consumer.connect(), waiting)
    await onceTopicSettled(topic, () => consumer.subscribe({ topics: [topic], fromBeginning: true }), waiting)
    await untilRead(consumer, topic, wanted, waiting.signal, take)
  } finally {
    await consumer.disconnect().catch(() => undefined)
    await forgetGroup(kafka, groupId)
  }
}

/** Resolves when each range has been read to its end. */
function untilRead(
  consumer: Consumer,
  topic: string,
  { ranges, endless }: ReadPlan,
  signal: AbortSignal,
  take: Take,
): Promise<void> {
  const left = endless ? null : new Map(ranges)
  // By partition, what comes next: a consumer that has joined its group again begins at the beginning.
  const next = new Map([...ranges].map(([partition, { from }]) => [partition, from]))
  let ended = false
  let [inWork, quiet]: [number, NodeJS.Timeout | undefined] = [0, undefined]
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const end = (settle: () => void) => {
    ended = true
    clearTimeout(quiet)
    signal.removeEventListener('abort', stop)
    settle()
  }
  const fail = (error: unknown) => end(() => reject(error))
  const stop = () => fail(signal.reason)

  /** Fails the reading if nothing arrives for too long; time in which `take` is working does not count. */
  function watchQuiet(): void {
    clearTimeout(quiet)
    if (!ended && inWork === 0 && left !== null)
      quiet = setTimeout(() => fail(new OperatorError(silence(topic, left.size))), QUIET_MS)
  }

  function reached(partition: number, upTo: bigint): void {
    if (left !== null && upTo >= (left.get(partition)?.to ?? upTo)) left.delete(partition)
    if (left?.size === 0) end(resolve)
    else watchQuiet()
  }

  async function eachBatch({ batch, heartbeat }: EachBatchPayload): Promise<void> {
    const { partition } = batch
    const range = left?.get(partition)
    if (ended || (left !== null && range === undefined)) return
    const known = next.get(partition) ?? 0n
    // A topic that ends before what was read of it has been recreated since.
    const from = BigInt(batch.highWatermark) < known ? 0n : known
    const messages = batch.messages.filter(({ offset }) => holds({ from, to: range?.to }, offset))
    inWork++
    clearTimeout(quiet)
    try {
      for (let start = 0; start < messages.length; start += TAKEN_AT_ONCE) {
        const some = messages.slice(start, start + TAKEN_AT_ONCE)
        const taking = take(partition, some)
        next.set(partition, BigInt(some.at(-1)?.offset ?? known) + 1n)
        if (taking === undefined) continue
        await taking
        await heartbeat()
      }
    } catch (error) {
      return fail(error)
    } finally {
      inWork--
    }
    reached(partition, BigInt(batch.lastOffset()) + 1n)
  }

  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) fail(payload.error)
  })
  onPassedOver(consumer, ({ partition, next }) => reached(partition, BigInt(next)))
  watchQuiet()
  consumer
    .run({ autoCommit: false, partitionsConsumedConcurrently: Math.max(1, left?.size ?? 1), eachBatch })
    .catch(fail)
  for (const [partition, { from }] of ranges) consumer.seek({ topic, partition, offset: String(from) })
  return promise
}

function holds({ from, to }: { from: bigint; to: bigint | undefined }, offset: string): boolean {
  const at = BigInt(offset)
  return at >= from && (to === undefined || at < to)
}

function silence(topic: string, left: number): string {
  return `No records from topic ${topic} for ${QUIET_MS / 1000} s, with ${left} of its partitions not read to the end. Try again when each of its partitions has a leader.`
}

/** Deletes the temporary group. A broker also forgets it by itself. */
async function forgetGroup(kafka: Kafka, groupId: string): Promise<void> {
  const admin = kafka.admin({ retry: { retries: 1 } })
  await admin
    .connect()
    .then(() => admin.deleteGroups([groupId]))
    .catch(() => undefined)
  await admin.disconnect().catch(() => undefined)
}
