import { setTimeout as sleep } from 'node:timers/promises'
import type { Incarnation } from '../src/adapters/redis/incarnation.ts'
import { isOutOfMemory } from '../src/adapters/redis/memory.ts'
import { StoreSuspended } from '../src/ports/cases.ts'
import type { Report } from '../src/ports/report.ts'
import type { TopicReader } from '../src/ports/topic.ts'
import type { PressureSignal } from './backpressure.ts'

/** Intake resumes when memory use has fallen this far (as a share) below where it paused. */
const HYSTERESIS = 0.05
/** Redis that has refused a write counts as full until its memory use is below this share: small writes pass before large ones. */
const WRITABLE_BELOW = 0.98
/** Wait before a write is retried for which Redis had no memory, or not the data, in ms. */
const RETRY_MS = 1_000

const WHAT_TO_DO = {
  emptied: 'Redis was emptied: intake and cases are stopped until "gavel recover" has run',
  forgotten:
    'Redis is empty and the consumer group has no offsets, but the verdicts topic has held verdicts, whose numbers must not be given again: intake and cases are stopped until "gavel recover" has run ("gavel recover --dry-run" tells the choice)',
  'rolled-back':
    'Redis lost its last writes (a failover, an older dump): intake and cases are stopped until "gavel recover" has run',
  recovering: '"gavel recover" is running; if it was interrupted, run it again',
}
const FULL =
  'Redis is at its maxmemory and refuses writes: raise it (CONFIG SET maxmemory); the service then continues by itself'

/**
 * Watches whether Redis still has the data written to it, and memory for more. If data or memory is missing, intake
 * pauses; a batch that Redis had no memory for, or that came to data older than is known, is retried until it is stored.
 */
export function storeWatch(deps: {
  incarnation: Incarnation
  memoryShare: () => Promise<number>
  /** Share of Redis's `maxmemory` at which intake pauses. */
  pauseAtMemory: number
  report: Report
}) {
  const { incarnation, memoryShare, pauseAtMemory, report } = deps
  const stopping = new AbortController()
  let reportedLoss: string | null = null
  let isRefused = false
  let isScarce = false
  /** Starts a reader that has waited for lost data. */
  let startLater: (() => Promise<void>) | null = null

  function reportLoss(): void {
    const { lost } = incarnation
    if (lost === reportedLoss) return
    reportedLoss = lost
    if (lost === null) report('store:recovered', {})
    else report('store:lost', { why: lost, advice: WHAT_TO_DO[lost] })
  }

  function setRefused(now: boolean): void {
    if (now === isRefused) return
    isRefused = now
    if (now) report('store:full', { advice: FULL })
    else report('store:writable', {})
  }

  async function untilWritable(task: () => Promise<unknown>, heartbeat: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await task()
        return
      } catch (error) {
        if (stopping.signal.aborted || !(isOutOfMemory(error) || error instanceof StoreSuspended)) throw error
        if (isOutOfMemory(error)) setRefused(true)
        await sleep(RETRY_MS, undefined, { signal: stopping.signal })
        await heartbeat()
      }
    }
  }

  return {
    /** Why no case is opened and no message accepted now; null if nothing is wrong. */
    get problem(): string | null {
      if (incarnation.lost !== null) return WHAT_TO_DO[incarnation.lost]
      return isRefused ? FULL : null
    },
    /** Whether intake must wait, and why: a share above 1 pauses it. */
    async pressure(): Promise<PressureSignal> {
      if (incarnation.lost !== null)
        return { by: 'store-lost', share: Number.POSITIVE_INFINITY, says: WHAT_TO_DO[incarnation.lost] }
      if (isRefused) return { by: 'store-full', share: Number.POSITIVE_INFINITY, says: FULL }
      return { by: 'store-full', share: isScarce ? Number.POSITIVE_INFINITY : 0, says: 'Redis is short of memory' }
    },
    /** Run it every second. */
    async look(): Promise<void> {
      const share = await memoryShare().catch((error: unknown) => {
        report('store:watched', { memoryShare: null, lost: incarnation.lost !== null })
        throw error
      })
      isScarce = share > pauseAtMemory - (isScarce ? HYSTERESIS : 0)
      try {
        await incarnation.advance()
        if (share < WRITABLE_BELOW) setRefused(false)
      } catch (error) {
        if (!isOutOfMemory(error)) throw error
        setRefused(true)
      }
      reportLoss()
      report('store:watched', { memoryShare: share, lost: incarnation.lost !== null })
      if (incarnation.lost === null && startLater !== null) {
        const start = startLater
        startLater = null
        void start()
      }
    },
    /**
     * Wraps a reader so that its batches are noted as durable in Redis before their offsets are committed to Kafka. If data
     * are missing when it is started, it joins its group only after they have been recovered: Kafka takes a recovery's
     * offsets only for a group without members.
     */
    over(reader: TopicReader): TopicReader {
      return {
        async start(handle) {
          const start = () =>
            reader.start(async (batch, heartbeat) => {
              await untilWritable(() => handle(batch, heartbeat), heartbeat)
              const durable = new Map([[`${batch.topic}/${batch.partition}`, batch.next]])
              await untilWritable(() => incarnation.advance(durable), heartbeat)
              reportLoss()
            })
          if (incarnation.lost === null) return start()
          startLater = start
        },
        positions: () => reader.positions(),
        setPaused: (value) => reader.setPaused(value),
        get downSince() {
          return startLater === null ? reader.downSince : null
        },
        close() {
          stopping.abort()
          startLater = null
          return reader.close()
        },
      }
    },
  }
}
