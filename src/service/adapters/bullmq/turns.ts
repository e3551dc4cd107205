import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'

/** BullMQ's score of a prioritized job is its priority times this, plus a counter that keeps the order of arrival. */
const TURN_SCORE = 2 ** 32
/**
 * The highest priority. Jobs that would get a later turn, after hours in which the stage was never empty, run in order
 * of arrival.
 */
const LAST_TURN = 2 ** 21 - 1
/** For so long a process believes that no job of a stage waits for a later turn, in ms, unless it adds one itself. */
const BELIEVED_MS = 100

/**
 * Round-robin fairness between the cases at each stage: a case's nth job gets the priority turn + n, so that a case with
 * many jobs does not starve cases with few; each of those delays it by at most one job per turn. Within a turn jobs run
 * in order of arrival. Turn 0 is the plain queue, which runs first, and is the only one used while no job waits for a
 * later turn.
 */
export function turns(connection: Redis) {
  /** By stage, until when no job is believed to wait for a later turn. */
  const plainUntil = new Map<string, number>()
  /** By stage, the question that is under way; all who ask meanwhile have its answer. */
  const asking = new Map<string, Promise<number>>()

  function turnOf(queue: Queue): Promise<number> {
    const asked = asking.get(queue.name) ?? nextTurn(connection, queue).finally(() => asking.delete(queue.name))
    asking.set(queue.name, asked)
    return asked
  }

  return {
    /** The priorities of this many jobs of one case that are added to a stage's queue now. */
    async next(queue: Queue, jobs: number): Promise<readonly number[]> {
      const isPlain = performance.now() < (plainUntil.get(queue.name) ?? 0)
      const turn = isPlain ? 0 : await turnOf(queue)
      if (turn > 0 || jobs > 1) plainUntil.delete(queue.name)
      else if (!isPlain) plainUntil.set(queue.name, performance.now() + BELIEVED_MS)
      return Array.from({ length: jobs }, (_, index) => Math.min(turn + index, LAST_TURN))
    },
  }
}
export type Turns = ReturnType<typeof turns>

/** The turn of a case that adds jobs to a stage now. */
async function nextTurn(connection: Redis, queue: Queue): Promise<number> {
  const [plain, first] = await Promise.all([
    connection.llen(queue.toKey('wait')),
    connection.zrange(queue.toKey('prioritized'), '0', '0', 'WITHSCORES'),
  ])
  const score = first.flat()[1]
  if (score === undefined) return 0
  return (plain > 0 ? 0 : Math.floor(Number(score) / TURN_SCORE)) + 1
}
