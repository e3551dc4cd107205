import type { Clock } from '../../ports/clock.ts'
import type { AskGroup } from '../../ports/queues.ts'
import type { JobQueues } from './job-queues.ts'
import { askJobId, ENDED_JOBS_GO } from './jobs.ts'
import { type QueueSettings, stageName, stageSettings } from './settings.ts'
import type { Turns } from './turns.ts'

/** Adds the groups of a case's round to their stages' queues, a job each. Existing jobs are left as they are. */
export async function addAsks(
  parts: { readonly queues: JobQueues; readonly turns: Turns; readonly settings: QueueSettings; readonly clock: Clock },
  groups: readonly AskGroup[],
): Promise<void> {
  const { queues, turns, settings, clock } = parts
  await Promise.all(
    [...Map.groupBy(groups, stageName)].map(async ([name, ofStage]) => {
      const target = queues.asks.get(name)
      if (target === undefined) throw new Error(`the stage ${name} is not declared`)
      const { attempts, backoffMs } = stageSettings(settings, target)
      const priorities = await turns.next(target.queue, ofStage.length)
      const readyAt = clock()
      const jobs = ofStage.map(({ keys, ...group }, index) => ({
        name: group.stage,
        data: { ...group, asks: keys.map((key) => ({ key, heldMs: 0, tries: 0, readyAt })) },
        opts: {
          jobId: askJobId(group),
          priority: priorities[index] ?? 0,
          // For unexpected errors; a job whose asks need another attempt is delayed by its worker.
          attempts,
          backoff: { type: 'exponential' as const, delay: backoffMs, jitter: 0.5 },
          ...ENDED_JOBS_GO,
        },
      }))
      const [only] = jobs
      // A transaction for several jobs costs as much again as one job.
      if (jobs.length === 1 && only !== undefined) await target.queue.add(only.name, only.data, only.opts)
      else await target.queue.addBulk(jobs)
    }),
  )
}
