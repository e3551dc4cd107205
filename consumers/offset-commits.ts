import type { Consumer } from 'kafkajs'
import type { Report } from '../src/service/ports/report.ts'

/** Handled offsets are committed this often: each commit is a request, and a batch may be a single message. */
const COMMIT_EVERY_MS = 250
/** Wait before a failed commit is retried. */
const COMMIT_AGAIN_MS = 1_000

export type OffsetCommits = ReturnType<typeof offsetCommits>

/** Commits what one consumer has handled, soon, one commit at a time. */
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
    /** How often the group has assigned partitions to the consumer. */
    get generation() {
      return generation
    },
    /**
     * The group has reassigned partitions. Other members may have read further meanwhile, and a commit of earlier work
     * would move the group back. What was not committed is read again.
     */
    beginGeneration(): void {
      generation++
      handled.clear()
    },
    /**
     * Whether work begun in this generation may still be committed; if not, the new owner started from an earlier offset
     * and re-reads it.
     */
    takes: (begunIn: number): boolean => state !== 'ended' && begunIn === generation,
    handledUpTo(at: { topic: string; partition: number; offset: string }): void {
      handled.set(`${at.topic}/${at.partition}`, at)
      commitSoon(COMMIT_EVERY_MS)
    },
    /** A copy of the next offsets by `topic/partition` that are handled and not yet known to be committed. */
    handled: (): ReadonlyMap<string, string> => new Map([...handled].map(([key, { offset }]) => [key, offset])),
    commit,
    /** Commits once more, then never again. */
    close(): Promise<void> {
      state = 'closing'
      return commit()
    },
    /** The consumer is dead: nothing more is committed. */
    end(): void {
      state = 'ended'
      clearTimeout(timer)
    },
  }
}
