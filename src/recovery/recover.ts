import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from '../domain/messages.ts'
import { acceptedRanges, inputsOf } from './input-topics.ts'
import { holdsAllVerdicts, readPublished } from './own-topics.ts'
import { readAgain } from './read-again.ts'
import { endThreads, restoreRevisions, splitByEnd } from './revisions.ts'
import type { Run } from './run.ts'
import { settleRevisions } from './settle.ts'

/** What a recovery found and did; of a dry run, what it would do. */
export interface Restored {
  readonly dryRun: boolean
  /** Subjects with a verdict on the topic, and how many of them had ended and are forgotten by now. */
  readonly subjects: number
  readonly over: number
  /** Revisions that Redis did not know of. */
  readonly revisions: number
  /** Open cases whose revision had been published. */
  readonly givenUp: number
  /** Messages read again, and what became of them; none in a dry run. */
  readonly messages: number
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>
}

/** Running processes hear of a hold within this time, and have ended the batch that they were at, in ms. */
const HEARD_AFTER_MS = 3_000
/** Where one has noticed a loss, the others have within this time, in ms. */
const HEARD_BY_ALL_MS = 1_000

/**
 * Puts a store together again that was emptied or lost its last writes. Revisions come back from the verdicts topic, what was
 * accepted from the input topics; what its last verdict has seen is not judged again. Meanwhile no process takes messages in
 * or opens a case. Changes nothing when it is run again. Rejects when the signal is aborted, with the store held.
 */
export async function recoverStore(run: Run): Promise<Restored> {
  const { dryRun, hold, history } = run
  // Before anything is held for it: a wrong prefix must not bring the services to a stand.
  for (const topic of inputsOf(run)) await history.rangesOf(topic, null)
  if (!dryRun) await holdServices(run)
  const progress = await run.progress()
  const accepted = await acceptedRanges(run, progress)

  const published = await readPublished(run)
  const { over, live } = await splitByEnd(run, published, accepted)
  const restored = await restoreRevisions(run, live)
  if (!dryRun) {
    await endThreads(run, published, over)
    await hold.setRevisionsComplete(await holdsAllVerdicts(run))
  }
  const { messages, outcomes, touched } = await readAgain(run, accepted, progress, over)
  if (!dryRun) {
    await settleRevisions(run, live, touched)
    await hold.release(progress)
  }
  return { dryRun, subjects: published.size, over: over.size, ...restored, messages, outcomes }
}

/** Brings the services to a stand, and waits until all of them have heard of it. */
async function holdServices({ hold, progress, signal }: Run): Promise<void> {
  const stoodStill = await hold.hold()
  const { alone } = await progress()
  if (!alone) await sleep(stoodStill ? HEARD_BY_ALL_MS : HEARD_AFTER_MS, undefined, { signal })
}
