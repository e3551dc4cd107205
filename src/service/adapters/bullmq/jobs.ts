import { hash } from 'node:crypto'
import type { IQueueBackend, Job } from 'bullmq'
import type { AskGroup } from '../../ports/queues.ts'

/** The data of a case's job. */
export interface CaseJob {
  readonly caseId: string
  /** Whose share of the service it uses; absent where that was not known. */
  readonly share?: string | undefined
  /** Since when it could have been started, ms since 1970; absent until it has been delayed. */
  readonly readyAt?: number
}

/** The data of the job of a group of asks: those that are still open. */
export interface AskJob extends Omit<AskGroup, 'keys'> {
  readonly asks: readonly OpenAsk[]
}

/** An ask between its attempts. */
export interface OpenAsk {
  readonly key: string
  /** How long it has been deferred so far at no attempt's cost, in ms. */
  readonly heldMs: number
  /** Attempts made and paid for. */
  readonly tries: number
  /** Since when it could have been started, ms since 1970. */
  readonly readyAt: number
  /** What ended its last attempt without an answer; absent before, and if that is not known. */
  readonly why?: string
}

/** States of a job that will run. */
export const LIVE: ReadonlySet<string> = new Set(['waiting', 'active', 'delayed', 'prioritized'])

/** Options of all jobs: they are removed when they end. */
export const ENDED_JOBS_GO = { removeOnComplete: true, removeOnFail: true } as const

export function caseJobId(caseId: string): string {
  return jobId(caseId)
}

export function askJobId({ caseId, run, name }: Pick<AskGroup, 'caseId' | 'run' | 'name'>): string {
  return jobId(caseId, String(run), name)
}

/** Job ids contain no colon and are not all digits, whatever the subject's id is. */
function jobId(...parts: string[]): string {
  return `j${hash('sha256', parts.join('\0'), 'base64url').slice(0, 24)}`
}

/** The id of a job that is in a queue: all of these have one. */
function idOf(job: Job): string {
  if (job.id === undefined) throw new Error('a job without an id')
  return job.id
}

/** Since when a case's job could have been started, ms since 1970: for one that was delayed, since the end of the delay. */
export function caseReadyAt({ timestamp, data }: Job<CaseJob>): number {
  return data.readyAt ?? timestamp
}

/** Since when the first ask of a job could have been started, ms since 1970. */
export function asksReadyAt({ data }: Job<AskJob>): number {
  return Math.min(...data.asks.map(({ readyAt }) => readyAt))
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
