import type { Job } from 'bullmq'
import type { Redis } from 'ioredis'
import type { AskGroup } from '../../ports/queues.ts'
import { waitsForEarlierJobs } from './earlier-jobs.ts'
import type { JobQueues } from './job-queues.ts'
import { askJobId, type CaseJob, caseJobId, LIVE } from './jobs.ts'
import { stageName } from './settings.ts'

/** Groups looked at, of a case that waits for many. */
const MOST_GROUPS = 100

/** Whether nothing will ever continue the case: neither a job of its own nor one of the groups that it waits for is live. */
export async function isStranded(
  queues: JobQueues,
  connection: Redis,
  { caseId, groups }: { readonly caseId: string; readonly groups: readonly AskGroup[] },
): Promise<boolean> {
  if (await isContinued(queues, connection, caseId)) return false
  const states = await Promise.all(
    groups.slice(0, MOST_GROUPS).map((group) => queues.asks.get(stageName(group))?.queue.getJobState(askJobId(group))),
  )
  return !states.some((state) => state !== undefined && LIVE.has(state))
}

/** Whether the case has a job of its own that will run; a dead one is removed. */
async function isContinued(queues: JobQueues, connection: Redis, caseId: string): Promise<boolean> {
  const job = await queues.cases.getJob(caseJobId(caseId))
  if (job === undefined) return false
  const state = await job.getState()
  if (LIVE.has(state)) return true
  if (state === 'waiting-children' && (await waitsForEarlierJobs(connection, job))) return true
  return !(await removed(job))
}

/** Removes the case's job, unless a worker has it. */
export async function dropJob(queues: JobQueues, caseId: string): Promise<void> {
  const job = await queues.cases.getJob(caseJobId(caseId))
  if (job !== undefined) await removed(job)
}

/** False for a job that a worker has started meanwhile. */
async function removed(job: Job<CaseJob>): Promise<boolean> {
  return job.remove({ removeChildren: true }).then(
    () => true,
    () => false,
  )
}
