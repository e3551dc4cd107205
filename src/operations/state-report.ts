import { z } from 'zod'
import { scopeOf } from '../contracts/facts/verdict-id.ts'
import type { CaseStore, Outbox } from '../contracts/ports/cases.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Erasures, WaitingErasures } from '../contracts/ports/erasures.ts'
import type { Exporter } from '../contracts/ports/exporter.ts'
import type { LaneState, Report, WaitingCount } from '../contracts/ports/report.ts'
import type { StageBacklog, StageQueues } from '../contracts/ports/stage-queues.ts'
import type { ThreadStore } from '../contracts/ports/threads.ts'
import type { Opener } from '../judging/engine/open.ts'
import type { Protocol } from '../judging/engine/script.ts'
import type { Gateway } from '../models/gateway.ts'
import type { usedCapacity } from './capacity.ts'
import { laneStates } from './lane-states.ts'
import { overdueCount } from './overdue.ts'

const sharedStages = z.array(
  z.object({
    protocol: z.string(),
    stage: z.string(),
    states: z.object({ waiting: z.number(), active: z.number(), delayed: z.number() }),
    oldestWaitingSeconds: z.number(),
  }),
)

/** Most tenants whose limits and budgets are looked at because they have open cases: those that have most. */
const MOST_TENANTS = 50

/**
 * Reports this process's own state, and what stores and queues contain if no other process does, each time it is called.
 */
export function stateReport(parts: {
  redis: {
    readonly threads: Pick<ThreadStore, 'paused'>
    readonly cases: Pick<CaseStore, 'openIds'>
    readonly outbox: Pick<Outbox, 'size' | 'oldest'>
    readonly erasures: Pick<Erasures, 'waiting'>
    readonly exporter: Exporter
  }
  protocols: readonly Pick<Protocol, 'name' | 'lanes'>[]
  queues: Pick<StageQueues, 'backlog'>
  opener: Pick<Opener, 'countDue' | 'now'>
  gateway: Pick<Gateway, 'load'>
  /** What is used of limits and budgets; of those of tenants at least of the given ones. */
  usedCapacity: ReturnType<typeof usedCapacity>
  /** For how long the due thread has waited that waits longest, in ms. */
  oldestDueAgeMs: () => Promise<number>
  /** The longest that a verdict should take, in ms. */
  objectiveMs: number
  downSince: () => number | null
  clock: Clock
  report: Report
}) {
  const { redis, protocols, queues, opener, gateway, oldestDueAgeMs, objectiveMs, downSince, clock, report } = parts
  const { threads, cases, outbox, erasures, exporter } = redis
  const overdue = overdueCount(
    protocols.map(({ name }) => name),
    objectiveMs,
    clock,
  )
  let stages: readonly StageBacklog[] = []
  let here = false
  /** By the hash of each first lane how it stood in the last look. */
  let lanes: ReadonlyMap<string, LaneState['state']> | null = null
  let isUnknown = false

  function reportOwn(): void {
    const down = downSince()
    report('consumer:watched', { downSeconds: down === null ? 0 : (clock() - down) / 1000 })
    report('slots:counted', gateway.load())
  }

  /** What this process has exported is not known any more: another exports it now, or nobody can. */
  function withdraw(): void {
    here = false
    overdue.forget()
    report('state:exported', { here })
  }

  function reportLanes(states: readonly LaneState[]): void {
    report('lane:watched', { states })
    // At the start an open one is nothing new; after a reload it is.
    for (const one of states)
      if ((lanes === null ? 'open' : lanes.get(one.lane)) !== one.state)
        report('lane:changed', { ...one, advice: 'docs/lane.md' })
    lanes = new Map(states.map(({ lane, state }) => [lane, state]))
  }

  async function exportShared(): Promise<void> {
    stages = await queues.backlog()
    await exporter.share(JSON.stringify(stages))
    for (const stage of stages) report('stage:backlog', stage)
    const paused = await threads.paused()
    for (const { name } of protocols) report('protocol:watched', { protocol: name, paused: paused.has(name) })
    reportLanes(laneStates(protocols, paused))
    const [open, size, oldest, due, oldestAgeMs, streamNow] = await Promise.all([
      cases.openIds(),
      outbox.size(),
      outbox.oldest(),
      opener.countDue(),
      oldestDueAgeMs(),
      opener.now(),
    ])
    const tenants = countsOf(open.map((id) => scopeOf(id).tenant))
    report('state:counted', {
      openCases: open.length,
      outbox: size,
      due,
      clockLagSeconds: streamNow === Number.NEGATIVE_INFINITY ? null : Math.max(0, clock() - streamNow) / 1000,
      overdue: overdue.count({
        open,
        due: { count: due, oldestAgeMs },
        outbox: { count: size, oldestAgeMs: oldest === null ? 0 : clock() - oldest },
      }),
      tenants,
    })
    const { shelves, cases: shown } = await erasures.waiting()
    report('erasures:counted', { shelves: ageOf(shelves), cases: ageOf(shown) })
    report('capacity:used', await parts.usedCapacity([...tenants.keys()].slice(0, MOST_TENANTS)))
  }

  function ageOf({ count, oldest }: WaitingErasures): WaitingCount {
    return { waiting: count, oldestSeconds: oldest === null ? 0 : Math.max(0, clock() - oldest) / 1000 }
  }

  return {
    /** The stage queues, as of the last poll of the process that exports them. */
    backlog: () => stages,
    /** Whether this process exports the shared state. */
    exports: () => here,
    /**
     * Whether this process asks Kafka for the group's lag: the one that exports the shared state does, and while stores
     * and queues don't answer every one, since none can know which exports and Kafka may answer all the same.
     */
    watchesKafka: () => here || isUnknown,
    async poll(): Promise<void> {
      reportOwn()
      try {
        const shared = await exporter.poll()
        isUnknown = false
        if (shared !== null) {
          if (here) withdraw()
          if (shared !== '') stages = sharedStages.parse(JSON.parse(shared))
          return
        }
        if (!here) report('state:exported', { here: true })
        here = true
        await exportShared()
      } catch (error) {
        withdraw()
        isUnknown = true
        throw error
      }
    },
    async close(): Promise<void> {
      if (!here) return
      withdraw()
      // If Redis does not answer, the lease ends by itself.
      await exporter.leave().catch(() => undefined)
    },
  }
}

/** By name how often it occurs, the most frequent first. */
function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return new Map([...counts].sort(([, a], [, b]) => b - a))
}
