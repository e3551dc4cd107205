import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { TurnOwner } from '../../contracts/facts/service-class.ts'

/** BullMQ's score of a prioritized job is its priority times this, plus a counter that keeps the order of arrival. */
const TURN_SCORE = 2 ** 32
/**
 * The highest priority. Jobs that would get a later turn, after hours in which the stage was never empty, run in order
 * of arrival.
 */
const LAST_TURN = 2 ** 21 - 1
/** For so long a process believes that no job of a stage waits for a later turn, in ms, unless it adds one itself. */
const BELIEVED_MS = 100
/** Above so many shares of a tenant, those with one job that may still wait are forgotten. */
const MOST_SHARES = 10_000
/**
 * A tenant has at most so many jobs in a turn, whatever their shares: about as many as a process works on at once. With fewer, the
 * shares of one that has the service to itself would not take turns with each other: jobs keep the turn that they are given.
 */
const MOST_OF_TENANT = 32

/**
 * Start-time fair queuing (Goyal, Vin, Cheng 1996) between shares at each queue: a share's nth job that waits gets the
 * priority turn + n, so that one with many jobs does not starve those with few; each of those delays it by at most one job
 * per turn. Of a tenant no more than {@link MOST_OF_TENANT} jobs have the same turn, so that one with many shares does not starve
 * others either. Within a turn jobs run in order of arrival. Turn 0 is the plain queue, which runs first, and is the only one
 * used while no share has a second job that waits. Each process counts the jobs that it adds itself.
 */
export function turns(connection: Redis) {
  const queues = new Map<string, Counted>()

  function countedOf(queue: Queue): Counted {
    const counted = queues.get(queue.name) ?? { plainUntil: 0, asking: null, tenants: new Map<string, TenantTurns>() }
    queues.set(queue.name, counted)
    return counted
  }

  /** Asks for the queue's turn, and forgets the shares whose jobs have all had their turn. */
  async function askTurn(queue: Queue, counted: Counted): Promise<number> {
    const { turn, idle } = await turnOf(connection, queue)
    for (const [tenant, { nextOf, jobsIn }] of counted.tenants) {
      const crowded = nextOf.size > MOST_SHARES
      for (const [share, next] of nextOf)
        if (idle || next <= turn || (crowded && next <= turn + 1)) nextOf.delete(share)
      for (const past of jobsIn.keys()) if (idle || past < turn) jobsIn.delete(past)
      if (nextOf.size === 0 && jobsIn.size === 0) counted.tenants.delete(tenant)
    }
    counted.plainUntil = turn === 0 ? performance.now() + BELIEVED_MS : 0
    return turn
  }

  return {
    /** The priorities of jobs of one share that are added to a queue now: one for each of their costs, in turns. */
    async next(queue: Queue, { tenant, share }: TurnOwner, costs: readonly number[]): Promise<readonly number[]> {
      const counted = countedOf(queue)
      const known = counted.tenants.get(tenant)
      let turn = 0
      const mayBeLater = known !== undefined && (known.nextOf.has(share) || roomFrom(known, 0) > 0)
      if (performance.now() >= counted.plainUntil || mayBeLater) {
        // All who ask meanwhile have the same answer.
        counted.asking ??= askTurn(queue, counted).finally(() => {
          counted.asking = null
        })
        turn = await counted.asking
      }
      const own = counted.tenants.get(tenant) ?? {
        nextOf: new Map<string, number>(),
        jobsIn: new Map<number, number>(),
      }
      counted.tenants.set(tenant, own)
      let next = Math.max(turn, own.nextOf.get(share) ?? 0)
      const priorities = costs.map((cost) => {
        const at = roomFrom(own, next)
        own.jobsIn.set(at, (own.jobsIn.get(at) ?? 0) + 1)
        next = at + cost
        return Math.min(at, LAST_TURN)
      })
      own.nextOf.set(share, next)
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
  /** Those of whose jobs some may still wait. */
  readonly tenants: Map<string, TenantTurns>
}

interface TenantTurns {
  /** By share, the turn of its next job, while those before it may still wait. */
  readonly nextOf: Map<string, number>
  /** How many of its jobs have this turn. */
  readonly jobsIn: Map<number, number>
}

/** The first turn from this one on in which the tenant may have another job. */
function roomFrom({ jobsIn }: TenantTurns, from: number): number {
  let turn = from
  while ((jobsIn.get(turn) ?? 0) >= MOST_OF_TENANT) turn++
  return turn
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
