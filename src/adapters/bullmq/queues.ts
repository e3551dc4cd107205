import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { StageQueues } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'
import { backlogOf } from './backlog.ts'
import { closeJobQueues, type JobQueues, openJobQueues } from './job-queues.ts'
import { caseJobId, ENDED_JOBS_GO } from './jobs.ts'
import type { QueueSettings, Stage } from './settings.ts'
import { dropJob, isStranded } from './stranded.ts'
import { queueWorkers } from './workers.ts'

/** What the service and a person at a command do alike with cases' jobs. */
export function caseJobs(queues: JobQueues, connection: Redis): Pick<StageQueues, 'push' | 'stranded' | 'drop'> {
  return {
    async push(caseIds) {
      if (caseIds.length === 0) return
      await queues.cases.addBulk(
        caseIds.map((caseId) => ({
          name: 'case',
          data: { caseId },
          opts: { jobId: caseJobId(caseId), ...ENDED_JOBS_GO },
        })),
      )
    },
    async stranded(cases) {
      const found: string[] = []
      for (const one of cases) if (await isStranded(queues, connection, one)) found.push(one.caseId)
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
  const workers = queueWorkers({ connection, queues, settings, clock, report })

  return {
    ...caseJobs(queues, connection),

    work: (work) => workers.start(work),

    backlog: () => backlogOf(queues, connection, clock),

    async close(graceMs) {
      await workers.close(graceMs)
      await closeJobQueues(queues)
    },
  }
}
