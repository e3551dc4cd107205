import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { OperatorError } from '../contracts/facts/errors.ts'

/** Creating a topic, electing a leader and loading a group take no longer than this, in ms. */
export const SETTLED_WITHIN_MS = 15_000
/** What a service gives them when it starts, in ms: to end and be started again helps no busy broker. */
export const STARTED_WITHIN_MS = 60_000
const ASK_AGAIN_MS = 250

interface SettleLimits {
  /** How long to retry, in ms; `Infinity`: as long as it takes. */
  readonly withinMs: number
  /** When aborted, the wait ends and the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Called once, if the first answer is that Kafka is not ready. */
  readonly waiting?: (why: string) => void
}

/** Retries while Kafka's errors are retriable, up to the time limit; rejects with the last error. */
async function onceSettled<Value>(ask: () => Promise<Value>, limits: SettleLimits): Promise<Value> {
  const { withinMs, signal, waiting } = limits
  const deadline = performance.now() + withinMs
  for (let isReported = false; ; isReported = true) {
    try {
      return await ask()
    } catch (error) {
      const why = unsettled(error)
      if (why === null || performance.now() > deadline) throw error
      if (!isReported) waiting?.(why)
      await sleep(ASK_AGAIN_MS, undefined, signal === undefined ? {} : { signal })
      signal?.throwIfAborted()
    }
  }
}

/** The same for a request about one topic; a retriable error at the end becomes an `OperatorError` that names the remedy. */
export async function onceTopicSettled<Value>(
  topic: string,
  ask: () => Promise<Value>,
  limits: Omit<SettleLimits, 'waiting'> & { readonly say?: ((line: string) => void) | undefined },
): Promise<Value> {
  const { say, ...rest } = limits
  try {
    return await onceSettled(ask, {
      ...rest,
      waiting: (why) => say?.(`Waiting for the topic ${topic}: ${why.replace(/\.?$/, '')} …`),
    })
  } catch (error) {
    const why = unsettled(error)
    if (why === null) throw error
    throw new OperatorError(
      causes(error).some((each) => 'type' in each && each.type === 'UNKNOWN_TOPIC_OR_PARTITION')
        ? `There is no topic ${topic}. Check that kafka.topicPrefix matches the service; "gavel run" creates missing topics.`
        : `The topic ${topic} can't be read: ${why} Try again when each of its partitions has a leader.`,
      { cause: error },
    )
  }
}

/** The message of a retriable error; null for any other. */
function unsettled(error: unknown): string | null {
  const passing = causes(error).find(
    (each) => each instanceof kafkajs.KafkaJSError && (each.retriable || each.name === NO_COORDINATOR),
  )
  return passing?.message ?? null
}

/** A broker that has just started has no coordinator for a group until it has made its topic of offsets. */
const NO_COORDINATOR = 'KafkaJSGroupCoordinatorNotFound'

/** An error and all its causes: kafkajs wraps what it gave up retrying. */
function causes(error: unknown): Error[] {
  if (!(error instanceof Error)) return []
  const beneath = error instanceof AggregateError || 'errors' in error ? (error.errors as unknown) : []
  return [error, ...causes(error.cause), ...(Array.isArray(beneath) ? beneath.flatMap(causes) : [])]
}
