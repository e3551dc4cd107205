import { setTimeout as sleep } from 'node:timers/promises'
import { StoreSuspended } from '../src/contracts/ports/cases.ts'
import type { Report } from '../src/contracts/ports/report.ts'
import type { Heartbeat, MessageBatch } from '../src/contracts/ports/topic.ts'
import type { Incarnation } from '../src/store/redis/incarnation.ts'
import type { MemoryUse } from '../src/store/redis/memory.ts'
import { type RedisRefusal, refusalOf } from '../src/store/redis/refusals.ts'
import type { PressureSignal } from './backpressure.ts'

/** Intake resumes when memory use has fallen this far (as a share) below where it paused. */
const HYSTERESIS = 0.05
/** From this share of that on, what Gavel can do without is kept for a moment only. */
const SPARING = 0.8
/** Redis that has refused a write counts as full until its memory use is below this share: small writes pass before large ones. */
const WRITABLE_BELOW = 0.98
/** Wait before a write is retried for which Redis had no memory, or not the data, in ms. */
const RETRY_MS = 1_000

const WHAT_TO_DO = {
  emptied: 'Redis was emptied: intake and cases are stopped until "gavel recover" has run',
  forgotten:
    'Redis is empty and the consumer group has no offsets, but the verdicts topic has held verdicts. Their numbers must not be given again: intake and cases wait for "gavel recover" ("gavel recover --dry-run" shows the choice)',
  'rolled-back':
    'Redis lost its last writes (a failover, an older dump): intake and cases are stopped until "gavel recover" has run',
  recovering: '"gavel recover" is running; if it was interrupted, run it again',
}
/** Redis that keeps its clients waiting for longer than this is asked why, in ms. */
const ASKED_AFTER_MS = 2_000

export type RedisGuard = ReturnType<typeof redisGuard>

/**
 * Watches whether Redis still has the data written to it, and takes more. If data are missing or it refuses writes, intake
 * pauses; a batch that Redis refused, or that came to data older than is known, is retried until it is stored.
 */
export function redisGuard(deps: {
  incarnation: Incarnation
  memoryUse: () => Promise<MemoryUse>
  /** Why Redis keeps its clients waiting, asked on another connection; null if it does not say. */
  whyItWaits: () => Promise<RedisRefusal | null>
  /** The shares of its memory at which intake pauses, and at which it does whoever holds what. */
  pauseAt: (use: MemoryUse) => { readonly pause: number; readonly stop: number }
  report: Report
}) {
  const { incarnation, memoryUse, whyItWaits, pauseAt, report } = deps
  const stopping = new AbortController()
  let reportedLoss: string | null = null
  let refusal: RedisRefusal | null = null
  let isScarce = false
  let isFilling = false
  let isNearFull = false
  /** What has waited for lost data. */
  const startLater: (() => Promise<void>)[] = []

  function reportLoss(): void {
    const { lost } = incarnation
    if (lost === reportedLoss) return
    reportedLoss = lost
    if (lost === null) report('store:recovered', {})
    else report('store:lost', { why: lost, advice: WHAT_TO_DO[lost] })
  }

  /** Notes why Redis refuses, or with null that nothing is known of a refusal; true if that is news. */
  function noteRefusal(now: RedisRefusal | null): boolean {
    if (now?.fault === refusal?.fault) return false
    refusal = now
    report('redis:faults', { of: 'refusal', faults: now === null ? [] : [now.fault] })
    return true
  }

  function setRefusal(now: RedisRefusal | null): void {
    if (!noteRefusal(now)) return
    if (now === null) report('store:writable', {})
    else if (now.fault === 'out-of-memory') report('store:full', { advice: now.says })
    else report('store:refused', { fault: now.fault, advice: now.says })
  }

  /** What it uses; or why Redis keeps its clients waiting, if it reports a reason. */
  async function useInTime(): Promise<MemoryUse | RedisRefusal> {
    const asked = memoryUse()
    const reasoned = new AbortController()
    const why = sleep(ASKED_AFTER_MS, undefined, { signal: reasoned.signal, ref: false }).then(whyItWaits)
    const orWhy = why.then(async (reason): Promise<MemoryUse | RedisRefusal> => reason ?? (await asked))
    return Promise.race([asked, orWhy]).finally(() => reasoned.abort())
  }

  async function untilStored(task: () => Promise<unknown>, heartbeat: Heartbeat): Promise<void> {
    for (;;) {
      try {
        await task()
        return
      } catch (error) {
        const refused = refusalOf(error)
        if (stopping.signal.aborted || (refused === null && !(error instanceof StoreSuspended))) throw error
        if (refused !== null) setRefusal(refused)
        await sleep(RETRY_MS, undefined, { signal: stopping.signal })
        await heartbeat()
      }
    }
  }

  return {
    /** Why no case is opened and no message accepted now; null if nothing is wrong. */
    get problem(): string | null {
      if (incarnation.lost !== null) return WHAT_TO_DO[incarnation.lost]
      return refusal?.says ?? null
    },
    /** Why Redis answers and refuses; null if it does not. */
    get refusal(): string | null {
      return refusal?.says ?? null
    },
    /** Whether Redis is short of memory, and takes writes. */
    get isScarce(): boolean {
      return isScarce && refusal === null && incarnation.lost === null
    },
    /** Whether it will be soon: what only saves calls is not kept for long. */
    get isFilling(): boolean {
      return isFilling
    },
    /** Whether intake must wait, and why: a share above 1 pauses it. */
    async pressure(): Promise<PressureSignal> {
      if (incarnation.lost !== null)
        return { by: 'store-lost', share: Number.POSITIVE_INFINITY, says: WHAT_TO_DO[incarnation.lost] }
      if (refusal !== null) {
        const by = refusal.fault === 'out-of-memory' ? 'store-full' : 'store-refused'
        return { by, share: Number.POSITIVE_INFINITY, says: refusal.says }
      }
      if (isNearFull)
        return { by: 'store-near-full', share: Number.POSITIVE_INFINITY, says: 'Redis is nearly out of memory' }
      return { by: 'store-full', share: isScarce ? Number.POSITIVE_INFINITY : 0, says: 'Redis is short of memory' }
    },
    /** Run it every second. */
    async poll(): Promise<void> {
      const unknown = () => report('store:watched', { memoryShare: null, lost: incarnation.lost !== null })
      const use = await useInTime().catch((error: unknown) => {
        unknown()
        const refused = refusalOf(error)
        if (refused === null) noteRefusal(null)
        else setRefusal(refused)
        throw error
      })
      if ('fault' in use) {
        unknown()
        setRefusal(use)
        throw new Error(use.says)
      }
      const { share } = use
      const { pause, stop } = pauseAt(use)
      isScarce = share > pause - (isScarce ? HYSTERESIS : 0)
      // As long as it is between the two, shares alone hold back.
      isNearFull = share > (isNearFull ? (pause + stop) / 2 : stop)
      isFilling = share > SPARING * pause
      try {
        await incarnation.advance()
        if (share < WRITABLE_BELOW || refusal?.fault !== 'out-of-memory') setRefusal(null)
      } catch (error) {
        const refused = refusalOf(error)
        if (refused === null) throw error
        setRefusal(refused)
      }
      reportLoss()
      report('store:watched', { memoryShare: share, lost: incarnation.lost !== null })
      if (incarnation.lost === null) for (const start of startLater.splice(0)) void start()
    },
    /** Starts now or, if data are missing, once they have been recovered. */
    async whenRecovered(start: () => Promise<void>): Promise<void> {
      if (incarnation.lost === null) return start()
      startLater.push(start)
    },
    /** Whether something waits for lost data to be recovered. */
    get isAwaited() {
      return startLater.length > 0
    },
    /** Does the work again until the store has accepted it; rejects with what is no refusal of it, and once given up. */
    untilStored,
    /** Notes, before it is committed to Kafka, that a batch is durable in the store: so it is found if the store loses it. */
    async noteDurable(
      { topic, partition, next }: Pick<MessageBatch, 'topic' | 'partition' | 'next'>,
      heartbeat: Heartbeat,
    ) {
      const durable = new Map([[`${topic}/${partition}`, next]])
      await untilStored(() => incarnation.advance(durable), heartbeat)
      reportLoss()
    },
    /** Nothing is tried again, or started, any more. */
    giveUp(): void {
      stopping.abort()
      startLater.splice(0)
    },
  }
}
