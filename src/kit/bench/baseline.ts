import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Queue, WaitingChildrenError, Worker } from 'bullmq'
import { connect, type RedisSettings } from '../../store/redis/connect.ts'
import { type Percentiles, percentiles } from './percentiles.ts'

/** Cases of the baseline, and the asks of each of its three rounds: those of a rumor verdict. */
const CASES = 1_000
const ROUNDS = [3, 2, 2] as const

/**
 * What bare BullMQ does on this machine, at this moment: cases a second, each a job that three times waits for children
 * which do nothing. No protocol, journal, model or Kafka: the yardstick for verdicts a second, as machines differ and are
 * shared.
 */
export async function bareCasesPerSecond(redis: RedisSettings): Promise<number> {
  const connection = connect(redis, () => {}, 'retrying')
  const shared = { connection, prefix: `{baseline-${randomBytes(4).toString('hex')}}` }
  const cases = new Queue('cases', shared)
  const asks = new Queue('asks', shared)
  const rounds = new Map<string, number>()
  let ended = 0
  const done = Promise.withResolvers<void>()
  const asksWorker = new Worker('asks', async () => {}, { ...shared, concurrency: 64 })
  const casesWorker = new Worker(
    'cases',
    async (job, token = '') => {
      const id = job.id ?? ''
      for (let round = rounds.get(id) ?? 0; ; round++) {
        const count = ROUNDS[round]
        if (count === undefined) {
          if (++ended === CASES) done.resolve()
          return
        }
        rounds.set(id, round + 1)
        const opts = { parent: { id, queue: cases.qualifiedName }, removeOnComplete: true }
        await asks.addBulk(Array.from({ length: count }, () => ({ name: 'ask', data: {}, opts })))
        if (await job.moveToWaitingChildren(token)) throw new WaitingChildrenError()
      }
    },
    { ...shared, concurrency: 32, autorun: false },
  )
  try {
    const jobs = Array.from({ length: CASES }, () => ({ name: 'case', data: {}, opts: { removeOnComplete: true } }))
    await cases.addBulk(jobs)
    const started = performance.now()
    void casesWorker.run()
    await done.promise
    return CASES / ((performance.now() - started) / 1000)
  } finally {
    await Promise.all([casesWorker.close(), asksWorker.close()])
    await Promise.all([cases.close(), asks.close()])
    connection.disconnect()
  }
}

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
