import { setTimeout as sleep } from 'node:timers/promises'
import type { Outcome } from '../domain/messages.ts'
import { type ChosenProgress, chosenProgress } from './chosen-progress.ts'
import { type DecidedFound, decideAgain, readDecided, restoreDecided, standing } from './decided.ts'
import { type Forecast, forecastOf } from './forecast.ts'
import { acceptedRanges, inputsOf } from './input-topics.ts'
import { holdsAllVerdicts, readPublished } from './own-topics.ts'
import { readAgain } from './read-again.ts'
import { endThreads, noteEarlierDeletions, restoreRevisions, splitByEnd } from './revisions.ts'
import type { Run } from './run.ts'
import { settleRevisions } from './settle.ts'

/** What a recovery found and did; for a dry run, what it would do. */
export interface Restored {
  readonly dryRun: boolean
  /** Subjects with a verdict on the topic, and how many of them have expired and are forgotten by now. */
  readonly subjects: number
  readonly over: number
  /** Revisions that Redis did not know. */
  readonly revisions: number
  /** Open cases that were dropped because their revision was already published. */
  readonly givenUp: number
  /** Human verdicts that stand. */
  readonly standing: number
  /** Decisions that were carried out again, since nothing of them was published. */
  readonly decidedAgain: number
  /** Messages read again, and their outcomes; none in a dry run. */
  readonly messages: number
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>
  /** Ids of last revisions that stand on the topic with two contents: the next revision of each is due. */
  readonly contested: readonly string[]
  /** The group has no offsets, and nobody has said what counts as accepted: a dry run took it that nothing does. */
  readonly unknownOffsets: boolean
  /** What is judged next; null unless it was a dry run, or the group has no offsets. */
  readonly forecast: Forecast | null
}

/** Running processes notice a hold within this time, and have finished their current batch, in ms. */
const HEARD_AFTER_MS = 3_000
/** After one process has noticed a loss, the others notice it within this time, in ms. */
const HEARD_BY_ALL_MS = 1_000

const STAY_PAUSED = 'Running services stay paused until a "gavel recover" completes.'

/** So long is waited for verdicts that decisions come after, in ms. */
const PUBLISHED_WITHIN_MS = 60_000

/** Wait before a recovery is tried again that the store has interrupted, in ms. */
const RETRY_MS = 1_000

/**
 * Rebuilds a store that was emptied or lost its last writes. Revisions are restored from the verdicts topic, and
 * accepted messages from the input topics; what a last verdict has already seen is not judged again. Meanwhile no
 * process reads messages or opens a case. Running it again changes nothing: so it begins again where the store went away
 * or lost something meanwhile, as often as that happens. Rejects when the signal is aborted; the store then stays on hold.
 */
export async function recoverStore(run: Run): Promise<Restored> {
  let onHold = false
  const hold = () => {
    onHold = true
    return run.hold.hold()
  }
  try {
    return await recoverUntilDone({ ...run, hold: { ...run.hold, hold } })
  } catch (error) {
    if (onHold) run.say(STAY_PAUSED)
    else if (run.signal.aborted) run.say('Nothing was changed.')
    throw error
  }
}

async function recoverUntilDone(run: Run): Promise<Restored> {
  // Checked before anything is put on hold: a wrong prefix must not stop the services.
  for (const topic of inputsOf(run)) await run.history.rangesOf(topic, null)
  const chosen = await chosenProgress(run)
  let said = ''
  const tell = (line: string) => {
    if (line !== said) run.say(line)
    said = line
  }
  for (;;) {
    try {
      const done = await recoverOnce(run, chosen)
      if (done !== null) return done
      tell('Redis was started anew meanwhile and may have lost what was restored: beginning again.')
    } catch (error) {
      const why = run.signal.aborted ? null : run.outage(error)
      if (why === null) throw error
      tell(`${why}. Waiting, then beginning again …`)
      await sleep(RETRY_MS, undefined, { signal: run.signal })
    }
  }
}

/** Null if the store may have lost some of what was restored. */
async function recoverOnce(run: Run, chosen: ChosenProgress | null): Promise<Restored | null> {
  const { dryRun, hold } = run
  if (!dryRun) await holdServices(run)
  const progress = chosen?.progress ?? (await run.progress())
  const accepted = await acceptedRanges(run, progress)

  const published = await readPublished(run)
  const { subjects, missing } = published
  if (missing > 0) run.say(whatIsMissing(run.topics.verdicts, missing))
  const decided = await readDecided(run, published)
  const { over, live } = await splitByEnd(run, subjects, accepted)
  const forecast = dryRun || chosen !== null ? await forecastOf(run, published, accepted, over) : null
  const restored = await restoreRevisions(run, live)
  if (!dryRun) {
    await endThreads(run, subjects, over)
    await restoreDecided(run, decided)
    await hold.setRevisionsComplete(await holdsAllVerdicts(run, published))
    if (run.since !== null) await noteEarlierDeletions(run, accepted, progress)
  }
  let decidedAgain = dryRun ? decided.lost.length : 0
  const { messages, outcomes, touched } = await readAgain(run, accepted, progress, over)
  if (!dryRun) {
    await settleRevisions(run, live, touched)
    const again = await decideAgain(run, decided.lost)
    decidedAgain = again.carriedOut
    // Otherwise what was taken here is read again by whoever comes first.
    if (chosen !== null) await run.setProgress(progress)
    if (!(await hold.release(progress))) return null
    decidedAgain += await decideWhenPublished(run, again.waiting)
  }
  const contested = [...subjects.values()].flatMap(({ last }) => [...last.values()].filter((one) => one.contested))
  return {
    ...{ dryRun, subjects: subjects.size, over: over.size, ...restored, messages, outcomes, forecast },
    ...{ standing: standing(decided), decidedAgain },
    contested: contested.map(({ id }) => id),
    unknownOffsets: chosen?.isUnknown ?? false,
  }
}

/** The services publish what decisions wait for. Returns how many were carried out. */
async function decideWhenPublished(run: Run, lost: DecidedFound['lost']): Promise<number> {
  const until = run.clock() + PUBLISHED_WITHIN_MS
  let [waiting, carriedOut] = [lost, 0]
  while (waiting.length > 0) {
    if (run.clock() > until) {
      run.say(
        `${waiting.length} decisions wait for verdicts that no service has published yet. Run "gavel recover" again when they are.`,
      )
      return carriedOut
    }
    await sleep(RETRY_MS, undefined, { signal: run.signal })
    const again = await decideAgain(run, waiting)
    waiting = again.waiting
    carriedOut += again.carriedOut
  }
  return carriedOut
}

function whatIsMissing(topic: string, missing: number): string {
  return `${missing} of the offsets of ${topic} have no record, as after compaction. Their revisions are unknown, and their numbers may be given again. Set its cleanup.policy to delete.`
}

/** Puts the services on hold, and waits until all of them have noticed. */
async function holdServices({ hold, progress, signal }: Run): Promise<void> {
  const stoodStill = await hold.hold()
  const { alone } = await progress()
  if (!alone) await sleep(stoodStill ? HEARD_BY_ALL_MS : HEARD_AFTER_MS, undefined, { signal })
}
