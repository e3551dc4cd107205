import { createRequire } from 'node:module'

/** The parts used here of kafkajs 2.2.4's queue of a connection's requests. */
interface RequestQueue {
  readonly pending: readonly unknown[]
  /** Until when the broker wants no more requests, ms since 1970; -1 if it never said so. */
  readonly throttledUntil: number
  scheduleCheckPendingRequests(): void
}

let done = false

/**
 * Lets kafkajs look for requests that wait only where some may wait: in the original each connection looks every
 * millisecond from its first response on, for as long as it lives. Call it before the first connection of the process.
 */
export function calmRequestQueues(): void {
  if (done) return
  done = true
  const path = 'kafkajs/src/network/requestQueue/index.js'
  const { prototype } = createRequire(import.meta.url)(path) as { prototype: RequestQueue }
  const schedule = prototype.scheduleCheckPendingRequests
  prototype.scheduleCheckPendingRequests = function () {
    if (this.pending.length > 0 || this.throttledUntil > Date.now()) schedule.call(this)
  }
}
