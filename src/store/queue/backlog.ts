import type { Job, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { StageBacklog } from '../../contracts/ports/stage-queues.ts'
import {
  type AskJob,
  allQueues,
  asksReadyAt,
  type CaseJob,
  caseReadyAt,
  type JobQueues,
  type StageQueue,
} from './stage-queues.ts'

/** The asks of so many jobs are counted; where more jobs have a state, the mean of these stands for the rest. */
const COUNTED_JOBS = 50

/**
 * How many asks each stage has, and how long the oldest of them has waited. The queue of cases is first, as `all`
 * `case`; last are the cases and asks for which somebody waits, of all stages, as `all` `waiting-case` and `waiting`.
 */
export async function backlogOf(
  queues: JobQueues,
  connection: Pick<Redis, 'exists'>,
  clock: Clock,
): Promise<StageBacklog[]> {
  const { cases, waiting } = queues
  const asks = [...queues.asks.values(), { protocol: 'all', stage: 'waiting', queue: waiting.asks }]
  const all = allQueues(queues)
  // Where no job waits or runs, as in a quiet hour, one question answers for all queues.
  if ((await connection.exists(all.flatMap(keysOf))) === 0)
    return [
      { protocol: 'all', stage: 'case', ...EMPTY },
      ...asks.map(({ protocol, stage }) => ({ protocol, stage, ...EMPTY })),
      { protocol: 'all', stage: 'waiting-case', ...EMPTY },
    ]
  return Promise.all([
    casesBacklog('case', cases, clock),
    ...asks.map((stage) => asksBacklog(stage, clock)),
    casesBacklog('waiting-case', waiting.cases, clock),
  ])
}

const EMPTY = { states: { waiting: 0, active: 0, delayed: 0 }, oldestWaitingSeconds: 0 }

/** Where a queue keeps its jobs until they end. */
function keysOf(queue: Queue): string[] {
  return ['wait', 'paused', 'prioritized', 'active', 'delayed'].map((list) => queue.toKey(list))
}

async function casesBacklog(stage: string, queue: Queue<CaseJob>, clock: Clock): Promise<StageBacklog> {
  const [counts, first] = await Promise.all([
    queue.getJobCounts('waiting', 'active', 'delayed'),
    queue.getJobs(['waiting'], 0, 0, true),
  ])
  const { waiting = 0, active = 0, delayed = 0 } = counts
  const states = { waiting, active, delayed }
  return { protocol: 'all', stage, states, oldestWaitingSeconds: ageOf(first, caseReadyAt, clock) }
}

async function asksBacklog({ queue, protocol, stage }: StageQueue, clock: Clock): Promise<StageBacklog> {
  const counts = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed')
  const asksIn = async (state: 'waiting' | 'prioritized' | 'active' | 'delayed') => {
    const total = counts[state] ?? 0
    const some = total === 0 ? [] : present(await queue.getJobs([state], 0, COUNTED_JOBS - 1, true))
    const asks = some.reduce((sum, { data }) => sum + data.asks.length, 0)
    return { some, asks: some.length === 0 ? 0 : Math.round((asks * Math.max(total, some.length)) / some.length) }
  }
  const [waiting, prioritized, active, delayed, last] = await Promise.all([
    asksIn('waiting'),
    asksIn('prioritized'),
    asksIn('active'),
    asksIn('delayed'),
    // Of the jobs that wait for a later turn, the oldest is the next one or the last one of a case with many.
    (counts.prioritized ?? 0) > COUNTED_JOBS ? queue.getJobs(['prioritized'], 0, 0, false) : [],
  ])
  return {
    protocol,
    stage,
    states: { waiting: waiting.asks + prioritized.asks, active: active.asks, delayed: delayed.asks },
    oldestWaitingSeconds: ageOf([...waiting.some, ...prioritized.some, ...last], asksReadyAt, clock),
    oldestDeferredSeconds: longestDeferred(delayed.some, clock()),
  }
}

/** An ask's `heldMs` counts up to when it goes on. */
function longestDeferred(jobs: readonly Job<AskJob>[], now: number): number {
  const asks = jobs.flatMap(({ data }) => data.asks).filter(({ readyAt }) => readyAt > now)
  return Math.max(0, ...asks.map(({ heldMs, readyAt }) => heldMs - (readyAt - now))) / 1000
}

function ageOf<Data>(jobs: readonly (Job<Data> | undefined)[], readyAt: (job: Job<Data>) => number, clock: Clock) {
  const since = present(jobs).reduce((least, job) => Math.min(least, readyAt(job)), clock())
  return Math.max(0, clock() - since) / 1000
}

/** A job may disappear between two reads. */
function present<Data>(jobs: readonly (Job<Data> | undefined)[]): Job<Data>[] {
  return jobs.filter((job) => job !== undefined)
}
