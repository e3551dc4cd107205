import { setTimeout as sleep } from 'node:timers/promises'
import type { Lineage } from '../src/adapters/redis/lineage.ts'
import { isOutOfMemory } from '../src/adapters/redis/memory.ts'
import type { Report } from '../src/ports/report.ts'
import type { TopicReader } from '../src/ports/topic.ts'
import type { PressureSignal } from './backpressure.ts'

/** Intake is resumed when the share of memory in use has fallen this far below the share at which it was paused. */
const RESUME_BELOW = 0.05
/** Wait before a write that Redis had no memory for is tried again, in ms. */
const RETRY_MS = 1_000

const WHAT_TO_DO = {
  emptied: 'Redis was emptied: intake and cases stand still until "gavel recover" has run',
  'rolled-back':
    'Redis lost its last writes (a failover, an older dump): intake and cases stand still until "gavel recover" has run',
  recovering: '"gavel recover" is at work; if it was cut off, run it again',
}
const FULL = 'Redis is at its maxmemory and takes nothing more: raise it (CONFIG SET maxmemory); all goes on by itself'

/**
 * Watches whether Redis still has what was written there, and memory for more. Intake is paused while it has not; a batch that
 * Redis had no memory for is tried again until it is written.
 */
export function storeWatch(deps: {
  lineage: Lineage
  memoryShare: () => Promise<number>
  /** Share of Redis's `maxmemory` at which intake pauses. */
  pauseAtMemory: number
  report: Report
}) {
  const { lineage, memoryShare, pauseAtMemory, report } = deps
  const stopping = new AbortController()
  let told: string | null = null
  let refused = false
  let scarce = false

  function tellLoss(): void {
    const { lost } = lineage
    if (lost === told) return
    told = lost
    if (lost === null) report('store:recovered', {})
    else report('store:lost', { why: lost, advice: WHAT_TO_DO[lost] })
  }

  function tellRefused(now: boolean): void {
    if (now === refused) return
    refused = now
    if (now) report('store:full', { advice: FULL })
    else report('store:roomy', {})
  }

  async function untilWritten(task: () => Promise<unknown>, heartbeat: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await task()
        return
      } catch (error) {
        if (!isOutOfMemory(error) || stopping.signal.aborted) throw error
        tellRefused(true)
        await sleep(RETRY_MS, undefined, { signal: stopping.signal })
        await heartbeat()
      }
    }
  }

  return {
    /** Why no case is opened and no message taken in now; null while nothing is wrong. */
    get trouble(): string | null {
      if (lineage.lost !== null) return WHAT_TO_DO[lineage.lost]
      return refused ? FULL : null
    },
    /** The signal by which backpressure pauses intake for Redis's sake. */
    async pressure(): Promise<PressureSignal> {
      if (lineage.lost !== null)
        return { by: 'store-lost', share: Number.POSITIVE_INFINITY, says: WHAT_TO_DO[lineage.lost] }
      if (refused) return { by: 'store-full', share: Number.POSITIVE_INFINITY, says: FULL }
      return { by: 'store-full', share: scarce ? Number.POSITIVE_INFINITY : 0, says: 'Redis is short of memory' }
    },
    /** To be run every second. */
    async look(): Promise<void> {
      const share = await memoryShare()
      scarce = share > pauseAtMemory - (scarce ? RESUME_BELOW : 0)
      try {
        await lineage.beat()
        tellRefused(false)
      } catch (error) {
        if (!isOutOfMemory(error)) throw error
        tellRefused(true)
      }
      tellLoss()
      report('store:watched', { memoryShare: share, lost: lineage.lost !== null })
    },
    /** The same reader, each of whose batches is noted in Redis as durable before its offset is committed. */
    over(reader: TopicReader): TopicReader {
      return {
        start: (handle) =>
          reader.start(async (batch, heartbeat) => {
            await untilWritten(() => handle(batch, heartbeat), heartbeat)
            const durable = new Map([[`${batch.topic}/${batch.partition}`, batch.next]])
            await untilWritten(() => lineage.beat(durable), heartbeat)
            tellLoss()
          }),
        positions: () => reader.positions(),
        setPaused: (value) => reader.setPaused(value),
        get downSince() {
          return reader.downSince
        },
        close() {
          stopping.abort()
          return reader.close()
        },
      }
    },
  }
}
