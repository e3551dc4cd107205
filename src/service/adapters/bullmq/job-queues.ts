import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Report } from '../../ports/report.ts'
import type { AskJob, CaseJob } from './jobs.ts'
import { type Stage, stageName } from './settings.ts'

export interface StageQueue extends Stage {
  readonly queue: Queue<AskJob>
}

/** BullMQ's queues: one for cases, and one for each stage, by the stage's name. */
export interface JobQueues {
  readonly cases: Queue<CaseJob>
  readonly asks: ReadonlyMap<string, StageQueue>
}

const CASES = 'cases'
/** Events that BullMQ keeps for each queue, for people who debug it. */
const MOST_EVENTS = 100
/** Longest wait for the queues' connections to close, in ms. */
const CLOSE_TIMEOUT_MS = 300

export function openJobQueues(deps: {
  connection: Redis
  prefix: string
  stages: readonly Stage[]
  report: Report
}): JobQueues {
  const { connection, prefix, stages, report } = deps
  const open = <Data>(name: string): Queue<Data> => {
    const queue = new Queue<Data>(name, { connection, prefix, streams: { events: { maxLen: MOST_EVENTS } } })
    queue.on('error', (error) => report('error', { where: 'bullmq', error }))
    return queue
  }
  return {
    cases: open<CaseJob>(CASES),
    asks: new Map(
      stages.map((stage) => [stageName(stage), { ...stage, queue: open<AskJob>(stageName(stage)) }] as const),
    ),
  }
}

/** Closes them; returns within {@link CLOSE_TIMEOUT_MS} in any case. */
export async function closeJobQueues({ cases, asks }: JobQueues): Promise<void> {
  const closed = Promise.all([cases, ...[...asks.values()].map(({ queue }) => queue)].map((queue) => queue.close()))
  await Promise.race([closed, new Promise<void>((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref())])
}
