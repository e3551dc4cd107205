import type { Job, Queue } from 'bullmq'
import type { Clock } from '../../ports/clock.ts'
import type { StageBacklog } from '../../ports/queues.ts'
import type { JobQueues } from './job-queues.ts'
import { readyAtOf } from './jobs.ts'
import type { Stage } from './settings.ts'

/**
 * How many jobs each queue has, and how long the oldest of them has waited. The queue of cases is first, as `all`
 * `case`.
 */
export async function backlogOf({ cases, asks }: JobQueues, clock: Clock): Promise<StageBacklog[]> {
  return Promise.all([
    backlogIn(cases, { protocol: 'all', stage: 'case' }, clock),
    ...[...asks.values()].map(({ queue, protocol, stage }) => backlogIn(queue, { protocol, stage }, clock)),
  ])
}

async function backlogIn(queue: Queue, stage: Stage, clock: Clock): Promise<StageBacklog> {
  // Of the jobs that wait for a later turn, the oldest is the next one or the last one of a case with many asks.
  const [counts, ...eldest] = await Promise.all([
    queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed'),
    queue.getJobs(['waiting'], 0, 0, true),
    queue.getJobs(['prioritized'], 0, 0, true),
    queue.getJobs(['prioritized'], 0, 0, false),
  ])
  const { waiting = 0, prioritized = 0, active = 0, delayed = 0 } = counts
  // A job may disappear between the two reads.
  const since = eldest.flat().flatMap((job: Job | undefined) => (job === undefined ? [] : [readyAtOf(job)]))
  const oldestWaitingSeconds = Math.max(0, clock() - Math.min(clock(), ...since)) / 1000
  return { ...stage, states: { waiting: waiting + prioritized, active, delayed }, oldestWaitingSeconds }
}
