import type { Consumer } from 'kafkajs'
import type { Report } from '../src/ports/report.ts'

/** What has been handled is committed this often: each commit is a request, and a batch may be a single message. */
const COMMIT_EVERY_MS = 250
/** Wait before a commit that failed is tried again. */
const COMMIT_AGAIN_MS = 1_000

export type OffsetCommits = ReturnType<typeof offsetCommits>

/** Commits behind what one consumer has handled, soon and one commit after the other. */
export function offsetCommits(consumer: Pick<Consumer, 'commitOffsets'>, report: Report) {
  let state: 'open' | 'closing' | 'ended' = 'open'
  let generation = 0
  /** Next offset by topic and partition: handled in this generation, and not yet known to be committed. */
  const handled = new Map<string, { topic: string; partition: number; offset: string }>()
  let timer: NodeJS.Timeout | undefined
  let committing = Promise.resolve()

  function commitSoon(ms: number): void {
    timer ??= setTimeout(() => void commit(), ms)
  }

  /** A later commit must not be overtaken by an earlier one. */
  function commit(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    committing = committing.then(async () => {
      const offsets = [...handled]
      if (offsets.length === 0 || state === 'ended') return
      try {
        await consumer.commitOffsets(offsets.map(([, offset]) => offset))
        for (const [key, offset] of offsets) if (handled.get(key) === offset) handled.delete(key)
      } catch (error) {
        report('error', { where: 'kafka commit', error })
        if (state === 'open') commitSoon(COMMIT_AGAIN_MS)
      }
    })
    return committing
  }

  return {
    /** How often the group has given the consumer partitions. */
    get generation() {
      return generation
    },
    /**
     * The group has given it partitions. Others may have come further meanwhile: to commit what was handled before would take
     * the group back. What was not committed is read again.
     */
    beginGeneration(): void {
      generation++
      handled.clear()
    },
    /** Whether what was begun in this generation may be committed still: whoever reads the partition now has begun before it. */
    takes: (begunIn: number): boolean => state !== 'ended' && begunIn === generation,
    handledUpTo(at: { topic: string; partition: number; offset: string }): void {
      handled.set(`${at.topic}/${at.partition}`, at)
      commitSoon(COMMIT_EVERY_MS)
    },
    /** Next offset by `topic/partition` of what has been handled and is not yet known to be committed, as it is now. */
    handled: (): ReadonlyMap<string, string> => new Map([...handled].map(([key, { offset }]) => [key, offset])),
    commit,
    /** Commits once more, and no more after that. */
    close(): Promise<void> {
      state = 'closing'
      return commit()
    },
    /** The consumer is dead: nothing is committed any more. */
    end(): void {
      state = 'ended'
      clearTimeout(timer)
    },
  }
}
