import { DelayedError, type Job, WaitingChildrenError } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Clock } from '../../ports/clock.ts'
import type { Work } from '../../ports/queues.ts'
import { addAsks } from './add-asks.ts'
import type { JobQueues } from './job-queues.ts'
import { type AskJob, type CaseJob, delayUntil } from './jobs.ts'
import { type QueueSettings, stageSettings } from './settings.ts'

interface Parts {
  readonly work: Work
  readonly connection: Redis
  readonly queues: JobQueues
  readonly settings: QueueSettings
  readonly clock: Clock
}

/** Advances a case until it waits for its asks, is delayed (BullMQ learns both from what this throws), or has ended. */
export async function runCase(parts: Parts, job: Job<CaseJob>, token: string | undefined): Promise<void> {
  const { work, clock } = parts
  for (;;) {
    const advance = await work.advance(job.data.caseId)
    if (advance.next === 'done') return
    if (advance.next === 'later') {
      const readyAt = clock() + advance.delayMs
      await job.updateData({ ...job.data, readyAt })
      await delayUntil(job, readyAt, token)
      throw new DelayedError()
    }
    await addAsks(parts, job, advance.asks)
    // If all of them have already ended, there is nothing to wait for.
    if (await job.moveToWaitingChildren(token ?? '')) throw new WaitingChildrenError()
  }
}

/** Makes one attempt at an ask; throws `DelayedError`, as BullMQ requires, if another one follows. */
export async function runAsk(
  { work, settings, clock }: Parts,
  job: Job<AskJob>,
  token: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { heldMs, readyAt: since, tries = 0, ...ask } = job.data
  const { attempts = 1 } = job.opts
  const number = tries + job.attemptsMade + 1
  const end = await work.answer(ask, {
    number,
    last: number >= attempts,
    waitSeconds: Math.max(0, clock() - since) / 1000,
    heldMs,
    signal,
  })
  if (end.end === 'done') return
  // BullMQ would measure the pause between attempts by this machine's clock, which may be wrong by hours.
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

/** Between half of `ms` and all of it, so that asks that failed together are not retried together. */
function jittered(ms: number): number {
  return ms * (1 - Math.random() / 2)
}
