import { Counter, Gauge } from 'prom-client'
import { ERROR_SOURCES, sourceOf } from '../../ports/report.ts'
import type { MetricGroup } from './group.ts'

/** State shared by all processes, and errors outside any one message or ask. */
export const stateMetrics: MetricGroup = (registry) => {
  const registers = [registry]
  const backlog = new Gauge({
    name: 'gavel_backlog',
    help: 'Open cases, threads with a due time, and outbox entries. Shared: take the maximum over replicas.',
    labelNames: ['what'],
    registers,
  })
  const clockLag = new Gauge({
    name: 'gavel_stream_clock_lag_seconds',
    help: "How far the stream's clock is behind the wall clock. Shared.",
    registers,
  })
  const memory = new Gauge({
    name: 'gavel_redis_memory_share',
    help: 'Share of its maxmemory that Redis uses, or of its machine if it has no limit. Shared: take the maximum over replicas.',
    registers,
  })
  const lost = new Gauge({
    name: 'gavel_state_lost',
    help: '1 while Redis has lost acknowledged data and "gavel recover" has not run. Shared.',
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

  for (const where of ERROR_SOURCES) errors.inc({ where }, 0)

  return {
    'state:counted': ({ openCases, outbox, due, clockLagSeconds }) => {
      backlog.set({ what: 'open-cases' }, openCases)
      backlog.set({ what: 'outbox' }, outbox)
      backlog.set({ what: 'due-threads' }, due)
      clockLag.set(clockLagSeconds ?? Number.NaN)
    },
    'store:watched': ({ memoryShare, lost: isLost }) => {
      memory.set(memoryShare)
      lost.set(isLost ? 1 : 0)
    },
    'protocol:watched': ({ protocol, paused }) => protocolPaused.set({ protocol }, paused ? 1 : 0),
    error: ({ where }) => errors.inc({ where: sourceOf(where) }),
  }
}
