import type { Job } from 'bullmq'
import type { AskGroup, AskWait } from '../../ports/queues.ts'
import type { JobQueues } from './job-queues.ts'
import { type AskJob, askJobId, LIVE } from './jobs.ts'
import { stageName } from './settings.ts'

/** What each of these groups' asks waits for, in their order. `now` in ms since 1970. */
export async function askWaits(queues: JobQueues, groups: readonly AskGroup[], now: number): Promise<AskWait[]> {
  const waits = await Promise.all(
    groups.map(async (group) => {
      const queue = queues.asks.get(stageName(group))?.queue
      const job = await queue?.getJob(askJobId(group))
      const state = await job?.getState()
      const live = job !== undefined && state !== undefined && LIVE.has(state) ? job : undefined
      return group.keys.map((key) => waitOf(key, live, state === 'active', now))
    }),
  )
  return waits.flat()
}

function waitOf(key: string, job: Job<AskJob> | undefined, active: boolean, now: number): AskWait {
  const ask = job?.data.asks.find((one) => one.key === key)
  if (ask === undefined) return { key, state: 'none', readyAt: null, tries: 0, heldMs: 0, why: null }
  const { readyAt, tries, heldMs, why = null } = ask
  const state = readyAt > now ? 'deferred' : active ? 'active' : 'waiting'
  return { key, state, readyAt, tries, heldMs, why }
}
