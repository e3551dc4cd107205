import { AsyncLocalStorage } from 'node:async_hooks'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'

// A batch of few kilobytes can be tens of megabytes once it is unpacked. kafkajs unpacks whatever a fetch brought, of all partitions,
// before it hands over the first message, and each consumer of a process does so by itself.

const require = createRequire(import.meta.url)

/** kafkajs takes what it has decoded of a partition when it meets an error of this name, and fetches the rest again. */
const PARTIAL = 'KafkaJSPartialMessageError'
/** A batch of more records is large. A megabyte of real messages has some 20,000. */
export const LARGE_RECORDS = 5_000
/** So many records of large batches are in memory at a time, of all partitions and consumers, or one batch. */
export const MOST_LARGE = 100_000
/** How long a fetch waits before it gives up a batch that is not its turn, in ms. */
const AGAIN_MS = 50
/** Whose turn it is next, and who has not asked for so long, in ms, is waited for no more: it may have stopped. */
const FORGOTTEN_MS = 10_000
/** How often the group hears that a fetch goes on, in ms; kafkajs sends no more than the consumer's own heartbeats. */
const BEAT_MS = 1_000

/** The parts used here of kafkajs 2.2.4's runner of a consumer. */
interface Runner {
  readonly consumerGroup: { getNodeIds(): readonly unknown[] }
  heartbeat(): Promise<void>
  fetch(nodeId: unknown): Promise<readonly unknown[]>
  stop(): Promise<void>
}

/** One fetch of a consumer from a broker, and its part of {@link MOST_LARGE}. */
interface Fetch {
  readonly runner: Runner
  readonly nodeId: unknown
  records: number
}

const fetching = new AsyncLocalStorage<Fetch>()
/** Fetches that brought large batches which may still be in memory. */
const holders = new Set<Fetch>()
/** Consumers whose large batches were not taken, the oldest first, and when they last asked. */
const waiting = new Map<Runner, number>()

/** What ends the reading of a fetched partition: what was read is handled, and the rest is fetched again. */
export function fetchedAgain(why: string): Error {
  return Object.assign(new Error(why), { name: PARTIAL })
}

/**
 * Takes room for so many records of large batches, until what the fetch brought has been handled. Rejects so that the batch is fetched
 * again where it is others' turn. One that is larger than all there is is let in by itself. What the same batch has `taken` already
 * was its turn, and is given back where there is no room for the rest.
 */
export async function takeLargeRoom(records: number, taken = 0): Promise<void> {
  const fetch = fetching.getStore()
  if (fetch === undefined) return
  const now = performance.now()
  const held = [...holders].reduce((sum, one) => sum + one.records, 0)
  const isTurn = taken > 0 || nextOf(now, fetch.runner) === fetch.runner
  if ((held === taken || held + records <= MOST_LARGE) && isTurn) {
    waiting.delete(fetch.runner)
    fetch.records += records
    holders.add(fetch)
    return
  }
  fetch.records -= taken
  if (fetch.records === 0) holders.delete(fetch)
  waiting.set(fetch.runner, now)
  // What the fetch has brought is handled first, without a wait.
  if (fetch.records === 0) await sleep(AGAIN_MS)
  throw fetchedAgain('other large batches are handled first')
}

/** The consumer that has waited longest and still asks, or the one that asks now. */
function nextOf(now: number, asking: Runner): Runner {
  for (const [runner, at] of waiting) {
    if (runner === asking || now - at < FORGOTTEN_MS) return runner
    waiting.delete(runner)
  }
  return asking
}

function release(isOver: (fetch: Fetch) => boolean): void {
  for (const fetch of holders) if (isOver(fetch)) holders.delete(fetch)
}

/**
 * Lets few large batches be in memory at a time, of all consumers: a fetch of kafkajs begins when all that the one before it brought
 * has been handled. While a fetch is unpacked or waits its group hears from the consumer, which would count as gone otherwise, join
 * anew and fetch the same.
 */
export function boundLargeFetches(): void {
  const { prototype } = require('kafkajs/src/consumer/runner.js') as { prototype: Runner }
  const { fetch, stop } = prototype
  prototype.fetch = async function (nodeId) {
    const isGone = (of: unknown) => of === nodeId || !this.consumerGroup.getNodeIds().includes(of)
    release((one) => one.runner === this && isGone(one.nodeId))
    // Where the group forms anew, the consumer's next heartbeat says so again.
    const beating = setInterval(() => void this.heartbeat().catch(() => undefined), BEAT_MS)
    try {
      return await fetching.run({ runner: this, nodeId, records: 0 }, () => fetch.call(this, nodeId))
    } finally {
      clearInterval(beating)
    }
  }
  prototype.stop = function () {
    release(({ runner }) => runner === this)
    waiting.delete(this)
    return stop.call(this)
  }
}
