import type { Job } from 'bullmq'
import type { Redis } from 'ioredis'
import type { StagedAsk } from '../../ports/queues.ts'
import type { AskJob, CaseJob } from './jobs.ts'
import { type Stage, stageName } from './settings.ts'

// Jobs of the version before: one for each ask, in a queue that is named like its stage, as a child of its case's job,
// which waits for all of them. To be deleted in the next version.

/** The data of the job of one ask. */
export interface EarlierAskJob extends StagedAsk {
  readonly heldMs: number
  /** Absent in jobs of still earlier versions. */
  readonly tries?: number
  readonly readyAt: number
}

/** How often a process looks for such jobs, in ms: a service of the version before may end at any time. */
export const LOOK_FOR_EARLIER_MS = 10_000

/** The stages that have jobs of the version before. */
export async function stagesWithEarlierJobs<Of extends Stage>(
  connection: Redis,
  prefix: string,
  stages: readonly Of[],
): Promise<readonly Of[]> {
  const lists = ['wait', 'active', 'delayed', 'prioritized']
  const keys = stages.map((stage) => lists.map((list) => `${prefix}:${stageName(stage)}:${list}`))
  if (keys.length === 0 || (await connection.exists(keys.flat())) === 0) return []
  const found = await Promise.all(keys.map((own) => connection.exists(own)))
  return stages.filter((_, index) => (found[index] ?? 0) > 0)
}

/** As a job of this version has it. */
export function askJobOf({ key, heldMs, tries = 0, readyAt = 0, ...of }: EarlierAskJob): AskJob {
  return { ...of, name: key, asks: [{ key, heldMs, tries, readyAt }] }
}

/** What such a job holds after an attempt that another will follow. */
export function earlierJobOf({ name: _, asks: [ask], ...of }: AskJob): EarlierAskJob {
  if (ask === undefined) throw new Error('a job without an ask')
  return { ...of, ...ask }
}

/** Whether a case's job waits for jobs of the version before. */
export async function waitsForEarlierJobs(connection: Redis, job: Job<CaseJob>): Promise<boolean> {
  const { unprocessed = [] } = await job.getDependencies({ unprocessed: { count: 100 } })
  return unprocessed.length > 0 && (await connection.exists(unprocessed)) > 0
}
