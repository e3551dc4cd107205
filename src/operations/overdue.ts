import { scopeOf } from '../contracts/facts/verdict-id.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Events, Listener, OverduePlace, PartitionLag, Report } from '../contracts/ports/report.ts'

/** What waits longer than `objectiveMs`, by protocol; `all` where that is not known. */
export interface OverdueCount {
  readonly protocol: string
  readonly at: OverduePlace
  readonly count: number
}

/** What is known of everything that waits for a verdict. */
export interface WaitingWork {
  /** Ids of the open cases. */
  readonly open: readonly string[]
  readonly due: { readonly count: number; readonly oldestAgeMs: number }
  readonly outbox: { readonly count: number; readonly oldestAgeMs: number }
}

/**
 * Counts what is overdue, call by call. A case's age counts from when it was first seen here, so that a process that has
 * just begun to count finds none for the length of the objective. Threads and records count by the oldest of them: all of
 * them, or none.
 */
export function overdueCount(protocols: readonly string[], objectiveMs: number, clock: Clock) {
  let firstSeen = new Map<string, number>()
  return {
    count({ open, due, outbox }: WaitingWork): OverdueCount[] {
      const now = clock()
      firstSeen = new Map(open.map((id) => [id, firstSeen.get(id) ?? now]))
      const late = new Map(protocols.map((protocol) => [protocol, 0]))
      for (const [id, since] of firstSeen) {
        const { protocol } = scopeOf(id)
        if (now - since > objectiveMs) late.set(protocol, (late.get(protocol) ?? 0) + 1)
      }
      return [
        ...[...late].map(([protocol, count]): OverdueCount => ({ protocol, at: 'open', count })),
        { protocol: 'all', at: 'due', count: due.oldestAgeMs > objectiveMs ? due.count : 0 },
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

/** With fewer overdue than this the service is not called behind: a single case that is stuck is another matter. */
const BEHIND_AT = 10
/** …and not before it has been so for this long, as it has not caught up before the contrary has been, in ms. */
const STEADY_MS = 20_000
/** A process that has not exported the shared state for longer than this knows nothing of what was before, in ms. */
const FORGOTTEN_MS = 300_000

const ADVICE =
  'verdicts are overdue (objectives.latency). Earlier log lines name the cause; nothing is lost. docs/runbooks/GavelVerdictsLate.md'

/** Reports, from what this process exports of the shared state, when the service falls behind and when it has caught up. */
export function behindReport(report: Report, clock: Clock): Listener {
  let counts: Record<OverduePlace, number> = { kafka: 0, due: 0, open: 0, outbox: 0 }
  let behind: { readonly since: number; most: number } | null = null
  let changing: number | null = null
  let updated = Number.NEGATIVE_INFINITY

  function update(): void {
    const now = clock()
    if (now - updated > FORGOTTEN_MS) [behind, changing] = [null, null]
    updated = now
    const sum = Object.values(counts).reduce((all, count) => all + count, 0)
    if (behind !== null) behind.most = Math.max(behind.most, sum)
    const isBehind = sum >= BEHIND_AT
    if (isBehind === (behind !== null)) {
      changing = null
      return
    }
    changing ??= now
    if (now - changing < STEADY_MS) return
    if (behind === null) {
      behind = { since: changing, most: sum }
      report('service:behind', { overdue: counts, advice: ADVICE })
    } else {
      const { since, most: mostOverdue } = behind
      const afterSeconds = Math.round((changing - since) / 1000)
      behind = null
      report('service:caught-up', { since: new Date(since).toISOString(), afterSeconds, mostOverdue, left: sum })
    }
    changing = null
  }

  return (name, event) => {
    if (name === 'kafka:lag') counts = { ...counts, kafka: (event as Events['kafka:lag']).overdue ?? 0 }
    if (name !== 'state:counted') return
    const next = { ...counts, due: 0, open: 0, outbox: 0 }
    for (const { at, count } of (event as Events['state:counted']).overdue) next[at] += count
    counts = next
    update()
  }
}
