import type { TopicWriter } from '../src/contracts/ports/topic.ts'

/** How fast a file is sent: N messages a second, the recorded pace times `speed`, or as fast as the brokers accept it. */
export type Pace =
  | { readonly kind: 'rate'; readonly perSecond: number }
  | { readonly kind: 'recorded'; readonly speed: number; readonly maxPauseMs: number }
  | { readonly kind: 'flat-out' }

/** A message of a file. */
interface ReplayedMessage<Type extends string = string> {
  readonly type: Type
  /** Kafka's key. */
  readonly key: string
  /** ms since 1970; null where it has no readable time. */
  readonly createdAt: number | null
  readonly value: Readonly<Record<string, unknown>>
}

/** Most messages in one request. */
const SENT_AT_ONCE = 500
/** Shorter waits are added up, so that a fast replay still sends in batches, in ms. */
const SHORTEST_WAIT_MS = 25

/** Sends messages at this pace, in order; resolves to how many were sent. Stops early when the signal is aborted. */
export async function replayFile<Type extends string>(
  messages: AsyncIterable<ReplayedMessage<Type>>,
  to: { writer: TopicWriter; topics: Readonly<Record<Type, string>> },
  pace: Pace,
  options: { signal: AbortSignal; progress: (sent: number) => void },
): Promise<number> {
  const { signal, progress } = options
  let batch: ReplayedMessage<Type>[] = []
  let sent = 0
  let debtMs = 0
  let before: number | null = null

  async function flush(): Promise<void> {
    if (batch.length === 0) return
    const records = batch.map(({ type, key, value }) => ({ topic: to.topics[type], key, value: JSON.stringify(value) }))
    batch = []
    await to.writer.send(records)
    sent += records.length
    progress(sent)
  }

  for await (const message of messages) {
    if (signal.aborted) break
    debtMs += pauseBefore(message, before, pace)
    if (message.createdAt !== null) before = message.createdAt
    if (debtMs >= SHORTEST_WAIT_MS) {
      const started = performance.now()
      await flush()
      await rest(debtMs - (performance.now() - started), signal)
      debtMs -= performance.now() - started
    }
    batch.push(message)
    if (batch.length >= SENT_AT_ONCE) await flush()
  }
  await flush()
  return sent
}

function pauseBefore({ createdAt }: ReplayedMessage, before: number | null, pace: Pace): number {
  switch (pace.kind) {
    case 'rate':
      return 1000 / pace.perSecond
    case 'recorded':
      if (createdAt === null || before === null) return 0
      return Math.min(Math.max(0, createdAt - before) / pace.speed, pace.maxPauseMs)
    case 'flat-out':
      return 0
  }
}

function rest(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}
