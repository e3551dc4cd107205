import { createHash } from 'node:crypto'
import type { IQueueBackend, Job } from 'bullmq'
import type { StagedAsk } from '../../ports/queues.ts'

/** The data of a case's job. */
export interface CaseJob {
  readonly caseId: string
  /** Since when it could have been started, ms since 1970; absent until it has been delayed. */
  readonly readyAt?: number
}

/** The data of an ask's job. */
export interface AskJob extends StagedAsk {
  /** How long it has been deferred so far at no attempt's cost, in ms. */
  readonly heldMs: number
  /** Attempts made and paid for; absent in jobs of earlier versions, where BullMQ counted them. */
  readonly tries?: number
  /** Since when it could have been started, ms since 1970. */
  readonly readyAt: number
}

/** States of a job that will run, or that waits for jobs that will. */
export const LIVE: ReadonlySet<string> = new Set(['waiting', 'active', 'delayed', 'prioritized', 'waiting-children'])

/** Options of all jobs: they are removed when they end. */
export const ENDED_JOBS_GO = { removeOnComplete: true, removeOnFail: true } as const

export function caseJobId(caseId: string): string {
  return jobId(caseId)
}

export function askJobId({ caseId, run, key }: StagedAsk): string {
  return jobId(caseId, String(run), key)
}

/** Job ids contain no colon and are not all digits, whatever the subject's id is. */
function jobId(...parts: string[]): string {
  return `j${createHash('sha256').update(parts.join('\0')).digest('base64url').slice(0, 24)}`
}

/** The id of a job that is in a queue: all of these have one. */
export function idOf(job: Job): string {
  if (job.id === undefined) throw new Error('a job without an id')
  return job.id
}

/** Since when a job could have been started, ms since 1970: for one that was delayed, since the end of the delay. */
export function readyAtOf({ timestamp, data }: Job): number {
  const { readyAt, heldMs } = data as Partial<AskJob>
  return Number(readyAt) || timestamp + (Number(heldMs) || 0)
}

/**
 * Delays the job until `at`, ms since 1970. `Job.moveToDelayed` uses this machine's clock and replaces an earlier time
 * by that clock's own. The method behind it uses the time as given; BullMQ's types expose it only to a job's own
 * methods.
 */
export async function delayUntil(job: Job, at: number, token = ''): Promise<void> {
  const { backend } = job as unknown as { readonly backend: Pick<IQueueBackend, 'moveToDelayed'> }
  await backend.moveToDelayed(idOf(job), at, 0, token, { skipAttempt: true })
}
