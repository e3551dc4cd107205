import type { Job } from 'bullmq'
import type { JobQueues } from './job-queues.ts'
import { type CaseJob, caseJobId, LIVE } from './jobs.ts'

/** Children of a case whose job was lost are checked this many at a time. */
const CHILDREN_LOOKED_AT = 100

/**
 * Whether nothing will ever continue the case, so that it needs a new job: it has none, or one that is dead or waits
 * for asks whose jobs are all gone. Such a job is removed.
 */
export async function isStranded(queues: JobQueues, caseId: string): Promise<boolean> {
  const job = await queues.cases.getJob(caseJobId(caseId))
  if (job === undefined) return true
  const state = await job.getState()
  if (state !== 'waiting-children') return !LIVE.has(state) && removed(job)
  const { unprocessed = [] } = await job.getDependencies({ unprocessed: { count: CHILDREN_LOOKED_AT } })
  const open = await Promise.all(unprocessed.map((jobKey) => isLive(queues, jobKey)))
  return !open.includes(true) && removed(job)
}

/** Removes the case's job, unless a worker has it. */
export async function dropJob(queues: JobQueues, caseId: string): Promise<void> {
  const job = await queues.cases.getJob(caseJobId(caseId))
  if (job !== undefined) await removed(job)
}

/** `jobKey` is BullMQ's: the qualified name of the queue, a colon, and the job's id, which contains no colon. */
async function isLive(queues: JobQueues, jobKey: string): Promise<boolean> {
  const [queue, id] = [jobKey.slice(0, jobKey.lastIndexOf(':')), jobKey.slice(jobKey.lastIndexOf(':') + 1)]
  const target = [...queues.asks.values()].find((candidate) => candidate.queue.qualifiedName === queue)
  return target !== undefined && LIVE.has(await target.queue.getJobState(id))
}

/** False for a job that a worker has started meanwhile. */
async function removed(job: Job<CaseJob>): Promise<boolean> {
  return job.remove({ removeChildren: true }).then(
    () => true,
    () => false,
  )
}
