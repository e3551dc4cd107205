import type { Job, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { StagedAsk } from '../../ports/queues.ts'
import type { JobQueues } from './job-queues.ts'
import { type AskJob, askJobId, type CaseJob, ENDED_JOBS_GO, idOf } from './jobs.ts'
import { type QueueSettings, queueName, stageSettings } from './settings.ts'

/** BullMQ's score of a prioritized job is its priority times this, and a count that keeps the order of arrival. */
const TURN_SCORE = 2 ** 32
/** The highest priority there is; who comes later than that, after hours in which the stage was never empty, stands in line. */
const LAST_TURN = 2 ** 21 - 1

/** Adds the asks of a case's round to their stages' queues, as children of the case's job. What is there already stays. */
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
            // For errors that nobody foresaw; an ask that wants another attempt is put off by its worker.
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
 * The turn that a case gets which comes to a stage now. Cases take turns there: the first ask of a case goes into the next
 * turn, its second into the one after, so that a case with many asks holds up none with few, and is itself held up by one
 * ask of each at most a turn. A turn is a priority, and within it asks go in order of arrival; 0 is the plain queue, which
 * goes first, and is all there is while nobody waits for a later turn.
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
