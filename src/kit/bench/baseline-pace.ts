import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue, WaitingChildrenError, Worker } from 'bullmq'
import { connect, type RedisSettings } from '../../service/adapters/redis/connect.ts'
import { type Percentiles, percentiles } from './percentiles.ts'

/** The asks of each of a case's three rounds, as in the baseline. */
const ROUNDS = [3, 2, 2] as const

/**
 * How long a case of the baseline takes when so many arrive a second, in ms: bare BullMQ, a job that three times waits for
 * children which do nothing. The yardstick for overhead, at this load and moment.
 */
export async function bareCaseMs(
  redis: RedisSettings,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<Percentiles> {
  const connection = connect(redis, () => {}, 'retrying')
  const shared = { connection, prefix: `{baseline-${randomBytes(4).toString('hex')}}` }
  const cases = new Queue<{ due: number }>('cases', shared)
  const asks = new Queue('asks', shared)
  const rounds = new Map<string, number>()
  const took: number[] = []
  const count = Math.ceil(perSecond * seconds)
  const done = Promise.withResolvers<void>()
  const asksWorker = new Worker('asks', async () => {}, { ...shared, concurrency: 64 })
  const casesWorker = new Worker<{ due: number }>(
    'cases',
    async (job, token = '') => {
      const id = job.id ?? ''
      for (let round = rounds.get(id) ?? 0; ; round++) {
        const size = ROUNDS[round]
        if (size === undefined) {
          rounds.delete(id)
          if (took.push(performance.now() - job.data.due) === count) done.resolve()
          return
        }
        rounds.set(id, round + 1)
        const opts = { parent: { id, queue: cases.qualifiedName }, removeOnComplete: true }
        await asks.addBulk(Array.from({ length: size }, () => ({ name: 'ask', data: {}, opts })))
        if (await job.moveToWaitingChildren(token)) throw new WaitingChildrenError()
      }
    },
    { ...shared, concurrency: 32 },
  )
  try {
    const started = performance.now()
    for (let at = 0; at < count; at++) {
      const due = started + (at * 1000) / perSecond
      await sleep(Math.max(0, due - performance.now()))
      void cases.add('case', { due }, { removeOnComplete: true })
    }
    await done.promise
    return percentiles(took)
  } finally {
    await Promise.all([casesWorker.close(), asksWorker.close()])
    await Promise.all([cases.close(), asks.close()])
    connection.disconnect()
  }
}
