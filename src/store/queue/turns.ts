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
/** Above so many shares, those with one job that may still wait are forgotten. */
const MOST_SHARES = 10_000

/**
 * Start-time fair queuing (Goyal, Vin, Cheng 1996) between shares at each queue: a share's nth job that waits gets the
 * priority turn + n, so that one with many jobs does not starve those with few; each of those delays it by at most one job
 * per turn. Within a turn jobs run in order of arrival. Turn 0 is the plain queue, which runs first, and is the only one
 * used while no share has a second job that waits. Each process counts the jobs that it adds itself.
 */
export function turns(connection: Redis) {
  const queues = new Map<string, Counted>()

  function countedOf(queue: Queue): Counted {
    const counted = queues.get(queue.name) ?? { plainUntil: 0, asking: null, nextOf: new Map<string, number>() }
    queues.set(queue.name, counted)
    return counted
  }

  /** Asks for the queue's turn, and forgets the shares whose jobs have all had their turn. */
  async function askTurn(queue: Queue, counted: Counted): Promise<number> {
    const { turn, idle } = await turnOf(connection, queue)
    const crowded = counted.nextOf.size > MOST_SHARES
    for (const [share, next] of counted.nextOf)
      if (idle || next <= turn || (crowded && next <= turn + 1)) counted.nextOf.delete(share)
    counted.plainUntil = turn === 0 ? performance.now() + BELIEVED_MS : 0
    return turn
  }

  return {
    /** The priorities of jobs of one share that are added to a queue now: one for each of their costs, in turns. */
    async next(queue: Queue, share: string, costs: readonly number[]): Promise<readonly number[]> {
      const counted = countedOf(queue)
      const { nextOf } = counted
      let turn = 0
      if (performance.now() >= counted.plainUntil || nextOf.has(share)) {
        // All who ask meanwhile have the same answer.
        counted.asking ??= askTurn(queue, counted).finally(() => {
          counted.asking = null
        })
        turn = await counted.asking
      }
      const first = Math.max(turn, nextOf.get(share) ?? 0)
      let next = first
      const priorities = costs.map((cost) => {
        const own = Math.min(next, LAST_TURN)
        next += cost
        return own
      })
      nextOf.set(share, next)
      if (next > 1) counted.plainUntil = 0
      return priorities
    },
  }
}
export type Turns = ReturnType<typeof turns>

/** What this process knows of a queue. */
interface Counted {
  /** Until when no job is believed to wait for a later turn, by this process's monotonic clock, in ms. */
  plainUntil: number
  /** The question that is under way. */
  asking: Promise<number> | null
  /** By share, the turn of its next job, while those before it may still wait. */
  readonly nextOf: Map<string, number>
}

/** The turn of a share that adds a job to the queue and has none waiting there; `idle` if no job waits at all. */
async function turnOf(connection: Redis, queue: Queue): Promise<{ readonly turn: number; readonly idle: boolean }> {
  const [plain, first] = await Promise.all([
    connection.llen(queue.toKey('wait')),
    connection.zrange(queue.toKey('prioritized'), '0', '0', 'WITHSCORES'),
  ])
  const score = first.flat()[1]
  if (score === undefined) return { turn: 0, idle: plain === 0 }
  return { turn: (plain > 0 ? 0 : Math.floor(Number(score) / TURN_SCORE)) + 1, idle: false }
}
