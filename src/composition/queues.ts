import type { Settings } from '../../config/schema.ts'
import { bullQueues } from '../adapters/bullmq/queues.ts'
import type { Protocol } from '../engine/script.ts'
import type { Clock } from '../ports/clock.ts'
import type { Report } from '../ports/report.ts'
import { stagesOf } from './judging.ts'
import type { RedisPart } from './redis.ts'

/** The stage queues of these protocols. When closed, calls in flight have ended or were cut off in time. */
export function queuesPart(
  settings: Settings,
  {
    redis,
    protocols,
    clock,
    report,
  }: {
    redis: Pick<RedisPart, 'working' | 'keys'>
    protocols: readonly Protocol[]
    clock: Clock
    report: Report
  },
) {
  const queues = bullQueues({
    connection: redis.working,
    stages: stagesOf(protocols),
    settings: {
      prefix: redis.keys.queues,
      caseConcurrency: settings.cases.concurrency,
      stages: Object.fromEntries(
        Object.entries(settings.stages).map(([name, { backoff, ...own }]) => [name, { ...own, backoffMs: backoff }]),
      ),
      lockMs: settings.queues.lock,
      stalledCheckMs: settings.queues.stalledCheck,
    },
    clock,
    report,
  })
  return { queues, close: () => queues.close(settings.drain - closingMs(settings.drain)) }
}

/** The part of the drain time, in ms, that is left for recording and closing after calls in flight have been cut off. */
function closingMs(drain: number): number {
  return Math.min(3_000, drain / 3)
}
