import { DelayedError, type Job } from 'bullmq'
import type { Clock } from '../../ports/clock.ts'
import type { Advance, Work } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'
import { addAsks } from './add-asks.ts'
import type { JobQueues } from './job-queues.ts'
import { type CaseJob, caseJobId, delayUntil, ENDED_JOBS_GO } from './jobs.ts'
import type { QueueSettings } from './settings.ts'
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
  const later = await advance(parts, job.data.caseId)
  if (later === null) return
  const readyAt = parts.clock() + later.delayMs
  await job.updateData({ ...job.data, readyAt })
  await delayUntil(job, readyAt, token)
  throw new DelayedError()
}

/** Advances a case whose round has ended; if that must be done again later, the case gets a job for it. */
export async function advanceAfterRound(parts: RunParts, caseId: string): Promise<void> {
  const later = await advance(parts, caseId)
  if (later === null) return
  const now = parts.clock()
  await parts.queues.cases.add(
    'case',
    { caseId, readyAt: now + later.delayMs },
    { jobId: caseJobId(caseId), timestamp: now, delay: later.delayMs, ...ENDED_JOBS_GO },
  )
}

/** Advances a case and queues what it waits for; null unless it must be advanced again later. */
async function advance(parts: RunParts, caseId: string): Promise<Extract<Advance, { next: 'later' }> | null> {
  const advanced = await parts.work.advance(caseId)
  if (advanced.next === 'asks') await addAsks(parts, advanced.groups)
  return advanced.next === 'later' ? advanced : null
}
