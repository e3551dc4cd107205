import type { CaseRecord, JournalEntry } from '../../contracts/facts/case.ts'
import { RetryLaterError } from '../../contracts/facts/errors.ts'
import { classOf } from '../../contracts/facts/service-class.ts'
import type { ChatMessage } from '../../contracts/facts/verdict.ts'
import { UNVERIFIED, type VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import { scopeOf } from '../../contracts/facts/verdict-id.ts'
import { type CaseStore, CaseWithheld, StoreSuspended, type TakenCase } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Library } from '../../contracts/ports/library.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { Advance, Work } from '../../contracts/ports/stage-queues.ts'
import type { Vetoes } from '../../contracts/ports/vetoes.ts'
import { withFormat } from '../../models/format.ts'
import type { Gateway } from '../../models/gateway.ts'
import type { Lookups } from '../../models/lookups.ts'
import { type AnswerParts, answer } from './answer.ts'
import { groupsOf } from './ask-groups.ts'
import { hasWaited } from './comment-erasure.ts'
import { type EndedCase, endOf, faithfully } from './conclude.ts'
import { type DeadlineSettings, type Deadlines, deadlines, FIXED_DEADLINES } from './deadline.ts'
import { type LargeCases, largeCases } from './large-cases.ts'
import { callsIn } from './lost-calls.ts'
import { type Pacing, pacing } from './pacing.ts'
import { type PendingAsks, pendingAsks } from './pending.ts'
import { prepared } from './prepared.ts'
import type { KeyedAsk, ReplayState } from './replay.ts'
import { replayCase } from './replay-case.ts'
import type { ReplayNotes } from './replay-notes.ts'
import type { Protocol } from './script.ts'
import { isLeftToOtherVersion, isWaiting, otherVersion, protocolOf, versionsOf } from './versions.ts'
import { vetoed, withUnchecked } from './veto.ts'
import { type WaitingScripts, waitingScripts } from './waiting-scripts.ts'

export interface JudgeSettings {
  /**
   * A case that was taken over this often without finishing is concluded without a label: it may be what kills workers.
   */
  readonly maxTakeovers: number
  /** How long a worker hands back cases of other versions before it restarts one, in ms. */
  readonly handBack: number
  /** Longest transcript, in bytes. */
  readonly transcriptBytes: number
  readonly writes: VerdictForm
  /** Transcripts hold what a replay needs, if this is there. */
  readonly noted?: ReplayNotes | undefined
}

interface JudgeParts {
  readonly protocols: ReadonlyMap<string, Protocol>
  readonly cases: CaseStore
  readonly gateway: Gateway
  readonly library: Pick<Library, 'find' | 'embedder'>
  readonly clock: Clock
  readonly report: Report
  readonly settings: JudgeSettings
  /** Set in a service, where asks wait that no model of their chain answers, and lookups. */
  readonly deadlineSettings?: DeadlineSettings
  readonly lookups?: Pick<Lookups, 'lookUp'>
  readonly gate?: Pick<PublicationGate, 'closed'>
  /** Compares subjects with lists before their first question; absent where there are none. */
  readonly vetoes?: Vetoes | undefined
}

/** What a case is advanced with: the parts, and what this process has in memory. */
interface JudgeContext extends JudgeParts {
  readonly scripts: WaitingScripts
  readonly pace: Pacing
  readonly large: LargeCases
  readonly deadlines: Deadlines
}

/**
 * The engine's work on cases: `advance` replays a case's script over its journal, to the next round or the end;
 * `answer` answers one ask of a round and journals the result; `pending` returns what a case waits for. Every step may be
 * repeated, in any process, at any time.
 */
export function judge(parts: JudgeParts): Work & { readonly pending: PendingAsks } {
  const scripts = waitingScripts(parts.clock)
  const { clock, cases, deadlineSettings: settings } = parts
  const caseDeadlines = settings === undefined ? FIXED_DEADLINES : deadlines({ ...parts, settings })
  const [pace, large] = [pacing(scripts, clock), largeCases(cases, clock)]
  const context = { ...parts, scripts, pace, large, deadlines: caseDeadlines }
  const answering: AnswerParts = { ...context, answering: new Set(), beingFound: new Map() }
  return {
    advance: (caseId, share = caseId) =>
      advance(context, caseId, share).catch((error: unknown) => {
        if (error instanceof StoreSuspended || error instanceof CaseWithheld) return LATER
        throw error
      }),
    answer: (attempt) => answer(answering, attempt),
    pending: pendingAsks(context),
  }
}

const DONE: Advance = { next: 'done' }
/** The job is retried: meanwhile another process may handle the case, or the store may allow it to be taken. */
const LATER: Advance = { next: 'later', delayMs: 1_000 }
/** A large case for which others leave no room is tried again after this, in ms, or up to twice as long: there may be a thousand. */
const LARGE_MS = 3_000
/** Its pictures are being fetched and compared. */
const COMPARING: Advance = { next: 'later', delayMs: 300 }
const PROTOCOL_OFF: Advance = { next: 'later', delayMs: 5_000 }

/** Advances a case to its next round or its end, once it is its turn and there is room for it. */
async function advance(context: JudgeContext, caseId: string, share: string): Promise<Advance> {
  const { cases, scripts, pace, large } = context
  const paced = { share, serviceClass: classOf(caseId), tenant: scopeOf(caseId).tenant }
  const waitingScript = scripts.of(caseId)
  if (waitingScript === undefined) {
    const delayMs = pace.delayFor(paced)
    if (delayMs > 0) return { next: 'later', delayMs: delayMs * (1 + 3 * Math.random()) }
    await pace.begin(paced)
  }
  const length = waitingScript?.subjectCharacters ?? (await cases.recordLength(caseId))
  if (waitingScript === undefined) pace.weigh(paced, length)
  const turn = await large.takeTurn(caseId, length)
  if (turn === null) return { next: 'later', delayMs: LARGE_MS * (1 + Math.random()) }
  try {
    return await runOnce(context, caseId, share, waitingScript)
  } finally {
    turn.end()
  }
}

/** Takes the case over and runs its script on, unless it is left to others. */
async function runOnce(
  context: JudgeContext,
  caseId: string,
  share: string,
  waitingScript: ReturnType<WaitingScripts['of']>,
): Promise<Advance> {
  const { protocols, cases, clock, settings, scripts } = context
  // Known before the case is taken: handing it back must not count as a takeover, however long a rollout lasts.
  const peeked = waitingScript ?? (await cases.peek(caseId))
  if (peeked === null) return DONE
  const protocol = protocolOf(protocols, peeked.record)
  if (protocol === undefined) return PROTOCOL_OFF
  if (isWaiting(peeked.record, clock())) return LATER
  if (isLeftToOtherVersion(peeked.record, protocol, clock(), settings.handBack)) return LATER
  // A script that waits here has been compared. Under `paper` a protocol judges as its paper does.
  const compared =
    waitingScript === undefined && context.vetoes !== undefined && protocol.faithful !== true
      ? await vetoed(context.vetoes, peeked.record, {
          mayFetch: () => mustBeOpen(cases, caseId),
          isLate: async () => clock() > (await context.deadlines.of(peeked.record)),
        })
      : peeked.record
  if (compared === null) return COMPARING
  const taken = await cases.take(caseId, peeked)
  if (taken === null) {
    scripts.forget(caseId)
    return DONE
  }
  const versionDifference = otherVersion(taken.record.versions, protocol)
  if (versionDifference !== otherVersion(peeked.record.versions, protocol) || isWaiting(taken.record, clock())) {
    // It has restarted meanwhile.
    scripts.forget(caseId)
    return advance(context, caseId, share)
  }
  if (versionDifference !== undefined)
    return (await restart(context, taken, atVersions(taken, protocol, clock())))
      ? advance(context, caseId, share)
      : DONE
  // Restarted meanwhile by others: then what it holds now is compared.
  if (compared !== peeked.record && taken.run !== peeked.run) return advance(context, caseId, share)
  if (compared !== peeked.record)
    return (await restart(context, taken, compared)) ? advance(context, caseId, share) : DONE
  const resumed = waitingScript?.record === taken.record ? waitingScript.progress : undefined
  if (resumed === undefined) await prepared(protocol, taken.record.subject)
  const { replayState, progress } = replayCase(protocol, taken, resumed, context)
  if (replayState.at === 'end') {
    scripts.forget(caseId)
    return (await conclude(context, taken, replayState)) ? DONE : LATER
  }
  scripts.keep(taken, progress, replayState.open)
  return { next: 'asks', groups: groupsOf(taken, replayState) }
}

/** Nothing is fetched for a case that is no longer there. */
async function mustBeOpen(cases: Pick<CaseStore, 'peek'>, caseId: string): Promise<void> {
  if ((await cases.peek(caseId)) === null) throw new RetryLaterError('aborted', 'its case is over')
}

/** The record of a case of other versions, under this process's versions. */
function atVersions({ record }: TakenCase, protocol: Protocol, now: number): CaseRecord {
  return { ...record, versions: versionsOf(protocol), restartedAt: now, carry: null }
}

/** Restarts a case with this record. False if another worker has it now, in the same run. */
async function restart({ cases }: JudgeContext, taken: TakenCase, restarted: CaseRecord): Promise<boolean> {
  const { record, epoch, run, journal } = taken
  // The journal is dropped, but the calls in it were made.
  await cases.loseCalls(record.id, callsIn(journal))
  return (await cases.restart(record.id, epoch, restarted)) || (await cases.peek(record.id))?.run !== run
}

const FENCED =
  'another worker took this case over because its lock had lapsed. That worker continues, and this result is dropped. Nothing is lost or published twice'

/** False if the job must be retried: the store accepts no conclusion at the moment, or the case was restarted. */
async function conclude(
  { protocols, cases, clock, report, settings }: JudgeContext,
  taken: TakenCase,
  end: Extract<ReplayState, { at: 'end' }>,
): Promise<boolean> {
  const { record, epoch, run, journal } = taken
  const { ruling, carry } = end.conclusion
  const inTranscript = new Set(end.asked.map(({ key }) => key))
  // The transcript of a case that was given up lacks turns whose calls were made.
  const lostCalls = [...taken.lostCalls, ...callsIn(journal, inTranscript)]
  const protocol = protocolOf(protocols, record)
  const asked = protocol?.faithful === true ? faithfully(ruling, end.asked, journal) : ruling
  const said = withUnchecked(asked, record, protocol)
  const ended: EndedCase = {
    record,
    ruling: said,
    asked: end.asked,
    journal,
    lostCalls,
    confidence: said.confidence ?? protocol?.confidence?.(said),
    decidedAt: clock(),
    writes: settings.writes,
    variant: protocol?.variant,
    noted: settings.noted,
  }
  // It may rest on what was learnt from others: the next revision would not know when that is deleted.
  const wasShown = [...journal.values()].some(({ shown }) => shown !== undefined)
  const won = await cases.conclude(record, epoch, {
    ...endOf(ended, sentAs, settings.transcriptBytes),
    // That nothing is shown either way contradicts nothing.
    opposed: protocol?.labels.filter((label) => label !== UNVERIFIED) ?? [],
    // No revision follows what was asked apart from the stream.
    carry: carry === undefined || wasShown || record.kind === 'asked' ? null : JSON.stringify(carry),
    again: ruling.decidedBy === 'none' && hasWaited(record),
  })
  if (won) {
    report('case:concluded', { caseId: record.id, protocol: record.protocol, rounds: ruling.rounds })
    return true
  }
  const now = await cases.peek(record.id)
  if (now?.epoch !== epoch) report('case:fenced', { caseId: record.id, why: FENCED })
  // A worker that took the case over continues it. One that restarted it may not: this one must.
  return now === null || (now.epoch !== epoch && now.run === run)
}

/**
 * The messages of an ask as they were sent; of a batch, only the items that were sent. An ask answered from the memo is
 * shown as it was asked.
 */
function sentAs({ ask }: KeyedAsk, { sent }: JournalEntry): ChatMessage[] {
  const { batch } = ask
  if (sent === undefined || sent.length === 0 || batch === undefined) return withFormat(ask)
  return sent.flatMap((some) => withFormat(batch.subset(some)))
}
