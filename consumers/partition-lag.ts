import type { Kafka } from 'kafkajs'
import type { Clock } from '../src/contracts/ports/clock.ts'
import type { PartitionLag, Report } from '../src/contracts/ports/report.ts'
import { groupAdmin } from '../src/stream/group-admin.ts'
import { type PartitionEnd, partitionEnds } from './partition-ends.ts'

/**
 * How far a group is behind in every partition of these topics, by what it has committed: also in one that no consumer
 * reads, or has ever read.
 */
export function partitionLag(deps: {
  kafka: Kafka
  group: string
  topics: readonly string[]
  /** Another group, and what it reads. */
  also?: { readonly group: string; readonly topics: readonly string[] } | undefined
  clock: Clock
}) {
  const { kafka, also, clock, ...own } = deps
  const reads = also === undefined ? [own] : [own, also]
  const admin = groupAdmin(kafka)
  const behind = timeBehind(clock)
  return {
    async poll(): Promise<PartitionLag[]> {
      const all = await admin.ask(async (asked) => {
        const ends: PartitionEnd[] = []
        // kafkajs takes one question about topics at a time.
        for (const { group, topics } of reads) ends.push(...(await partitionEnds(asked, group, topics)))
        return ends
      })
      return all.map((one) => {
        const { topic, partition, next, end } = one
        return { topic, partition, messages: end - next, seconds: behind(one) }
      })
    },
    /** Closes the connection; the next poll opens another. */
    close: admin.close,
  }
}

/** Reports the group's lag while this process watches it; an unknown lag is reported as such. */
export function lagReport(deps: {
  lag: ReturnType<typeof partitionLag>
  watches: () => boolean
  overdue: (partitions: readonly PartitionLag[]) => number
  report: Report
}) {
  const { lag, watches, overdue, report } = deps
  const withdraw = () => report('kafka:lag', { partitions: null, overdue: null })
  return {
    withdraw,
    async poll() {
      if (!watches()) {
        withdraw()
        return lag.close()
      }
      try {
        const partitions = await lag.poll()
        report('kafka:lag', { partitions, overdue: overdue(partitions) })
      } catch (error) {
        withdraw()
        throw error
      }
    },
  }
}

/** Most ends that are remembered of one partition; beyond that every second one is forgotten. */
const MOST_ENDS = 1_000

/** A partition that nobody has looked at for longer, in ms, may have been behind all that time. */
const WATCHED_MS = 30_000

/**
 * For how long a partition has been behind: the time, in seconds, since its end was first seen beyond what is committed;
 * 0 if all is committed, null if it is behind at the first poll, or at the first after a while. Exact to the time between
 * two calls, and never more than since the first one.
 */
export function timeBehind(clock: Clock): (now: PartitionEnd) => number | null {
  const ends = new Map<string, readonly { readonly end: number; readonly seenAt: number }[]>()
  const lookedAt = new Map<string, number>()
  return ({ topic, partition, next, end }) => {
    const now = clock()
    const key = `${topic}/${partition}`
    // Of a topic that was recreated the ends from before are larger.
    const ahead = (ends.get(key) ?? []).filter((one) => one.end > next && one.end <= end)
    if (end > next && (ahead.at(-1)?.end ?? next) < end) ahead.push({ end, seenAt: now })
    ends.set(key, ahead.length > MOST_ENDS ? ahead.filter((_, at) => at % 2 === 0) : ahead)
    const isWatched = now - (lookedAt.get(key) ?? Number.NEGATIVE_INFINITY) <= WATCHED_MS
    lookedAt.set(key, now)
    const [first] = ahead
    if (first === undefined) return 0
    return first.seenAt === now && !isWatched ? null : Math.max(0, now - first.seenAt) / 1000
  }
}
