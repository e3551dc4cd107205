import type { Gateway } from '../gateway/gateway.ts'
import type { Clock } from '../ports/clock.ts'
import type { StageBacklog, StageQueues } from '../ports/queues.ts'
import type { Report } from '../ports/report.ts'
import type { Opener } from './opening.ts'
import type { RedisPart } from './redis.ts'

/** Reports the contents of stores and queues, each time it is called. */
export function stateReport(parts: {
  redis: Pick<RedisPart, 'threads' | 'cases' | 'outbox'>
  protocols: readonly { readonly name: string }[]
  queues: Pick<StageQueues, 'backlog'>
  opener: Pick<Opener, 'countDue' | 'now'>
  gateway: Pick<Gateway, 'busy' | 'waiting'>
  downSince: () => number | null
  clock: Clock
  report: Report
}) {
  const { redis, protocols, queues, opener, gateway, downSince, clock, report } = parts
  const { threads, cases, outbox } = redis
  let stages: readonly StageBacklog[] = []
  return {
    /** The stage queues, as of the last look. */
    backlog: () => stages,
    async look(): Promise<void> {
      stages = await queues.backlog()
      for (const stage of stages) report('stage:backlog', stage)
      const paused = await threads.paused()
      for (const { name } of protocols) report('protocol:watched', { protocol: name, paused: paused.has(name) })
      const [openCases, size, due, streamNow] = await Promise.all([
        cases.countOpen(),
        outbox.size(),
        opener.countDue(),
        opener.now(),
      ])
      const clockLagSeconds = streamNow === Number.NEGATIVE_INFINITY ? null : Math.max(0, clock() - streamNow) / 1000
      const down = downSince()
      report('consumer:watched', { downSeconds: down === null ? 0 : (clock() - down) / 1000 })
      report('slots:counted', { busy: gateway.busy, waiting: gateway.waiting })
      report('state:counted', { openCases, outbox: size, due, clockLagSeconds })
    },
  }
}
