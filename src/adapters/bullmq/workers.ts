import { type Job, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { Work } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'
import type { JobQueues } from './job-queues.ts'
import type { AskJob, CaseJob } from './jobs.ts'
import { runAsk, runCase } from './run-jobs.ts'
import { type QueueSettings, stageSettings } from './settings.ts'

const CASE_LANES = 4
/** How long a worker pauses after an error of its own, in ms. */
const REST_MS = 1_000
/** Time for the last writes of aborted attempts, in ms. */
const FORCE_AFTER_MS = 1_000

/** The workers of this process, over the queues of cases and of all stages. */
export function queueWorkers(deps: {
  connection: Redis
  queues: JobQueues
  settings: QueueSettings
  clock: Clock
  report: Report
}) {
  const { connection, queues, settings, report } = deps
  const workers: Worker[] = []
  const stopping = new AbortController()
  let closing = false

  /** A worker whose fetch fails asks again at once, thousands of times a second: it is made to pause. */
  function rest(worker: Worker): void {
    if (worker.isPaused()) return
    void worker.pause(true)
    setTimeout(() => {
      if (!stopping.signal.aborted && !closing) void worker.resume()
    }, REST_MS).unref()
  }

  function startWorker<Data>(
    name: string,
    concurrency: number,
    run: (job: Job<Data>, token?: string) => Promise<void>,
  ): void {
    const worker = new Worker<Data>(name, run, {
      connection,
      prefix: settings.prefix,
      concurrency,
      lockDuration: settings.lockMs,
      stalledInterval: settings.stalledCheckMs,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: 2,
    })
    worker.on('error', (error) => {
      report('error', { where: `worker ${name}`, error })
      rest(worker)
    })
    worker.on('stalled', () => report('job:stalled', { queue: name }))
    worker.on('failed', (_, error) => report('error', { where: `worker ${name}`, error }))
    workers.push(worker)
  }

  return {
    start(work: Work): void {
      const parts = { ...deps, work }
      // A worker whose job ended in a wait, as case jobs do, fetches only one job at a time: several lanes fetch in
      // parallel.
      for (let lane = 0; lane < CASE_LANES; lane++)
        startWorker<CaseJob>(queues.cases.name, Math.ceil(settings.caseConcurrency / CASE_LANES), (job, token) =>
          runCase(parts, job, token),
        )
      for (const [name, stage] of queues.asks)
        startWorker<AskJob>(name, stageSettings(settings, stage).concurrency, (job, token) =>
          runAsk(parts, job, token, stopping.signal),
        )
    },

    /** Takes no more jobs, aborts attempts after `graceMs`, and returns when all have ended, or a second later. */
    async close(graceMs: number): Promise<void> {
      closing = true
      const there = new Set(workers)
      const gone = Promise.all(workers.map((worker) => worker.close().then(() => there.delete(worker))))
      const abort = setTimeout(() => stopping.abort(new Error('the service is stopping')), graceMs)
      const force = new Promise<void>((resolve) => setTimeout(resolve, graceMs + FORCE_AFTER_MS).unref())
      await Promise.race([gone, force])
      clearTimeout(abort)
      // A worker that does not stop is abandoned: the locks of its jobs expire, and other workers run them again.
      for (const { name } of there)
        report('error', { where: `worker ${name}`, error: new Error('worker did not stop in time; abandoned') })
    },
  }
}
