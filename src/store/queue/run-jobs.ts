import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from 'bullmq'
import { classOf, ownerOf, turnOwnerOf } from '../../contracts/facts/service-class.ts'
import type { FairSlots } from '../../contracts/facts/slots.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { Advance, AskGroup, AttemptEnd, Work } from '../../contracts/ports/stage-queues.ts'
import {
  type AskJob,
  askJobId,
  asksQueue,
  type CaseJob,
  caseJobId,
  casesQueue,
  ENDED_JOBS_GO,
  type JobQueues,
  type OpenAsk,
  type QueueSettings,
  stageName,
  stageSettings,
} from './stage-queues.ts'
import type { Turns } from './turns.ts'

// This decides how long an ask pauses after an attempt that counts; after one that does not,
// src/judging/engine/failed-attempt.ts does.

export interface RunParts {
  readonly work: Work
  readonly queues: JobQueues
  readonly turns: Turns
  readonly settings: QueueSettings
  readonly clock: Clock
  readonly report: Report
}

/** When a job that has not ended is run again, ms since 1970; null: it has ended. */
export type PutOff = number | null

/** The job of a case that is opened, revived or put off: advances it, and is put off if that must be done again later. */
export async function runCase(parts: RunParts, job: Job<CaseJob>): Promise<PutOff> {
  const later = await advance(parts, job.data)
  if (later === null) return null
  const readyAt = parts.clock() + later.delayMs
  await job.updateData({ ...job.data, readyAt })
  return readyAt
}

/** Advances a case whose round has ended; if that must be done again later, the case gets a job for it. */
async function advanceAfterRound(parts: RunParts, { caseId, share }: Pick<CaseJob, 'caseId' | 'share'>): Promise<void> {
  const later = await advance(parts, { caseId, share })
  if (later === null) return
  const now = parts.clock()
  await casesQueue(parts.queues, caseId).add(
    'case',
    { caseId, share, readyAt: now + later.delayMs },
    { jobId: caseJobId(caseId), timestamp: now, delay: later.delayMs, ...ENDED_JOBS_GO },
  )
}

/** Advances a case and queues what it waits for; null unless it must be advanced again later. */
async function advance(
  parts: RunParts,
  { caseId, share }: Pick<CaseJob, 'caseId' | 'share'>,
): Promise<Extract<Advance, { next: 'later' }> | null> {
  const advanced = await parts.work.advance(caseId, share)
  if (advanced.next === 'asks') await addAsks(parts, advanced.groups)
  return advanced.next === 'later' ? advanced : null
}

/** Adds the groups of a case's round to their stages' queues, a job each. Existing jobs are left as they are. */
async function addAsks({ queues, turns, settings, clock }: RunParts, groups: readonly AskGroup[]): Promise<void> {
  await Promise.all(
    [...Map.groupBy(groups, stageName)].map(async ([name, ofStage]) => {
      const [first] = ofStage
      const queue = first === undefined ? undefined : asksQueue(queues, first)
      if (first === undefined || queue === undefined) throw new Error(`the stage ${name} is not declared`)
      const isWaiting = classOf(first.caseId) === 'waiting'
      const { attempts, backoff } = stageSettings(settings, first)
      // Who asks for more calls waits longer for the next ones: with a price of one a job, large groups would take a tenant's turns.
      const costs = ofStage.map(({ keys }) => (isWaiting ? keys.length : 1))
      const priorities = await turns.next(queue, turnOwnerOf(first.caseId, first.share), costs)
      const readyAt = clock()
      const jobs = ofStage.map(({ keys, ...group }, index) => ({
        name: group.stage,
        data: { ...group, asks: keys.map((key) => ({ key, heldMs: 0, tries: 0, readyAt })) },
        opts: {
          jobId: askJobId(group),
          priority: priorities[index] ?? 0,
          // For unexpected errors; a job whose asks need another attempt is delayed by its worker.
          attempts,
          backoff: { type: 'exponential' as const, delay: backoff, jitter: 0.5 },
          ...ENDED_JOBS_GO,
        },
      }))
      const [only] = jobs
      // A transaction for several jobs costs as much again as one job.
      if (jobs.length === 1 && only !== undefined) await queue.add(only.name, only.data, only.opts)
      else await queue.addBulk(jobs)
    }),
  )
}

/** What all jobs of a stage share in this process. */
export interface StageRun {
  /** As many as asks of the stage may run at once, a part of them of one share. */
  readonly slots: FairSlots
  /** Aborted when this process takes no more work: then no attempt begins. */
  readonly draining: AbortSignal
  /** Aborted when attempts that still run must end. */
  readonly stopping: AbortSignal
}

/**
 * Answers the asks of a job, each at its own pace: one that must be tried again waits here as long as others of the job
 * run. When only such are left, the job is put off until the first of them is ready. An ask that fails unexpectedly for the
 * last time is left to the reconciler.
 */
export async function runAsks(parts: RunParts, stage: StageRun, job: Job<AskJob>): Promise<PutOff> {
  return new JobAsks(parts, stage, job).run()
}

/** A job of a stage that this process does not have is left to one that does, for so long, in ms. */
const OTHERS_MS = 500

/** As {@link runAsks}, for a job of any stage. */
export async function runWaiting(
  parts: RunParts,
  stages: ReadonlyMap<string, StageRun>,
  job: Job<AskJob>,
): Promise<PutOff> {
  const stage = stages.get(stageName(job.data))
  return stage === undefined ? parts.clock() + OTHERS_MS : runAsks(parts, stage, job)
}

/** The asks of one job at work. */
class JobAsks {
  readonly #parts: RunParts
  readonly #stage: StageRun
  readonly #job: Job<AskJob>
  /** By key: those that are still to be answered. */
  readonly #open: Map<string, OpenAsk>
  /** Something is not in the job's data yet. */
  #changed = false
  /** How many asks of the job are at work. When there are none, those that wait for their time leave. */
  #running = 0
  #idle: AbortController | undefined

  constructor(parts: RunParts, stage: StageRun, job: Job<AskJob>) {
    this.#parts = parts
    this.#stage = stage
    this.#job = job
    this.#open = new Map(job.data.asks.map((ask) => [ask.key, ask]))
  }

  /** Answers them; null when all have ended, or else when the first of the others is ready. */
  async run(): Promise<PutOff> {
    const { asks } = this.#job.data
    const from = Math.max(this.#parts.clock(), this.#soonest())
    const now = asks.filter(({ readyAt }) => readyAt <= from)
    const later = asks.filter(({ readyAt }) => readyAt > from)
    this.#running = now.length
    const settled = await Promise.allSettled([
      ...now.map((ask) => this.#settle(ask)),
      ...later.map(async (ask) => ((await this.#ready(ask)) ? this.#settle(ask) : undefined)),
    ])
    await this.#save()
    for (const one of settled) if (one.status === 'rejected') throw one.reason
    return this.#open.size === 0 ? null : this.#soonest()
  }

  /** Tries an ask until it has ended, or is left to a later job. */
  async #settle(asked: OpenAsk): Promise<void> {
    const { clock, settings } = this.#parts
    const { slots, draining } = this.#stage
    const { caseId, share } = this.#job.data
    const { backoff } = stageSettings(settings, this.#job.data)
    for (let ask = asked; ; ) {
      const end = await slots.run(ownerOf(caseId, share), draining, () => this.#attempt(ask)).catch(() => null)
      if (end === null) return this.#stop()
      if (end.end === 'done') {
        this.#open.delete(ask.key)
        this.#changed = true
        try {
          if (end.advance) await advanceAfterRound(this.#parts, { caseId, share })
        } finally {
          this.#stop()
        }
        return
      }
      // BullMQ would measure the pause between attempts by this machine's clock, which may be wrong by hours.
      const pauseMs = end.end === 'again' ? jittered(backoff * 2 ** ask.tries) : end.delayMs
      const paid = end.end === 'again' ? { tries: ask.tries + 1 } : { heldMs: ask.heldMs + pauseMs }
      const { why: _, ...before } = ask
      ask = { ...before, ...paid, readyAt: clock() + pauseMs, why: end.why }
      this.#open.set(ask.key, ask)
      this.#changed = true
      this.#stop()
      if (!(await this.#ready(ask))) return
    }
  }

  /** One attempt; null if it did not begin. */
  async #attempt({ key, heldMs, tries, readyAt }: OpenAsk): Promise<AttemptEnd | null> {
    const { work, settings, clock, report } = this.#parts
    const { asks: _, name: __, ...of } = this.#job.data
    const waitSeconds = Math.max(0, clock() - readyAt) / 1000
    const last = tries + 1 >= stageSettings(settings, of).attempts
    const attempt = { ...of, key, number: tries + 1, last, waitSeconds, heldMs, signal: this.#stage.stopping }
    try {
      return await work.answer(attempt)
    } catch (error) {
      report('error', { where: `worker ${stageName(of)}`, error, caseId: of.caseId, key })
      return last
        ? { end: 'done', outcome: 'failed', advance: false }
        : { end: 'again', why: 'an unexpected error, which is in the log' }
    }
  }

  /** True when the ask's time has come, and it is counted as running; false if it is left to a later job. */
  async #ready({ readyAt }: OpenAsk): Promise<boolean> {
    const { draining } = this.#stage
    if (this.#running === 0 || draining.aborted) return false
    this.#idle ??= new AbortController()
    const left = AbortSignal.any([this.#idle.signal, draining])
    await this.#save()
    await sleep(Math.max(0, readyAt - this.#parts.clock()), undefined, { signal: left }).catch(() => {})
    if (left.aborted) return false
    this.#running++
    return true
  }

  #stop(): void {
    if (--this.#running === 0) this.#idle?.abort()
  }

  #soonest(): number {
    return Math.min(...[...this.#open.values()].map(({ readyAt }) => readyAt))
  }

  async #save(): Promise<void> {
    if (!this.#changed || this.#open.size === 0) return
    this.#changed = false
    try {
      await this.#job.updateData({ ...this.#job.data, asks: [...this.#open.values()] })
    } catch (error) {
      this.#changed = true
      throw error
    }
  }
}

/** Between half of `ms` and all of it, so that asks that failed together are not retried together. */
function jittered(ms: number): number {
  return ms * (1 - Math.random() / 2)
}
