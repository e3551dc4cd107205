import { Counter, Gauge } from 'prom-client'
import { ERROR_SOURCES, REDIS_FAULTS, sourceOf } from '../../contracts/ports/report.ts'
import type { MetricGroup } from './group.ts'

/** Most tenants that have a series of their own: there may be any number of them. */
const MOST_TENANTS = 10

/** Messages that wait in Kafka, whose protocol nobody knows before they are read. */
const UNREAD = { protocol: 'all', at: 'kafka' } as const

/** State shared by all processes, and errors outside any one message or ask. */
export const stateMetrics: MetricGroup = (registry) => {
  const registers = [registry]
  const backlog = new Gauge({
    name: 'gavel_backlog',
    help: 'Open cases, threads that are due, and outbox entries. Shared.',
    labelNames: ['what'],
    registers,
  })
  const clockLag = new Gauge({
    name: 'gavel_stream_clock_lag_seconds',
    help: "How far the stream's clock is behind the wall clock. Shared.",
    registers,
  })
  const overdue = new Gauge({
    name: 'gavel_overdue_verdicts',
    help: 'Work that has waited longer than objectives.latency: open cases by protocol; unread messages, due threads and outbox entries together. Shared.',
    labelNames: ['protocol', 'at'],
    registers,
  })
  const tenants = new Gauge({
    name: 'gavel_tenant_open_cases',
    help: 'Open cases of the ten tenants that have most. Shared.',
    labelNames: ['tenant'],
    registers,
  })
  const exporter = new Gauge({
    name: 'gavel_state_exporter',
    help: '1 in the process that exports the state that all share; the others export no series of it.',
    registers,
  })
  const succeeded = new Gauge({
    name: 'gavel_loop_last_success_timestamp_seconds',
    help: 'When each loop of this process last succeeded, or was started.',
    labelNames: ['loop'],
    registers,
  })
  const memory = new Gauge({
    name: 'gavel_redis_memory_share',
    help: 'Share of its maxmemory that Redis uses, or of its machine if it has no limit; absent while it does not answer. Shared: take the maximum over replicas.',
    registers,
  })
  const lost = new Gauge({
    name: 'gavel_state_lost',
    help: '1 while Redis has lost acknowledged data and "gavel recover" has not run. Shared.',
    registers,
  })
  const faults = new Gauge({
    name: 'gavel_redis_fault',
    help: '1 for what is wrong with Redis: it would lose data or hold two versions of them, or it refuses what it is asked.',
    labelNames: ['reason'],
    registers,
  })
  const protocolPaused = new Gauge({
    name: 'gavel_protocol_paused',
    help: '1 while a protocol is paused and opens no cases. Shared.',
    labelNames: ['protocol'],
    registers,
  })
  const errors = new Counter({
    name: 'gavel_troubles_total',
    help: 'Errors outside any one message or ask, by source.',
    labelNames: ['where'],
    registers,
  })

  const known: { of: string; faults: readonly string[] }[] = []
  const setFaults = () => {
    const now = new Set(known.flatMap((one) => one.faults))
    for (const reason of REDIS_FAULTS) faults.set({ reason }, now.has(reason) ? 1 : 0)
  }
  setFaults()
  for (const where of ERROR_SOURCES) errors.inc({ where }, 0)
  let counted: readonly { readonly protocol: string; readonly at: string }[] = []
  // A gauge without labels is 0 from its creation; unknown is no number.
  const withdraw = () => {
    for (const gauge of [backlog, tenants, protocolPaused]) gauge.reset()
    // What waits unread Kafka tells, whether or not stores and queues do.
    for (const labels of counted) overdue.remove(labels)
    counted = []
    clockLag.remove()
  }
  withdraw()
  memory.remove()
  let isStopping = false

  return {
    // Loops that were stopped are no sign of an outage.
    'service:stopping': () => {
      isStopping = true
      succeeded.reset()
    },
    'loop:succeeded': ({ loop }) => {
      if (!isStopping) succeeded.set({ loop: loop.replaceAll(' ', '-') }, Date.now() / 1000)
    },
    'state:exported': ({ here }) => {
      exporter.set(here ? 1 : 0)
      if (!here) withdraw()
    },
    'state:counted': ({ openCases, outbox, due, clockLagSeconds, overdue: late, tenants: open }) => {
      backlog.set({ what: 'open-cases' }, openCases)
      backlog.set({ what: 'outbox' }, outbox)
      backlog.set({ what: 'due-threads' }, due)
      clockLag.set(clockLagSeconds ?? Number.NaN)
      for (const { protocol, at, count } of late) overdue.set({ protocol, at }, count)
      counted = late.map(({ protocol, at }) => ({ protocol, at }))
      tenants.reset()
      for (const [tenant, cases] of fullest(open)) tenants.set({ tenant }, cases)
    },
    'kafka:lag': ({ overdue: unread }) => {
      if (unread === null) overdue.remove(UNREAD)
      else overdue.set(UNREAD, unread)
    },
    'store:watched': ({ memoryShare, lost: isLost }) => {
      if (memoryShare === null) memory.remove()
      else memory.set(memoryShare)
      lost.set(isLost ? 1 : 0)
    },
    'redis:faults': (found) => {
      const before = known.findIndex(({ of }) => of === found.of)
      known.splice(before === -1 ? known.length : before, 1, found)
      setFaults()
    },
    'protocol:watched': ({ protocol, paused }) => protocolPaused.set({ protocol }, paused ? 1 : 0),
    error: ({ where }) => errors.inc({ where: sourceOf(where) }),
  }
}

function fullest(open: ReadonlyMap<string, number>): [string, number][] {
  return [...open].sort(([, a], [, b]) => b - a).slice(0, MOST_TENANTS)
}
