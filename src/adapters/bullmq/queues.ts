import { createHash } from 'node:crypto'
import { DelayedError, type IQueueBackend, type Job, Queue, WaitingChildrenError, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { entryOf } from '../../domain/entry-of.ts'
import type { Clock } from '../../ports/clock.ts'
import type { StageBacklog, StagedAsk, StageQueues, Work } from '../../ports/queues.ts'
import type { Report } from '../../ports/report.ts'

export interface QueueSettings {
  readonly prefix: string
  /** Cases advanced at once in this process. */
  readonly caseConcurrency: number
  /** By `PROTOCOL.STAGE` or `STAGE`; `default` for the rest. */
  readonly stages: Readonly<Record<string, { concurrency: number; attempts: number; backoffMs: number }>>
  readonly lockMs: number
  readonly stalledCheckMs: number
}

interface CaseJob {
  readonly caseId: string
  /** Since when it may be taken up, ms since 1970; absent until it has been handed back. */
  readonly readyAt?: number
}
interface AskJob extends StagedAsk {
  readonly heldMs: number
  /** Attempts made and paid for; absent in jobs of earlier versions, where BullMQ counted them. */
  readonly tries?: number
  /** Since when it may be taken up, ms since 1970. */
  readonly readyAt: number
}

const CASES = 'cases'
const CASE_LANES = 4
/** Children of a case whose job was lost are looked at this many at a time. */
const CHILDREN_LOOKED_AT = 100

/**
 * Stage queues on BullMQ. A case's job adds its asks as children on their stages' queues, waits for all of them
 * (`moveToWaitingChildren`), and runs again; a child that fails for good frees its parent, which then asks anew.
 */
export function bullQueues(deps: {
  connection: Redis
  stages: readonly { protocol: string; stage: string }[]
  settings: QueueSettings
  clock: Clock
  report: Report
}): StageQueues {
  const { connection, stages, settings, clock, report } = deps
  const shared = { connection, prefix: settings.prefix }
  const streams = { events: { maxLen: 100 } }
  const cases = new Queue<CaseJob>(CASES, { ...shared, streams })
  const asks = new Map(
    stages.map(({ protocol, stage }) => [
      queueName(protocol, stage),
      { protocol, stage, queue: new Queue<AskJob>(queueName(protocol, stage), { ...shared, streams }) },
    ]),
  )
  for (const queue of [cases, ...[...asks.values()].map(({ queue }) => queue)])
    queue.on('error', (error) => report('error', { where: 'bullmq', error }))
  const workers: Worker[] = []
  const stopping = new AbortController()
  let closing = false

  async function addAsks(parent: Job<CaseJob>, staged: readonly StagedAsk[]): Promise<void> {
    const byQueue = Map.groupBy(staged, ({ protocol, stage }) => queueName(protocol, stage))
    await Promise.all(
      [...byQueue].map(async ([name, group]) => {
        const target = asks.get(name)
        if (target === undefined) throw new Error(`the stage ${name} is not declared`)
        const { attempts, backoffMs } = stageSettings(settings, target)
        const turn = await nextTurn(target.queue)
        return target.queue.addBulk(
          group.map((ask, index) => ({
            name: ask.stage,
            data: { ...ask, heldMs: 0, tries: 0, readyAt: clock() },
            opts: {
              jobId: jobId(ask.caseId, String(ask.run), ask.key),
              parent: { id: idOf(parent), queue: cases.qualifiedName },
              ignoreDependencyOnFailure: true,
              priority: Math.min(turn + index, LAST_TURN),
              // Of errors that nobody foresaw; asks that want another attempt say so.
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
  async function nextTurn(queue: Queue<AskJob>): Promise<number> {
    const [plain, first] = await Promise.all([
      connection.llen(queue.toKey('wait')),
      connection.zrange(queue.toKey('prioritized'), '0', '0', 'WITHSCORES'),
    ])
    const score = first.flat()[1]
    if (score === undefined) return 0
    return (plain > 0 ? 0 : Math.floor(Number(score) / TURN_SCORE)) + 1
  }

  async function runCase(work: Work, job: Job<CaseJob>, token: string | undefined): Promise<void> {
    for (;;) {
      const advance = await work.advance(job.data.caseId)
      if (advance.next === 'done') return
      if (advance.next === 'later') {
        const readyAt = clock() + advance.delayMs
        await job.updateData({ ...job.data, readyAt })
        await delayUntil(job, readyAt, token)
        throw new DelayedError()
      }
      await addAsks(job, advance.asks)
      if (await job.moveToWaitingChildren(token ?? '')) throw new WaitingChildrenError()
    }
  }

  async function runAsk(work: Work, job: Job<AskJob>, token: string | undefined): Promise<void> {
    const { heldMs, readyAt: since, tries = 0, ...ask } = job.data
    const { attempts = 1 } = job.opts
    const number = tries + job.attemptsMade + 1
    const end = await work.answer(ask, {
      number,
      last: number >= attempts,
      waitSeconds: Math.max(0, clock() - since) / 1000,
      heldMs,
      signal: stopping.signal,
    })
    if (end.end === 'done') return
    // BullMQ would count the pause between attempts by this machine's clock, which may be wrong by hours.
    const pauseMs =
      end.end === 'again' ? jittered(stageSettings(settings, ask).backoffMs * 2 ** (number - 1)) : end.delayMs
    const readyAt = clock() + pauseMs
    await job.updateData(
      end.end === 'again'
        ? { ...job.data, tries: tries + 1, readyAt }
        : { ...job.data, heldMs: heldMs + pauseMs, readyAt },
    )
    await delayUntil(job, readyAt, token)
    throw new DelayedError()
  }

  /** A worker whose fetch fails asks again at once, thousands of times a second: it is let to breathe. */
  function rest(worker: Worker): void {
    if (worker.isPaused()) return
    void worker.pause(true)
    setTimeout(() => {
      if (!stopping.signal.aborted && !closing) void worker.resume()
    }, REST_MS).unref()
  }

  const startWorker = <Data>(
    name: string,
    concurrency: number,
    run: (job: Job<Data>, token?: string) => Promise<void>,
  ) => {
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

  async function isStillOpen(jobKey: string): Promise<boolean> {
    const [queue, id] = [jobKey.slice(0, jobKey.lastIndexOf(':')), jobKey.slice(jobKey.lastIndexOf(':') + 1)]
    const target = [...asks.values()].find((candidate) => candidate.queue.qualifiedName === queue)
    return target !== undefined && LIVE.has(await target.queue.getJobState(id))
  }

  /** False for a job that somebody has taken up meanwhile. */
  const removed = (job: Job<CaseJob>) =>
    job.remove({ removeChildren: true }).then(
      () => true,
      () => false,
    )

  return {
    async push(caseIds) {
      if (caseIds.length === 0) return
      await cases.addBulk(
        caseIds.map((caseId) => ({ name: 'case', data: { caseId }, opts: { jobId: jobId(caseId), ...ENDED_JOBS_GO } })),
      )
    },

    work(work) {
      // A worker fetches one job after the other where the one before ended in a wait, as cases do: lanes fetch at once.
      for (let lane = 0; lane < CASE_LANES; lane++)
        startWorker<CaseJob>(CASES, Math.ceil(settings.caseConcurrency / CASE_LANES), (job, token) =>
          runCase(work, job, token),
        )
      for (const [name, target] of asks)
        startWorker<AskJob>(name, stageSettings(settings, target).concurrency, (job, token) => runAsk(work, job, token))
    },

    async stranded(caseIds) {
      const found: string[] = []
      for (const caseId of caseIds) {
        const job = await cases.getJob(jobId(caseId))
        const state = job === undefined ? 'unknown' : await job.getState()
        if (job === undefined) found.push(caseId)
        else if (state === 'waiting-children') {
          const { unprocessed = [] } = await job.getDependencies({ unprocessed: { count: CHILDREN_LOOKED_AT } })
          const open = await Promise.all(unprocessed.map(isStillOpen))
          if (!open.includes(true) && (await removed(job))) found.push(caseId)
        } else if (!LIVE.has(state) && (await removed(job))) found.push(caseId)
      }
      return found
    },

    async drop(caseIds) {
      for (const caseId of caseIds) {
        const job = await cases.getJob(jobId(caseId))
        if (job !== undefined) await removed(job)
      }
    },

    async backlog() {
      const stage = async (protocol: string, name: string, queue: Queue): Promise<StageBacklog> => {
        // Of those that wait for a later turn, the oldest is the next one or the last of a case with many asks.
        const [counts, ...eldest] = await Promise.all([
          queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed'),
          queue.getJobs(['waiting'], 0, 0, true),
          queue.getJobs(['prioritized'], 0, 0, true),
          queue.getJobs(['prioritized'], 0, 0, false),
        ])
        const { waiting = 0, prioritized = 0, active = 0, delayed = 0 } = counts
        // A job may go between the two looks at it.
        const since = eldest.flat().flatMap((job: Job | undefined) => (job === undefined ? [] : [readyAtOf(job)]))
        const oldestWaitingSeconds = Math.max(0, clock() - Math.min(clock(), ...since)) / 1000
        const states = { waiting: waiting + prioritized, active, delayed }
        return { protocol, stage: name, states, oldestWaitingSeconds }
      }
      return Promise.all([
        stage('all', 'case', cases),
        ...[...asks.values()].map(({ protocol, stage: name, queue }) => stage(protocol, name, queue)),
      ])
    },

    async close(graceMs) {
      closing = true
      const there = new Set(workers)
      const workersGone = Promise.all(workers.map((worker) => worker.close().then(() => there.delete(worker))))
      const abort = setTimeout(() => stopping.abort(new Error('the service is stopping')), graceMs)
      const force = new Promise<void>((resolve) => setTimeout(resolve, graceMs + FORCE_AFTER_MS).unref())
      await Promise.race([workersGone, force])
      clearTimeout(abort)
      // A worker that will not end is left behind: its jobs' locks lapse, and others do them again.
      for (const { name } of there) report('error', { where: `worker ${name}`, error: new Error('it does not end') })
      const queuesGone = Promise.all([cases.close(), ...[...asks.values()].map(({ queue }) => queue.close())])
      await Promise.race([queuesGone, new Promise<void>((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref())])
    },
  }
}

const LIVE: ReadonlySet<string> = new Set(['waiting', 'active', 'delayed', 'prioritized', 'waiting-children'])
/** BullMQ's score of a prioritized job is its priority times this, and a count that keeps the order of arrival. */
const TURN_SCORE = 2 ** 32
/** The highest priority there is; who comes later than that, after hours in which the stage was never empty, stands in line. */
const LAST_TURN = 2 ** 21 - 1
const ENDED_JOBS_GO = { removeOnComplete: true, removeOnFail: true } as const
/** How long a worker does nothing after an error of its own, in ms. */
const REST_MS = 1_000
/** After the attempts have been aborted, their last writes get this long. */
const FORCE_AFTER_MS = 1_000
/** Longest wait for the queues' connections to close. */
const CLOSE_TIMEOUT_MS = 300

/** Since when a job could have been taken up: what was handed back, or held, waits from then on. */
function readyAtOf({ timestamp, data }: Job): number {
  const { readyAt, heldMs } = data as Partial<AskJob>
  return Number(readyAt) || timestamp + (Number(heldMs) || 0)
}

/** So that what failed together is not tried again together: between half of it and the whole. */
function jittered(ms: number): number {
  return ms * (1 - Math.random() / 2)
}

/**
 * `Job.moveToDelayed` counts from this machine's clock, and takes a time before it for that clock's own. What it calls takes
 * the time as it is; BullMQ's types hide it from all but a job's own methods.
 */
async function delayUntil(job: Job, at: number, token = ''): Promise<void> {
  const { backend } = job as unknown as { readonly backend: Pick<IQueueBackend, 'moveToDelayed'> }
  await backend.moveToDelayed(idOf(job), at, 0, token, { skipAttempt: true })
}

function queueName(protocol: string, stage: string): string {
  return `${protocol}.${stage}`
}

function stageSettings(settings: QueueSettings, of: { protocol: string; stage: string }) {
  const found =
    entryOf(settings.stages, queueName(of.protocol, of.stage)) ??
    entryOf(settings.stages, of.stage) ??
    settings.stages.default
  if (found === undefined) throw new Error('settings.stages.default is missing')
  return found
}

/** Ids of jobs hold no colon and are not all digits, whatever the subject's id is. */
function jobId(...parts: string[]): string {
  return `j${createHash('sha256').update(parts.join('\0')).digest('base64url').slice(0, 24)}`
}

function idOf(job: Job): string {
  if (job.id === undefined) throw new Error('a job without an id')
  return job.id
}
