import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../contracts/facts/errors.ts'
import type { Outcome } from '../contracts/facts/messages.ts'
import { snapshot, type ThreadRef } from '../contracts/facts/thread.ts'
import type { GroupProgress } from '../contracts/ports/topic.ts'
import { snapshotOf, versionSeenBy } from '../judging/engine/new-case.ts'
import {
  countStanding,
  type DecisionsFound,
  readDecisions,
  repeatDecisions,
  restoreDecisions,
} from './decisions-found.ts'
import { type Forecast, forecastOf } from './forecast.ts'
import { acceptedRanges, inputsOf } from './input-topics.ts'
import { hasPublished, holdsAllVerdicts, readPublished } from './own-topics.ts'
import { nothingNew, type PublishedSubject, seenIn, subjectKey } from './published.ts'
import { raiseReachAgain } from './reach-again.ts'
import { readAgain } from './read-again.ts'
import { endThreads, noteEarlierDeletions, restoreRevisions, splitByEnd } from './revisions.ts'
import { type RecoveryRun, sideBySide } from './run.ts'

/** What a recovery found and did; for a dry run, what it would do. */
export interface RecoveryResult {
  readonly dryRun: boolean
  /** Subjects with a verdict on the topic, and how many of them have expired and are forgotten by now. */
  readonly subjects: number
  readonly over: number
  /** Revisions that Redis did not know. */
  readonly revisions: number
  /** Open cases that were dropped because their revision was already published. */
  readonly givenUp: number
  /** Current human verdicts. */
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
export async function recoverStore(run: RecoveryRun): Promise<RecoveryResult> {
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

async function recoverUntilDone(run: RecoveryRun): Promise<RecoveryResult> {
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
async function recoverOnce(run: RecoveryRun, chosen: ChosenProgress | null): Promise<RecoveryResult | null> {
  const { dryRun, hold } = run
  if (!dryRun) await holdServices(run)
  const progress = chosen?.progress ?? (await run.progress())
  const accepted = await acceptedRanges(run, progress)

  const published = await readPublished(run)
  const { subjects, missing, unreadable } = published
  if (missing > 0) run.say(whatIsMissing(run.topics.verdicts, missing))
  if (unreadable > 0) run.say(whatIsUnreadable(run.topics.verdicts, unreadable))
  const decided = await readDecisions(run, published)
  const { over, live } = await splitByEnd(run, subjects, accepted)
  const forecast = dryRun || chosen !== null ? await forecastOf(run, published, accepted, over) : null
  const restored = await restoreRevisions(run, live)
  if (!dryRun) {
    await endThreads(run, subjects, over)
    await restoreDecisions(run, decided)
    await hold.setRevisionsComplete(await holdsAllVerdicts(run, published))
    if (run.since !== null) await noteEarlierDeletions(run, accepted, progress)
  }
  let decidedAgain = dryRun ? decided.lost.length : 0
  const { messages, outcomes, touched } = await readAgain(run, accepted, progress, over)
  if (!dryRun) {
    await raiseReachAgain(run, touched)
    await settleRevisions(run, live, touched)
    const again = await repeatDecisions(run, decided.lost)
    decidedAgain = again.carriedOut
    // Otherwise what was taken here is read again by the next process.
    if (chosen !== null) await run.setProgress(progress)
    if (!(await hold.release(progress))) return null
    decidedAgain += await decideWhenPublished(run, again.waiting)
  }
  const contested = [...subjects.values()].flatMap(({ last }) => [...last.values()].filter((one) => one.contested))
  return {
    dryRun,
    subjects: subjects.size,
    over: over.size,
    ...restored,
    messages,
    outcomes,
    forecast,
    standing: countStanding(decided),
    decidedAgain,
    contested: contested.map(({ id }) => id),
    unknownOffsets: chosen?.isUnknown ?? false,
  }
}

/** The services publish what decisions wait for. Returns how many were carried out. */
async function decideWhenPublished(run: RecoveryRun, lost: DecisionsFound['lost']): Promise<number> {
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
    const again = await repeatDecisions(run, waiting)
    waiting = again.waiting
    carriedOut += again.carriedOut
  }
  return carriedOut
}

function whatIsMissing(topic: string, missing: number): string {
  return `${missing} of the offsets of ${topic} have no record, as after compaction. Their revisions are unknown, and their numbers may be given again. Set its cleanup.policy to delete.`
}

function whatIsUnreadable(topic: string, unreadable: number): string {
  return `${unreadable} records of ${topic} are no verdicts that this version can read. Their revisions are unknown, and their numbers may be given again. If a newer version wrote them, run that version's "gavel recover".`
}

/** Puts the services on hold, and waits until all of them have noticed. */
async function holdServices({ hold, progress, signal }: RecoveryRun): Promise<void> {
  const stoodStill = await hold.hold()
  const { alone } = await progress()
  if (!alone) await sleep(stoodStill ? HEARD_BY_ALL_MS : HEARD_AFTER_MS, undefined, { signal })
}

/** What counts as accepted because somebody said so; `isUnknown`: nobody did, and a dry run goes on without. */
interface ChosenProgress {
  readonly progress: GroupProgress
  readonly isUnknown: boolean
}

/**
 * What counts as accepted by a group that has no offsets: Kafka forgets them after a time, with their topic, and a new
 * group has none. Null where the group's own offsets tell, and where nothing was ever published. Throws an
 * `OperatorError` if somebody has to choose, or if what was chosen can't be noted.
 */
async function chosenProgress(run: RecoveryRun): Promise<ChosenProgress | null> {
  const { upTo, dryRun, group } = run
  const { committed, alone } = await run.progress()
  if ([...committed.values()].some(({ size }) => size > 0)) {
    if (upTo === null) return null
    throw new OperatorError(
      `The group ${group} has offsets, which show what was accepted: leave out ${upTo === 'nothing' ? '--new-beginning' : '--up-to'}.`,
    )
  }
  const nothing = { committed: new Map(), alone }
  if (upTo === null) {
    if (!(await hasPublished(run))) return null
    if (!dryRun) throw new OperatorError(whatToChoose(group))
    return { progress: nothing, isUnknown: true }
  }
  if (upTo === 'nothing') return { progress: nothing, isUnknown: false }
  if (!dryRun && !alone)
    throw new OperatorError(
      `The group ${group} has members, and Kafka accepts offsets for it only while it has none. Restart the services with the role intake (they stay out of the group until Redis is recovered); then run this again.`,
    )
  const accepted = await Promise.all(
    inputsOf(run).map(async (topic) => {
      const all = await run.history.rangesOf(topic, upTo === 'end' ? null : upTo)
      return [topic, new Map([...all].map(([at, { from, to }]) => [at, upTo === 'end' ? to : from]))] as const
    }),
  )
  return { progress: { committed: new Map(accepted), alone }, isUnknown: false }
}

function whatToChoose(group: string): string {
  return [
    `The group ${group} has no offsets, so it is not known which messages were accepted before. Say it:`,
    '  --up-to end        all that the topics hold now: what has its verdict is not judged again',
    '  --up-to TIME       what was sent before this time (ISO 8601); what came later is read by the services',
    '  --new-beginning    nothing: the services read everything again, and judge it under the numbers after the last ones',
    '"gavel recover --dry-run" shows what would be judged, and the price.',
  ].join('\n')
}

/** Notes what each revision has already seen, so that it is not judged again. */
async function settleRevisions(
  run: RecoveryRun,
  live: readonly PublishedSubject[],
  touched: ReadonlyMap<string, ThreadRef>,
): Promise<void> {
  const known = new Map(live.map((subject) => [subjectKey(subject.ref), subject]))
  const refs = new Map([...touched, ...live.map(({ ref }) => [subjectKey(ref), ref] as const)])
  await sideBySide(run, [...refs], 'threads looked at', ([key, ref]) => settleSubject(run, ref, known.get(key)))
}

async function settleSubject(run: RecoveryRun, ref: ThreadRef, known: PublishedSubject | undefined): Promise<void> {
  const { threads, cases, store, protocols, settings } = run
  const { checkpoints } = settings
  const state = await threads.read(ref)
  if (state === null || state.post === null) return
  for (const [name, { revision, openId, final }] of state.revisions) {
    const protocol = protocols.find((one) => one.name === name)
    if (protocol === undefined) continue
    const last = known?.last.get(name)
    const record = openId === null ? undefined : (await cases.peek(openId))?.record
    const openSaw = snapshot.safeParse(record?.subject)
    const before =
      record !== undefined && openSaw.success && record.revision === revision
        ? seenIn(openSaw.data)
        : last?.number === revision
          ? last.seen
          : null
    const now = seenIn(snapshotOf(protocol, state, state.post, { checkpoints }).subject)
    // What a comment is shown with is not the comment.
    const sealed = ref.kind === 'comment' || (protocol.subject === 'thread' && final && !checkpoints.reopen)
    if (nothingNew(before, now, sealed))
      await store.settle(ref, {
        protocol: name,
        revision,
        version: state.version,
        seen: versionSeenBy(protocol, state),
      })
  }
}
