import { DelayedError, type Job, type JobJson, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { fairSlots } from '../../contracts/facts/slots.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { casesNamed, type Report } from '../../contracts/ports/report.ts'
import type { StageQueues, Work } from '../../contracts/ports/stage-queues.ts'
import { backlogOf } from './backlog.ts'
import { type LoopLag, loopLag, watchLoop } from './loop-lag.ts'
import { type PutOff, runAsks, runCase, runWaiting, type StageRun } from './run-jobs.ts'
import {
  type AskJob,
  type CaseJob,
  caseJobs,
  closeJobQueues,
  delayUntil,
  type JobQueues,
  openJobQueues,
  type QueueSettings,
  type Stage,
  stageName,
  stageSettings,
} from './stage-queues.ts'
import { type Turns, turns } from './turns.ts'

/** How long a worker pauses after an error of its own, in ms. */
const REST_MS = 1_000
/**
 * Longest wait for a job, in s. Jobs wake a worker at once; but a worker that was killed just as it woke leaves its job to those
 * that look again.
 */
const LONGEST_WAIT_S = 5
/** Time for the last writes of aborted attempts, in ms. */
const FORCE_AFTER_MS = 1_000

/**
 * Stage queues on BullMQ. A case's job advances it and ends; each group of asks is a job of its stage, and the one whose
 * answer ends the round advances the case before it ends. Should it die before that, it is run again elsewhere, finds
 * everything answered, and advances the case.
 */
export function bullQueues(deps: {
  connection: Redis
  stages: readonly Stage[]
  settings: QueueSettings
  clock: Clock
  report: Report
}): StageQueues {
  const { connection, stages, settings, clock, report } = deps
  const queues = openJobQueues({ connection, prefix: settings.prefix, stages, report })
  const takingTurns = turns(connection)
  const workers = queueWorkers({ connection, queues, turns: takingTurns, settings, clock, report })

  return {
    ...caseJobs(queues, takingTurns),

    work: (work) => workers.start(work),

    backlog: () => backlogOf(queues, connection, clock),

    async close(graceMs) {
      await workers.close(graceMs)
      await closeJobQueues(queues)
    },
  }
}

/** A worker whose locks follow the lag of the event loop. */
class LagAwareWorker<Data> extends Worker<Data> {
  lag: LoopLag | undefined
  /** Jobs that were fetched and have not ended, by id. */
  readonly #fetched = new Map<string, Job<Data>>()

  override async extendJobLocks(jobIds: string[], tokens: string[], duration: number): Promise<string[]> {
    const began = performance.now()
    const lapsed = await super.extendJobLocks(jobIds, tokens, Math.max(duration, this.lag?.leaseMs ?? 0))
    this.lag?.renewed(performance.now() - began)
    return lapsed
  }

  /**
   * A job's lock is renewed from when the job was fetched, not only from when it begins: BullMQ fetches jobs for all free slots one
   * after the other before it begins the first of them, which for hundreds of slots may take longer than a lock holds.
   */
  protected override async nextJobFromJobData(
    data?: JobJson,
    id?: string,
    token?: string,
  ): ReturnType<Worker<Data>['getNextJob']> {
    const job = await super.nextJobFromJobData(data, id, token)
    if (job?.id !== undefined) {
      this.#fetched.set(job.id, job)
      this.#renew(job)
    }
    return job
  }

  /**
   * A job that was put off may be fetched anew before its worker has noted that it ended: what is no longer renewed then, by its id,
   * would be the lock of the new run.
   */
  override async processJob(...given: Parameters<Worker<Data>['processJob']>): ReturnType<Worker<Data>['processJob']> {
    const [{ id = '' }] = given
    const next = await super.processJob(...given)
    const newest = this.#fetched.get(id)
    if (newest === given[0]) this.#fetched.delete(id)
    else if (newest !== undefined) this.#renew(newest)
    return next
  }

  /** Renews its lock no more. */
  letGo({ id }: Job<Data>): void {
    if (id !== undefined) this.lockManager.untrackJob(id)
  }

  #renew({ id, token, processedOn = Date.now() }: Job<Data>): void {
    if (id !== undefined && token !== undefined) this.lockManager.trackJob(id, token, processedOn)
  }

  /** For jobs that are taken from now on. */
  follow(lag: LoopLag, concurrency: number): void {
    this.lag = lag
    this.opts.lockDuration = lag.leaseMs
    this.concurrency = Math.ceil(lag.share * concurrency)
  }
}

/** The case that a job is for. */
function caseOf(data: unknown): { caseId?: string } {
  const { caseId } = (data ?? {}) as { readonly caseId?: unknown }
  return typeof caseId === 'string' ? { caseId } : {}
}

/** The workers of this process, over the queues of cases and of all stages. */
function queueWorkers(deps: {
  connection: Redis
  queues: JobQueues
  turns: Turns
  settings: QueueSettings
  clock: Clock
  report: Report
}) {
  const { connection, queues, settings, report } = deps
  const workers: Worker[] = []
  const draining = new AbortController()
  const stopping = new AbortController()
  const lag = loopLag(settings.queues.lock, {
    lagged: (change) => report('loop:lagged', change),
    shared: (share) => report('slots:shared', { share }),
  })
  const following: (() => void)[] = []
  let watch: ReturnType<typeof watchLoop> | undefined

  /** A worker whose fetch fails asks again at once, thousands of times a second: it is made to pause. */
  function rest(worker: Worker): void {
    if (worker.isPaused()) return
    void worker.pause(true)
    setTimeout(() => {
      if (!draining.signal.aborted) void worker.resume()
    }, REST_MS).unref()
  }

  function startWorker<Data>(name: string, concurrency: number, run: (job: Job<Data>) => Promise<PutOff>): void {
    /** The cases of the jobs that this worker runs, by job. */
    const running = new Map<string, string>()
    const noted = async (job: Job<Data>, token?: string) => {
      const [{ id }, { caseId }] = [job, caseOf(job.data)]
      if (id !== undefined && caseId !== undefined) running.set(id, caseId)
      const readyAt = await run(job).finally(() => id !== undefined && running.delete(id))
      if (readyAt === null) return
      // From when it is put off the lock is another run's.
      worker.letGo(job)
      await delayUntil(job, readyAt, token)
      throw new DelayedError()
    }
    const worker = new LagAwareWorker<Data>(name, noted, {
      connection,
      prefix: settings.prefix,
      concurrency,
      lockDuration: settings.queues.lock,
      stalledInterval: settings.queues.stalledCheck,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      drainDelay: LONGEST_WAIT_S,
    })
    worker.on('error', (error) => {
      report('error', { where: `worker ${name}`, error })
      rest(worker)
    })
    worker.on('lockRenewalFailed', (jobs) => {
      const cases = jobs.flatMap((id) => running.get(id) ?? [])
      report('job:lapsed', { queue: name, jobs: jobs.length, ...casesNamed(cases) })
    })
    worker.on('stalled', () => report('job:stalled', { queue: name }))
    worker.on('failed', (job, error) => report('error', { where: `worker ${name}`, error, ...caseOf(job?.data) }))
    workers.push(worker)
    following.push(() => worker.follow(lag, concurrency))
  }

  return {
    start(work: Work): void {
      const parts = { ...deps, work }
      watch = watchLoop(lag, () => {
        for (const follow of following) follow()
      })
      const signals = { draining: draining.signal, stopping: stopping.signal }
      const { concurrency: casesAtOnce } = settings.cases
      for (const { name } of [queues.cases, queues.waiting.cases])
        startWorker<CaseJob>(name, casesAtOnce, (job) => runCase(parts, job))
      const atOnce: number[] = []
      const runs = new Map<string, StageRun>()
      for (const { queue, ...stage } of queues.asks.values()) {
        const { concurrency, perAuthor: ofPart = Math.ceil(concurrency / 2) } = stageSettings(settings, stage)
        const all = () => Math.ceil(lag.share * concurrency)
        const run = { ...signals, slots: fairSlots({ all, ofPart, weights: settings.classes }) }
        atOnce.push(concurrency)
        runs.set(stageName(stage), run)
        startWorker<AskJob>(queue.name, concurrency, (job) => runAsks(parts, run, job))
      }
      // Their asks take turns with those of the rest at the slots of their stages.
      startWorker<AskJob>(queues.waiting.asks.name, Math.max(1, ...atOnce), (job) => runWaiting(parts, runs, job))
    },

    /** Takes no more jobs, aborts attempts after `graceMs`, and returns when all have ended, or a second later. */
    async close(graceMs: number): Promise<void> {
      draining.abort()
      const there = new Set(workers)
      const gone = Promise.all(workers.map((worker) => worker.close().then(() => there.delete(worker))))
      const abort = setTimeout(() => stopping.abort(new Error('the service is stopping')), graceMs)
      const force = new Promise<void>((resolve) => setTimeout(resolve, graceMs + FORCE_AFTER_MS).unref())
      await Promise.race([gone, force])
      watch?.close()
      clearTimeout(abort)
      // A worker that does not stop is abandoned: the locks of its jobs expire, and other workers run them again.
      for (const { name } of there)
        report('error', { where: `worker ${name}`, error: new Error('worker did not stop in time; abandoned') })
    },
  }
}
