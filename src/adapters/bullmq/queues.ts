import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { StageQueues } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'
import { backlogOf } from './backlog.ts'
import { closeJobQueues, openJobQueues } from './job-queues.ts'
import { caseJobId, ENDED_JOBS_GO } from './jobs.ts'
import type { QueueSettings, Stage } from './settings.ts'
import { dropJob, isStranded } from './stranded.ts'
import { queueWorkers } from './workers.ts'

/**
 * Stage queues on BullMQ. A case's job adds its asks as children to their stages' queues, waits for all of them
 * (`moveToWaitingChildren`), and runs again; a child that fails for good releases its parent, which then asks again.
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

    work: (work) => workers.start(work),

    async stranded(caseIds) {
      const found: string[] = []
      for (const caseId of caseIds) if (await isStranded(queues, caseId)) found.push(caseId)
      return found
    },

    async drop(caseIds) {
      for (const caseId of caseIds) await dropJob(queues, caseId)
    },

    backlog: () => backlogOf(queues, clock),

    async close(graceMs) {
      await workers.close(graceMs)
      await closeJobQueues(queues)
    },
  }
}
