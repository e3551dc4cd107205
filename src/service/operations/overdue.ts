import { scopeOf } from '../domain/verdict.ts'
import type { Clock } from '../ports/clock.ts'
import type { OverdueAt, PartitionLag } from '../ports/report.ts'

/** What waits longer than `objectiveMs`, by protocol; `all` where that is not known. */
export interface Overdue {
  readonly protocol: string
  readonly at: OverdueAt
  readonly count: number
}

/** What is known of everything that waits for a verdict. */
export interface Waiting {
  /** Ids of the open cases. */
  readonly open: readonly string[]
  readonly due: { readonly count: number; readonly nextAgeMs: number }
  readonly outbox: { readonly count: number; readonly oldestAgeMs: number }
}

/**
 * Counts what is overdue, look by look. A case's age counts from when it was first seen here, so that a process that has
 * just begun to count finds none for the length of the objective. Threads and records count by the oldest of them: all of
 * them, or none.
 */
export function overdueCount(protocols: readonly string[], objectiveMs: number, clock: Clock) {
  let firstSeen = new Map<string, number>()
  return {
    look({ open, due, outbox }: Waiting): Overdue[] {
      const now = clock()
      firstSeen = new Map(open.map((id) => [id, firstSeen.get(id) ?? now]))
      const late = new Map(protocols.map((protocol) => [protocol, 0]))
      for (const [id, since] of firstSeen) {
        const { protocol } = scopeOf(id)
        if (now - since > objectiveMs) late.set(protocol, (late.get(protocol) ?? 0) + 1)
      }
      return [
        ...[...late].map(([protocol, count]): Overdue => ({ protocol, at: 'open', count })),
        { protocol: 'all', at: 'due', count: due.nextAgeMs > objectiveMs ? due.count : 0 },
        { protocol: 'all', at: 'outbox', count: outbox.oldestAgeMs > objectiveMs ? outbox.count : 0 },
      ]
    },
    /** Another process counts from now on. */
    forget(): void {
      firstSeen = new Map()
    },
  }
}

/**
 * How many messages for a verdict wait unread for longer than `objectiveMs`, in the topics that bring such: all of a
 * partition that has been behind for so long, or none.
 */
export function overdueUnread(
  partitions: readonly PartitionLag[],
  topics: readonly string[],
  objectiveMs: number,
): number {
  return partitions
    .filter(({ topic, seconds }) => topics.includes(topic) && seconds !== null && seconds * 1000 > objectiveMs)
    .reduce((sum, { messages }) => sum + messages, 0)
}
