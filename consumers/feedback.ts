import type { Consumer, Kafka } from 'kafkajs'
import { entryOf } from '../src/contracts/facts/entry-of.ts'
import { OperatorError } from '../src/contracts/facts/errors.ts'
import type { IncomingMessage } from '../src/contracts/ports/topic.ts'
import { committedIn } from '../src/stream/known-offsets.ts'
import { incomingOf, onPassedOver } from '../src/stream/record.ts'
import { onceTopicSettled, SETTLED_WITHIN_MS } from '../src/stream/settled.ts'

export interface ReadToEndSettings {
  readonly group: string
  readonly topic: string
  /** Most messages, and bytes, in one chunk. */
  readonly atOnce: number
  readonly atOnceBytes: number
  /** How long a dead reader keeps its partitions from others, in ms. */
  readonly sessionTimeout: number
  /** Called while reading waits for its topic, and if it ends before the topic does. */
  readonly say?: (line: string) => void
}

/**
 * Reading ends after this long without a message: the rest can't be read now, for instance because a partition has no
 * leader.
 */
const QUIET_MS = 15_000
const CUT_SHORT = `Kafka sent no more for ${QUIET_MS / 1000} s. Run again when each of its partitions has a leader.`

/**
 * Reads a topic as a member of a group, from the group's offsets to where the topic ended when reading began. Offsets
 * are committed only after `handle` has resolved to true: anything interrupted is read again. Ends early when `handle`
 * resolves to false or the signal is aborted. Waits some seconds for a topic that is being created.
 */
export async function readToEnd(
  kafka: Kafka,
  settings: ReadToEndSettings,
  signal: AbortSignal,
  handle: (messages: readonly IncomingMessage[]) => Promise<boolean>,
): Promise<void> {
  const { group, topic } = settings
  const ends = await behind(kafka, settings, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error
    return new Map<number, bigint>()
  })
  if (ends.size === 0 || signal.aborted) return
  const consumer = kafka.consumer({
    groupId: group,
    sessionTimeout: settings.sessionTimeout,
    rebalanceTimeout: Math.max(settings.sessionTimeout, 10_000),
    heartbeatInterval: Math.floor(settings.sessionTimeout / 3),
    maxWaitTimeInMs: 200,
    allowAutoTopicCreation: false,
    retry: { retries: 5, initialRetryTime: 100, maxRetryTime: 2_000, restartOnFailure: async () => false },
  })
  try {
    const chunks = gathering(consumer, settings, ends, signal)
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await chunks.start()
    for (;;) {
      const chunk = await chunks.next()
      if (signal.aborted || (chunk.messages.length > 0 && !(await handle(chunk.messages)))) return
      if (chunk.offsets.length > 0) await commit(consumer, chunk.offsets)
      if (chunk.isCutShort) settings.say?.(`${topic} was not read to its end: ${CUT_SHORT}`)
      if (chunk.last) return
    }
  } finally {
    await consumer.disconnect().catch(() => undefined)
  }
}

/** Fails if the partitions have been reassigned meanwhile; the new owner reads them again. */
async function commit(consumer: Consumer, offsets: Chunk['offsets']): Promise<void> {
  try {
    await consumer.commitOffsets(offsets)
  } catch (error) {
    throw new OperatorError(
      'The messages were handled, but Kafka did not accept their offsets. Run again: messages are re-read but not counted twice.',
      { cause: error },
    )
  }
}

interface Chunk {
  readonly messages: readonly IncomingMessage[]
  /** What to commit once the messages are handled. */
  readonly offsets: { topic: string; partition: number; offset: string }[]
  readonly last: boolean
  /** The last, and not all was read. */
  readonly isCutShort: boolean
}

/** For each partition that the group has not read to the end: the next offset and the end. */
async function behind(
  kafka: Kafka,
  { group, topic, say }: ReadToEndSettings,
  signal: AbortSignal,
): Promise<Map<number, bigint>> {
  const settled = <Value>(ask: () => Promise<Value>) =>
    onceTopicSettled(topic, ask, { signal, withinMs: SETTLED_WITHIN_MS, say })
  const admin = kafka.admin({ retry: { retries: 3 } })
  try {
    await settled(() => admin.connect())
    const committed = await settled(() => committedIn(admin, group, topic))
    const come = new Map(committed.map(({ partition, offset }) => [partition, BigInt(offset)]))
    return new Map(
      (await settled(() => admin.fetchTopicOffsets(topic))).flatMap(({ partition, low, high }): [number, bigint][] => {
        const at = come.get(partition) ?? -1n
        // Beyond the end: the topic was recreated, and is read from its beginning.
        const next = at > BigInt(low) && at <= BigInt(high) ? at : BigInt(low)
        return next < BigInt(high) ? [[partition, BigInt(high)]] : []
      }),
    )
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/** Collects fetched messages into chunks; while a chunk is handled the consumer is paused, but stays in its group. */
function gathering(
  consumer: Consumer,
  { topic, atOnce, atOnceBytes }: ReadToEndSettings,
  ends: ReadonlyMap<number, bigint>,
  signal: AbortSignal,
) {
  let own: ReadonlySet<number> = new Set()
  let joined = false
  let quiet = false
  let failure: unknown
  /** Next offset by partition: collected, handled or not. */
  const next = new Map<number, bigint>()
  let messages = new Map<string, IncomingMessage>()
  let bytes = 0
  let gatheringNow = true
  let wake = () => {}
  let watch: NodeJS.Timeout | undefined

  const full = () => messages.size >= atOnce || bytes >= atOnceBytes
  const atEnd = () =>
    joined && [...own].every((partition) => (next.get(partition) ?? -1n) >= (ends.get(partition) ?? -1n))
  const complete = () => failure !== undefined || signal.aborted || quiet || full() || atEnd()

  function settleIfDone(): void {
    clearTimeout(watch)
    if (!gatheringNow) return
    if (complete()) wake()
    else if (joined) watchQuiet()
  }

  function watchQuiet(): void {
    watch = setTimeout(() => {
      quiet = true
      wake()
    }, QUIET_MS)
  }

  signal.addEventListener('abort', settleIfDone, { once: true })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    failure ??= payload.error
    settleIfDone()
  })
  onPassedOver(consumer, (passed) => {
    next.set(passed.partition, BigInt(passed.next))
    settleIfDone()
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    own = new Set(entryOf(payload.memberAssignment, topic))
    joined = true
    // A rebalance clears the paused state.
    if (!gatheringNow) consumer.pause([{ topic }])
    settleIfDone()
  })

  return {
    async start(): Promise<void> {
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async ({ batch, resolveOffset, isRunning, isStale }) => {
          const { partition } = batch
          for (const message of batch.messages) {
            // The rest of the batch is fetched again, for the next chunk.
            if (!gatheringNow || full() || !isRunning() || isStale()) break
            messages.set(`${partition}@${message.offset}`, incomingOf(topic, partition, message))
            bytes += message.value?.length ?? 0
            const last = message === batch.messages.at(-1)
            next.set(partition, BigInt(last ? batch.lastOffset() : message.offset) + 1n)
            resolveOffset(message.offset)
          }
          settleIfDone()
        },
      })
    },
    /** Waits for a full chunk, or for the end. Throws an `OperatorError` if the consumer has died. */
    async next(): Promise<Chunk> {
      messages = new Map()
      bytes = 0
      gatheringNow = true
      if (joined) consumer.resume([{ topic }])
      await new Promise<void>((resolve) => {
        wake = resolve
        settleIfDone()
      })
      gatheringNow = false
      clearTimeout(watch)
      if (failure !== undefined)
        throw new OperatorError(`Lost connection to Kafka while reading: ${String(failure)}. Run again to continue.`, {
          cause: failure,
        })
      if (joined) consumer.pause([{ topic }])
      const offsets = [...next].map(([partition, offset]) => ({ topic, partition, offset: String(offset) }))
      const isCutShort = quiet && !atEnd()
      return { messages: [...messages.values()], offsets, last: isCutShort || atEnd(), isCutShort }
    },
  }
}
