import type { Job, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { StagedAsk } from '../../ports/queues.ts'
import type { JobQueues } from './job-queues.ts'
import { type AskJob, askJobId, type CaseJob, ENDED_JOBS_GO, idOf } from './jobs.ts'
import { type QueueSettings, queueName, stageSettings } from './settings.ts'

/** BullMQ's score of a prioritized job is its priority times this, plus a counter that keeps the order of arrival. */
const TURN_SCORE = 2 ** 32
/**
 * The highest priority. Asks that would get a later turn, after hours in which the stage was never empty, run in order
 * of arrival.
 */
const LAST_TURN = 2 ** 21 - 1

/**
 * Adds the asks of a case's round to their stages' queues, as children of the case's job. Existing jobs are left as
 * they are.
 */
export async function addAsks(
  parts: { readonly connection: Redis; readonly queues: JobQueues; readonly settings: QueueSettings; clock: Clock },
  parent: Job<CaseJob>,
  staged: readonly StagedAsk[],
): Promise<void> {
  const { connection, queues, settings, clock } = parts
  await Promise.all(
    [...Map.groupBy(staged, queueName)].map(async ([name, group]) => {
      const target = queues.asks.get(name)
      if (target === undefined) throw new Error(`the stage ${name} is not declared`)
      const { attempts, backoffMs } = stageSettings(settings, target)
      const turn = await nextTurn(connection, target.queue)
      return target.queue.addBulk(
        group.map((ask, index) => ({
          name: ask.stage,
          data: { ...ask, heldMs: 0, tries: 0, readyAt: clock() },
          opts: {
            jobId: askJobId(ask),
            parent: { id: idOf(parent), queue: queues.cases.qualifiedName },
            ignoreDependencyOnFailure: true,
            priority: Math.min(turn + index, LAST_TURN),
            // For unexpected errors; an ask that needs another attempt is delayed by its worker.
            attempts,
            backoff: { type: 'exponential', delay: backoffMs, jitter: 0.5 },
            ...ENDED_JOBS_GO,
          },
        })),
      )
    }),
  )
}

/**
 * The turn of a case that adds asks to a stage now. Round-robin fairness: the case's nth ask gets the priority turn +
 * n, so that a case with many asks does not starve cases with few; each of those delays it by at most one ask per turn.
 * Within a turn asks run in order of arrival. Turn 0 is the plain queue, which runs first, and is the only one used
 * while no ask waits for a later turn.
 */
async function nextTurn(connection: Redis, queue: Queue<AskJob>): Promise<number> {
  const [plain, first] = await Promise.all([
    connection.llen(queue.toKey('wait')),
    connection.zrange(queue.toKey('prioritized'), '0', '0', 'WITHSCORES'),
  ])
  const score = first.flat()[1]
  if (score === undefined) return 0
  return (plain > 0 ? 0 : Math.floor(Number(score) / TURN_SCORE)) + 1
}
