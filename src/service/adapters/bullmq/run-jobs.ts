import { DelayedError, type Job } from 'bullmq'
import type { Clock } from '../../ports/clock.ts'
import type { Advance, AskGroup, Work } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'
import type { JobQueues } from './job-queues.ts'
import { askJobId, type CaseJob, caseJobId, delayUntil, ENDED_JOBS_GO } from './jobs.ts'
import { type QueueSettings, stageName, stageSettings } from './settings.ts'
import type { Turns } from './turns.ts'

export interface RunParts {
  readonly work: Work
  readonly queues: JobQueues
  readonly turns: Turns
  readonly settings: QueueSettings
  readonly clock: Clock
  readonly report: Report
}

/** The job of a case that is opened, revived or put off: advances it, and is delayed if that must be done again later. */
export async function runCase(parts: RunParts, job: Job<CaseJob>, token: string | undefined): Promise<void> {
  const later = await advance(parts, job.data)
  if (later === null) return
  const readyAt = parts.clock() + later.delayMs
  await job.updateData({ ...job.data, readyAt })
  await delayUntil(job, readyAt, token)
  throw new DelayedError()
}

/** Advances a case whose round has ended; if that must be done again later, the case gets a job for it. */
export async function advanceAfterRound(
  parts: RunParts,
  { caseId, share }: Pick<CaseJob, 'caseId' | 'share'>,
): Promise<void> {
  const later = await advance(parts, { caseId, share })
  if (later === null) return
  const now = parts.clock()
  await parts.queues.cases.add(
    'case',
    { caseId, share, readyAt: now + later.delayMs },
    { jobId: caseJobId(caseId), timestamp: now, delay: later.delayMs, ...ENDED_JOBS_GO },
  )
}

/** Advances a case and queues what it waits for; null unless it must be advanced again later. */
async function advance(
  parts: RunParts,
  { caseId, share }: Pick<CaseJob, 'caseId' | 'share'>,
): Promise<Extract<Advance, { next: 'later' }> | null> {
  const advanced = await parts.work.advance(caseId, share)
  if (advanced.next === 'asks') await addAsks(parts, advanced.groups)
  return advanced.next === 'later' ? advanced : null
}

/** Adds the groups of a case's round to their stages' queues, a job each. Existing jobs are left as they are. */
async function addAsks({ queues, turns, settings, clock }: RunParts, groups: readonly AskGroup[]): Promise<void> {
  await Promise.all(
    [...Map.groupBy(groups, stageName)].map(async ([name, ofStage]) => {
      const share = ofStage[0]?.share ?? name
      const target = queues.asks.get(name)
      if (target === undefined) throw new Error(`the stage ${name} is not declared`)
      const { attempts, backoff } = stageSettings(settings, target)
      const priorities = await turns.next(target.queue, share, ofStage.length)
      const readyAt = clock()
      const jobs = ofStage.map(({ keys, ...group }, index) => ({
        name: group.stage,
        data: { ...group, asks: keys.map((key) => ({ key, heldMs: 0, tries: 0, readyAt })) },
        opts: {
          jobId: askJobId(group),
          priority: priorities[index] ?? 0,
          // For unexpected errors; a job whose asks need another attempt is delayed by its worker.
          attempts,
          backoff: { type: 'exponential' as const, delay: backoff, jitter: 0.5 },
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
