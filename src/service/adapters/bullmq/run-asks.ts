import { setTimeout as sleep } from 'node:timers/promises'
import { DelayedError, type Job } from 'bullmq'
import type { FairSlots } from '../../domain/fair-slots.ts'
import type { AttemptEnd } from '../../ports/queues.ts'
import { type AskJob, delayUntil, type OpenAsk } from './jobs.ts'
import { advanceAfterRound, type RunParts } from './run-jobs.ts'
import { stageName, stageSettings } from './settings.ts'

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
 * run. When only such are left, the job is delayed until the first of them is ready; it throws `DelayedError` then, as
 * BullMQ requires. An ask that fails unexpectedly for the last time is left to the reconciler.
 */
export async function runAsks(
  parts: RunParts,
  { slots, draining, stopping }: StageRun,
  job: Job<AskJob>,
  token: string | undefined,
): Promise<void> {
  const { work, settings, clock, report } = parts
  const { data } = job
  const { asks, name: _, ...of } = data
  const { attempts, backoff } = stageSettings(settings, of)
  const open = new Map(asks.map((ask) => [ask.key, ask]))
  const soonest = () => Math.min(...[...open.values()].map(({ readyAt }) => readyAt))
  let changed = false
  const save = async () => {
    if (!changed || open.size === 0) return
    changed = false
    try {
      await job.updateData({ ...data, asks: [...open.values()] })
    } catch (error) {
      changed = true
      throw error
    }
  }

  /** How many asks of the job are at work. When there are none, those that wait for their time leave. */
  let running = 0
  let idle: AbortController | undefined
  const stop = () => {
    if (--running === 0) idle?.abort()
  }

  /** One attempt; null if it did not begin. */
  async function attempt({ key, heldMs, tries, readyAt }: OpenAsk): Promise<AttemptEnd | null> {
    const waitSeconds = Math.max(0, clock() - readyAt) / 1000
    const last = tries + 1 >= attempts
    try {
      return await work.answer({ ...of, key }, { number: tries + 1, last, waitSeconds, heldMs, signal: stopping })
    } catch (error) {
      report('error', { where: `worker ${stageName(of)}`, error, caseId: of.caseId, key })
      return last ? { end: 'done', advance: false } : { end: 'again', why: 'an unexpected error, which is in the log' }
    }
  }

  /** True when the ask's time has come, and it is counted as running; false if it is left to a later job. */
  async function ready({ readyAt }: OpenAsk): Promise<boolean> {
    if (running === 0 || draining.aborted) return false
    idle ??= new AbortController()
    const left = AbortSignal.any([idle.signal, draining])
    await save()
    await sleep(Math.max(0, readyAt - clock()), undefined, { signal: left }).catch(() => {})
    if (left.aborted) return false
    running++
    return true
  }

  async function settle(asked: OpenAsk): Promise<void> {
    for (let ask = asked; ; ) {
      const end = await slots.run({ name: of.stage, part: of.share }, draining, () => attempt(ask)).catch(() => null)
      if (end === null) return stop()
      if (end.end === 'done') {
        open.delete(ask.key)
        changed = true
        try {
          if (end.advance) await advanceAfterRound(parts, of)
        } finally {
          stop()
        }
        return
      }
      // BullMQ would measure the pause between attempts by this machine's clock, which may be wrong by hours.
      const pauseMs = end.end === 'again' ? jittered(backoff * 2 ** ask.tries) : end.delayMs
      const paid = end.end === 'again' ? { tries: ask.tries + 1 } : { heldMs: ask.heldMs + pauseMs }
      const { why: _, ...before } = ask
      ask = { ...before, ...paid, readyAt: clock() + pauseMs, ...(end.why === undefined ? {} : { why: end.why }) }
      open.set(ask.key, ask)
      changed = true
      stop()
      if (!(await ready(ask))) return
    }
  }

  const from = Math.max(clock(), soonest())
  const now = asks.filter(({ readyAt }) => readyAt <= from)
  const later = asks.filter(({ readyAt }) => readyAt > from)
  running = now.length
  const settled = await Promise.allSettled([
    ...now.map(settle),
    ...later.map(async (ask) => ((await ready(ask)) ? settle(ask) : undefined)),
  ])
  await save()
  for (const one of settled) if (one.status === 'rejected') throw one.reason
  if (open.size === 0) return
  await delayUntil(job, soonest(), token)
  throw new DelayedError()
}

/** Between half of `ms` and all of it, so that asks that failed together are not retried together. */
function jittered(ms: number): number {
  return ms * (1 - Math.random() / 2)
}
