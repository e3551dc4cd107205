import type { Job } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { AskGroup, AskWait, JobDesk } from '../../contracts/ports/stage-queues.ts'
import { backlogOf } from './backlog.ts'
import {
  type AskJob,
  askJobId,
  asksQueue,
  caseJobs,
  closeJobQueues,
  LIVE,
  type OpenAsk,
  openJobQueues,
  type Stage,
} from './stage-queues.ts'
import { turns } from './turns.ts'

/** The jobs of cases on BullMQ, without any worker. */
export function bullJobDesk(deps: {
  connection: Redis
  prefix: string
  stages: readonly Stage[]
  clock: Clock
}): JobDesk {
  const { connection, prefix, stages, clock } = deps
  const queues = openJobQueues({ connection, prefix, stages, report: () => {} })

  async function jobOf(group: AskGroup) {
    const job = await asksQueue(queues, group)?.getJob(askJobId(group))
    const state = await job?.getState()
    return job !== undefined && state !== undefined && LIVE.has(state) ? { job, state } : undefined
  }

  return {
    ...caseJobs(queues, turns(connection)),
    async waits(groups) {
      const waits = await Promise.all(
        groups.map(async (group) => {
          const found = await jobOf(group)
          return group.keys.map((key) => waitOf(key, found?.job, found?.state === 'active', clock()))
        }),
      )
      return waits.flat()
    },
    async hurry(groups) {
      const hurried = await Promise.all(
        groups.map(async (group) => {
          const found = await jobOf(group)
          if (found?.state !== 'delayed') return 0
          const { job } = found
          const now = clock()
          const late = job.data.asks.filter(({ readyAt }) => readyAt > now).length
          await job.updateData({
            ...job.data,
            asks: job.data.asks.map((ask) => (ask.readyAt > now ? hurriedAsk(ask, now) : ask)),
          })
          // A worker may have begun it in the meantime: then it needs no hurry.
          const promoted = await job.promote().then(
            () => true,
            () => false,
          )
          return promoted ? late : 0
        }),
      )
      return hurried.reduce((sum, one) => sum + one, 0)
    },
    backlog: () => backlogOf(queues, connection, clock),
    close: () => closeJobQueues(queues),
  }
}

/** What is left of its wait is not waited for, and does not count as deferred: the next wait goes by how long an ask was deferred. */
function hurriedAsk(ask: OpenAsk, now: number): OpenAsk {
  return { ...ask, readyAt: now, heldMs: Math.max(0, ask.heldMs - (ask.readyAt - now)) }
}

function waitOf(key: string, job: Job<AskJob> | undefined, active: boolean, now: number): AskWait {
  const ask = job?.data.asks.find((one) => one.key === key)
  if (ask === undefined) return { key, state: 'none', readyAt: null, tries: 0, heldMs: 0, why: null }
  const { readyAt, tries, heldMs, why = null } = ask
  const state = readyAt > now ? 'deferred' : active ? 'active' : 'waiting'
  return { key, state, readyAt, tries, heldMs, why }
}
