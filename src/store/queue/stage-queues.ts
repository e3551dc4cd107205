import { hash } from 'node:crypto'
import { type IQueueBackend, type Job, Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { type ClassShares, classOf, ownerOf } from '../../contracts/facts/service-class.ts'
import { scopeOf } from '../../contracts/facts/verdict-id.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { AskGroup, StageQueues } from '../../contracts/ports/stage-queues.ts'
import type { Turns } from './turns.ts'

export interface QueueSettings {
  /** Of all keys in Redis. */
  readonly prefix: string
  /** Cases advanced at once in this process. */
  readonly cases: { readonly concurrency: number }
  /** By `PROTOCOL.STAGE` or `STAGE`; `default` for the rest. */
  readonly stages: Readonly<Record<string, StageSettings>>
  /** The part of each stage's asks at work that each class has for certain. */
  readonly classes: ClassShares
  readonly queues: {
    /** If a worker does not renew a job's lock for this long, another worker runs the job, in ms. */
    readonly lock: number
    /** How often a worker looks for such jobs, in ms. */
    readonly stalledCheck: number
  }
}

interface StageSettings {
  /** Asks answered at once in this process. */
  readonly concurrency: number
  /** Of these, most of one share; absent: half. */
  readonly perAuthor?: number | undefined
  readonly attempts: number
  /** Pause after the first attempt, in ms; twice as long after each further one. */
  readonly backoff: number
}

/** A stage of a protocol; it has its own queue. */
export interface Stage {
  readonly protocol: string
  readonly stage: string
}

/** The stage's name in settings, metrics and log lines, and its queue's. */
export function stageName({ protocol, stage }: Stage): string {
  return `${protocol}.${stage}`
}

/** Throws if the settings have no `default`. */
export function stageSettings({ stages }: QueueSettings, of: Stage): StageSettings {
  const found = entryOf(stages, stageName(of)) ?? entryOf(stages, of.stage) ?? stages.default
  if (found === undefined) throw new Error('settings.stages.default is missing')
  return found
}

/** The data of a case's job. */
export interface CaseJob {
  readonly caseId: string
  /** Whose share of the service it uses; absent where that was not known. */
  readonly share?: string | undefined
  /** Since when it could have been started, ms since 1970; absent until it has been delayed. */
  readonly readyAt?: number
}

/** The data of the job of a group of asks: those that are still open. */
export interface AskJob extends Omit<AskGroup, 'keys'> {
  readonly asks: readonly OpenAsk[]
}

/** An ask between its attempts. */
export interface OpenAsk {
  readonly key: string
  /** How long it has been deferred so far at no attempt's cost, in ms. */
  readonly heldMs: number
  /** Attempts made and paid for. */
  readonly tries: number
  /** Since when it could have been started, ms since 1970. */
  readonly readyAt: number
  /** What ended its last attempt without an answer; absent before, and if that is not known. */
  readonly why?: string | undefined
}

/** States of a job that will run. */
export const LIVE: ReadonlySet<string> = new Set(['waiting', 'active', 'delayed', 'prioritized'])

/** Options of all jobs: they are removed when they end. */
export const ENDED_JOBS_GO = { removeOnComplete: true, removeOnFail: true } as const

export interface StageQueue extends Stage {
  readonly queue: Queue<AskJob>
}

/** BullMQ's queues: one for cases, and one for each stage, by the stage's name. */
export interface JobQueues {
  readonly cases: Queue<CaseJob>
  readonly asks: ReadonlyMap<string, StageQueue>
  /** Those for which somebody waits, of all stages: so they stand behind none of the rest. */
  readonly waiting: { readonly cases: Queue<CaseJob>; readonly asks: Queue<AskJob> }
}

const CASES = 'cases'
const WAITING_CASES = 'waiting.cases'
const WAITING_ASKS = 'waiting.asks'
/** Events that BullMQ keeps for each queue, for people who debug it. */
const MOST_EVENTS = 100
/** Longest wait for the queues' connections to close, in ms. */
const CLOSE_TIMEOUT_MS = 300

export function openJobQueues(deps: {
  connection: Redis
  prefix: string
  stages: readonly Stage[]
  report: Report
}): JobQueues {
  const { connection, prefix, stages, report } = deps
  const open = <Data>(name: string): Queue<Data> => {
    const queue = new Queue<Data>(name, { connection, prefix, streams: { events: { maxLen: MOST_EVENTS } } })
    queue.on('error', (error) => report('error', { where: 'bullmq', error }))
    return queue
  }
  return {
    cases: open<CaseJob>(CASES),
    asks: new Map(
      stages.map((stage) => [stageName(stage), { ...stage, queue: open<AskJob>(stageName(stage)) }] as const),
    ),
    waiting: { cases: open<CaseJob>(WAITING_CASES), asks: open<AskJob>(WAITING_ASKS) },
  }
}

export function allQueues({ cases, asks, waiting }: JobQueues): Queue[] {
  return [cases, ...[...asks.values()].map(({ queue }) => queue), waiting.cases, waiting.asks]
}

/** The queue of a case's own job. */
export function casesQueue({ cases, waiting }: JobQueues, caseId: string): Queue<CaseJob> {
  return classOf(caseId) === 'waiting' ? waiting.cases : cases
}

/** The queue of a group's job; undefined if its stage is not declared. */
export function asksQueue({ asks, waiting }: JobQueues, group: Stage & { readonly caseId: string }) {
  const queue = asks.get(stageName(group))?.queue
  return queue !== undefined && classOf(group.caseId) === 'waiting' ? waiting.asks : queue
}

/** Closes them; returns within {@link CLOSE_TIMEOUT_MS} in any case. */
export async function closeJobQueues(queues: JobQueues): Promise<void> {
  const closed = Promise.all(allQueues(queues).map((queue) => queue.close()))
  await Promise.race([closed, new Promise<void>((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref())])
}

/** What the service and a person at a command do alike with cases' jobs. */
export function caseJobs(queues: JobQueues, turns: Turns): Pick<StageQueues, 'push' | 'stranded' | 'drop'> {
  return {
    async push(caseIds, shares = new Map()) {
      if (caseIds.length === 0) return
      const byQueue = Map.groupBy(caseIds, (caseId) => casesQueue(queues, caseId))
      for (const [queue, ofQueue] of byQueue) {
        const byShare = Map.groupBy(ofQueue, (caseId) => ownerOf(caseId, shares.get(caseId) ?? caseId).part)
        const jobs = await Promise.all(
          [...byShare].map(async ([share, ofShare]) => {
            const owner = { tenant: scopeOf(ofShare[0] ?? '').tenant, share }
            const priorities = await turns.next(
              queue,
              owner,
              ofShare.map(() => 1),
            )
            return ofShare.map((caseId, index) => ({
              name: 'case',
              data: { caseId, share: shares.get(caseId) },
              opts: { jobId: caseJobId(caseId), priority: priorities[index] ?? 0, ...ENDED_JOBS_GO },
            }))
          }),
        )
        await queue.addBulk(jobs.flat())
      }
    },
    async stranded(cases) {
      const found: string[] = []
      for (const one of cases) if (await isStranded(queues, one)) found.push(one.caseId)
      return found
    },
    async drop(caseIds) {
      for (const caseId of caseIds) await dropJob(queues, caseId)
    },
  }
}

/** Groups looked at, of a case that waits for many. */
const MOST_GROUPS = 100

/** Whether nothing will ever continue the case: neither a job of its own nor one of the groups that it waits for is live. */
async function isStranded(
  queues: JobQueues,
  { caseId, groups }: { readonly caseId: string; readonly groups: readonly AskGroup[] },
): Promise<boolean> {
  if (await isContinued(queues, caseId)) return false
  const states = await Promise.all(
    groups.slice(0, MOST_GROUPS).map((group) => asksQueue(queues, group)?.getJobState(askJobId(group))),
  )
  return !states.some((state) => state !== undefined && LIVE.has(state))
}

/** Whether the case has a job of its own that will run; a dead one is removed. */
async function isContinued(queues: JobQueues, caseId: string): Promise<boolean> {
  const job = await casesQueue(queues, caseId).getJob(caseJobId(caseId))
  if (job === undefined) return false
  if (LIVE.has(await job.getState())) return true
  return !(await removed(job))
}

/** Removes the case's job, unless a worker has it. */
async function dropJob(queues: JobQueues, caseId: string): Promise<void> {
  const job = await casesQueue(queues, caseId).getJob(caseJobId(caseId))
  if (job !== undefined) await removed(job)
}

/** False for a job that a worker has started meanwhile. */
async function removed(job: Job<CaseJob>): Promise<boolean> {
  return job.remove().then(
    () => true,
    () => false,
  )
}

export function caseJobId(caseId: string): string {
  return jobId(caseId)
}

/** A round may ask at two stages: of a case for which somebody waits both are in one queue, which takes an id once. */
export function askJobId(group: Pick<AskGroup, 'protocol' | 'stage' | 'caseId' | 'run' | 'name'>): string {
  const { caseId, run, name } = group
  return jobId(caseId, String(run), name, ...(classOf(caseId) === 'waiting' ? [stageName(group)] : []))
}

/** Job ids contain no colon and are not all digits, whatever the subject's id is. */
function jobId(...parts: string[]): string {
  return `j${hash('sha256', parts.join('\0'), 'base64url').slice(0, 24)}`
}

/** The id of a job that is in a queue: all of these have one. */
function idOf(job: Job): string {
  if (job.id === undefined) throw new Error('a job without an id')
  return job.id
}

/** Since when a case's job could have been started, ms since 1970: for one that was delayed, since the end of the delay. */
export function caseReadyAt({ timestamp, data }: Job<CaseJob>): number {
  return data.readyAt ?? timestamp
}

/** Since when the first ask of a job could have been started, ms since 1970. */
export function asksReadyAt({ data }: Job<AskJob>): number {
  return Math.min(...data.asks.map(({ readyAt }) => readyAt))
}

/**
 * Delays the job until `at`, ms since 1970. `Job.moveToDelayed` uses this machine's clock and replaces an earlier time
 * by that clock's own. The method behind it uses the time as given; BullMQ's types expose it only to a job's own
 * methods.
 */
export async function delayUntil(job: Job, at: number, token = ''): Promise<void> {
  const { backend } = job as unknown as { readonly backend: Pick<IQueueBackend, 'moveToDelayed'> }
  await backend.moveToDelayed(idOf(job), at, 0, token, { skipAttempt: true })
}
