import type { EachBatchPayload } from 'kafkajs'
import type { PassedOver } from '../src/service/adapters/kafka/passed-over.ts'
import { incomingOf } from '../src/service/adapters/kafka/record.ts'
import type { Later, TopicReader } from '../src/service/ports/topic.ts'
import type { OffsetCommits } from './offset-commits.ts'

export type Handle = Parameters<TopicReader['start']>[0]
type Payload = Pick<EachBatchPayload, 'batch' | 'heartbeat' | 'isRunning' | 'isStale' | 'resolveOffset'>

/** Passes a consumer's batches to `handle`, and notes the handled offsets for the next commit. */
export function batchWork(deps: {
  handle: Handle
  commits: OffsetCommits
  /** Whether the consumer still accepts batches: it is neither dead nor closing. */
  takesBatches: () => boolean
  /** Called when offsets without records could not be handled. */
  failed: (error: unknown) => void
  /** Unfinished batches of all consumers so far; this one adds its own. */
  inWorkOfAll: Set<Promise<void>>
}) {
  const { handle, commits, takesBatches, failed, inWorkOfAll } = deps
  const inWork = new Set<Promise<void>>()
  /** By topic and partition: the work of handled batches that their commit waits for, in order. */
  const uncommitted = new Map<string, Promise<void>>()
  /**
   * By topic and partition: a range without records that is being noted. The partition's next batch waits for it, and
   * sends heartbeats.
   */
  const passing = new Map<string, { done: Promise<void>; heartbeat: () => Promise<void> }>()

  /** Notes the offset for the next commit when its own work, and that of the batches before it, has ended. */
  function commitAfter(working: readonly Promise<unknown>[], handledUpTo: () => void, key: string): void {
    const before = uncommitted.get(key)
    if (before === undefined && working.length === 0) {
      handledUpTo()
      return
    }
    const ended = Promise.all([before, ...working]).then(handledUpTo)
    const current = noted(ended)
      // As after a batch that failed: the next consumer reads these offsets again.
      .catch(failed)
      .finally(() => {
        if (uncommitted.get(key) === current) uncommitted.delete(key)
      })
    uncommitted.set(key, current)
  }

  async function noted(working: Promise<void>): Promise<void> {
    for (const all of [inWork, inWorkOfAll]) all.add(working)
    try {
      await working
    } finally {
      for (const all of [inWork, inWorkOfAll]) all.delete(working)
    }
  }

  return {
    /** Unfinished batches; they may outlive the consumer. */
    inWork: inWork as ReadonlySet<Promise<void>>,
    async consume({ batch, heartbeat, isRunning, isStale, resolveOffset }: Payload): Promise<void> {
      const { topic, partition } = batch
      const before = passing.get(`${topic}/${partition}`)
      if (before !== undefined) {
        before.heartbeat = heartbeat
        await before.done
      }
      const last = batch.messages.at(-1)
      if (last === undefined || !takesBatches() || !isRunning() || isStale()) return
      const { generation } = commits
      const messages = batch.messages.map((message) => incomingOf(topic, partition, message))
      const next = BigInt(batch.lastOffset()) + 1n
      const work = async () => {
        const atEnd = next >= BigInt(batch.highWatermark)
        const working: Promise<unknown>[] = []
        const begin: Later = (start) => {
          const begun = start()
          // Whether it rejects is seen when all that the commit waits for is.
          begun.catch(() => {})
          working.push(begun)
        }
        await handle({ topic, partition, messages, next: String(next), atEnd }, heartbeat, begin)
        if (!commits.takes(generation)) return
        resolveOffset(last.offset)
        const handledUpTo = () => {
          if (commits.takes(generation)) commits.handledUpTo({ topic, partition, offset: String(next) })
        }
        commitAfter(working, handledUpTo, `${topic}/${partition}`)
      }
      await noted(work())
    },
    /** Handles a range without records as a batch without messages; otherwise the partition's end is never reached. */
    passOver({ topic, partition, next, atEnd }: PassedOver): void {
      if (!takesBatches()) return
      const key = `${topic}/${partition}`
      const { generation } = commits
      const before = passing.get(key)?.done
      const current = { done: Promise.resolve(), heartbeat: async () => {} }
      const work = async () => {
        await before
        const none: Later = () => {}
        await handle({ topic, partition, messages: [], next, atEnd }, () => current.heartbeat(), none)
        const handledUpTo = () => {
          if (commits.takes(generation)) commits.handledUpTo({ topic, partition, offset: next })
        }
        commitAfter([], handledUpTo, key)
      }
      current.done = noted(work())
        // As after a batch that failed: the next consumer reads these offsets again.
        .catch(failed)
        .finally(() => {
          if (passing.get(key) === current) passing.delete(key)
        })
      passing.set(key, current)
    },
  }
}
