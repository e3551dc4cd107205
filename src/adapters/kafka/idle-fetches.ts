import { createRequire } from 'node:module'

/** The parts used here of kafkajs 2.2.4's broker; each consumer has brokers of its own. */
interface Fetch {
  readonly maxWaitTime: number
  readonly minBytes: number
}
interface Fetched {
  readonly responses: readonly { readonly partitions: readonly { readonly messages: readonly unknown[] }[] }[]
}
interface Broker {
  fetch(asked: Fetch): Promise<Fetched>
}

/**
 * How long a fetch waits for the first byte, in ms, if the one before found nothing. A consumer sends its heartbeats
 * between two fetches, so that it also learns of a rebalance that much later.
 */
const IDLE_WAIT_MS = 250
let done = false

/**
 * Lets consumers that wait a short while for many bytes wait longer for the first one, as long as there are none: they
 * have it sooner, and ask less often. After messages they wait for many bytes again. Call it before the first fetch of
 * the process.
 */
export function waitLongerWhileIdle(): void {
  if (done) return
  done = true
  const { prototype } = createRequire(import.meta.url)('kafkajs/src/broker/index.js') as { prototype: Broker }
  const { fetch } = prototype
  /** Brokers whose last fetch found nothing. */
  const idle = new WeakSet<Broker>()
  prototype.fetch = async function (asked) {
    const waits = asked.minBytes > 1 && asked.maxWaitTime < IDLE_WAIT_MS && idle.has(this)
    // If it fails, nothing is known: the next one is an ordinary one.
    idle.delete(this)
    const fetched = await fetch.call(this, waits ? { ...asked, minBytes: 1, maxWaitTime: IDLE_WAIT_MS } : asked)
    if (fetched.responses.every(({ partitions }) => partitions.every(({ messages }) => messages.length === 0)))
      idle.add(this)
    return fetched
  }
}
