import type { Job } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { AskGroup, StageQueues } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'
import { backlogOf } from './backlog.ts'
import { closeJobQueues, type JobQueues, openJobQueues } from './job-queues.ts'
import { askJobId, type CaseJob, caseJobId, ENDED_JOBS_GO, LIVE } from './jobs.ts'
import { type QueueSettings, type Stage, stageName } from './settings.ts'
import { type Turns, turns } from './turns.ts'
import { queueWorkers } from './workers.ts'

/** What the service and a person at a command do alike with cases' jobs. */
export function caseJobs(queues: JobQueues, turns: Turns): Pick<StageQueues, 'push' | 'stranded' | 'drop'> {
  return {
    async push(caseIds, shares = new Map()) {
      if (caseIds.length === 0) return
      const byShare = Map.groupBy(caseIds, (caseId) => shares.get(caseId) ?? caseId)
      const jobs = await Promise.all(
        [...byShare].map(async ([share, ofShare]) => {
          const priorities = await turns.next(queues.cases, share, ofShare.length)
          return ofShare.map((caseId, index) => ({
            name: 'case',
            data: { caseId, share: shares.get(caseId) },
            opts: { jobId: caseJobId(caseId), priority: priorities[index] ?? 0, ...ENDED_JOBS_GO },
          }))
        }),
      )
      await queues.cases.addBulk(jobs.flat())
    },
    async stranded(cases) {
      const found: string[] = []
      for (const one of cases) if (await isStranded(queues, one)) found.push(one.caseId)
      return found
    },
    async drop(caseIds) {
      for (const caseId of caseIds) await dropJob(queues, caseId)
    },
  }
}

/**
 * Stage queues on BullMQ. A case's job advances it and ends; each group of asks is a job of its stage, and the one whose
 * answer ends the round advances the case before it ends. Should it die before that, it is run again elsewhere, finds
 * everything answered, and advances the case.
 */
export function bullQueues(deps: {
  connection: Redis
  stages: readonly Stage[]
  settings: QueueSettings
  clock: Clock
  report: Report
}): StageQueues {
  const { connection, stages, settings, clock, report } = deps
  const queues = openJobQueues({ connection, prefix: settings.prefix, stages, report })
  const takingTurns = turns(connection)
  const workers = queueWorkers({ connection, queues, turns: takingTurns, settings, clock, report })

  return {
    ...caseJobs(queues, takingTurns),

    work: (work) => workers.start(work),

    backlog: () => backlogOf(queues, connection, clock),

    async close(graceMs) {
      await workers.close(graceMs)
      await closeJobQueues(queues)
    },
  }
}

/** Groups looked at, of a case that waits for many. */
const MOST_GROUPS = 100

/** Whether nothing will ever continue the case: neither a job of its own nor one of the groups that it waits for is live. */
async function isStranded(
  queues: JobQueues,
  { caseId, groups }: { readonly caseId: string; readonly groups: readonly AskGroup[] },
): Promise<boolean> {
  if (await isContinued(queues, caseId)) return false
  const states = await Promise.all(
    groups.slice(0, MOST_GROUPS).map((group) => queues.asks.get(stageName(group))?.queue.getJobState(askJobId(group))),
  )
  return !states.some((state) => state !== undefined && LIVE.has(state))
}

/** Whether the case has a job of its own that will run; a dead one is removed. */
async function isContinued(queues: JobQueues, caseId: string): Promise<boolean> {
  const job = await queues.cases.getJob(caseJobId(caseId))
  if (job === undefined) return false
  if (LIVE.has(await job.getState())) return true
  return !(await removed(job))
}

/** Removes the case's job, unless a worker has it. */
async function dropJob(queues: JobQueues, caseId: string): Promise<void> {
  const job = await queues.cases.getJob(caseJobId(caseId))
  if (job !== undefined) await removed(job)
}

/** False for a job that a worker has started meanwhile. */
async function removed(job: Job<CaseJob>): Promise<boolean> {
  return job.remove().then(
    () => true,
    () => false,
  )
}
