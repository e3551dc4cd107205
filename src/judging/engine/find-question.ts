import type { Ask } from '../../contracts/facts/ask.ts'
import type { CaseRecord, Journal } from '../../contracts/facts/case.ts'
import { RetryLaterError } from '../../contracts/facts/errors.ts'
import { requestIn } from '../../contracts/facts/verdict-id.ts'
import type { CaseStore } from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { PublicationGate } from '../../contracts/ports/publication.ts'
import type { Report } from '../../contracts/ports/report.ts'
import type { AttemptEnd, StagedAsk } from '../../contracts/ports/stage-queues.ts'
import { prepared } from './prepared.ts'
import type { KeyedAsk } from './replay.ts'
import { replayCase } from './replay-case.ts'
import type { Protocol } from './script.ts'
import { isAskLeftToOtherVersion, otherVersion, protocolOf } from './versions.ts'
import type { WaitingScripts } from './waiting-scripts.ts'

/** An ask that has no answer, and the case whose round it belongs to. */
export interface OpenQuestion {
  readonly ask: Ask
  readonly record: CaseRecord
  /** How many answers the journal has when nothing of the round is open any more. */
  readonly answersInRound: number
  /** False if every question must reach a model, as in the papers. */
  readonly remember: boolean
  /** Awaited before anything is sent for it; rejects if it must not be asked any more. */
  readonly mayAsk: () => Promise<void>
}

export interface FindQuestionParts {
  readonly protocols: ReadonlyMap<string, Protocol>
  readonly cases: Pick<CaseStore, 'peek' | 'isOpen' | 'isWithheld'>
  readonly scripts: WaitingScripts
  /** Cases that are being read at the moment. */
  readonly beingFound: Map<string, Promise<void>>
  readonly clock: Clock
  readonly report: Report
  /** Absent where nothing is published. */
  readonly gate?: Pick<PublicationGate, 'closed'>
  readonly settings: { readonly maxTakeovers: number; readonly handBack: number }
}

/** The question is not asked: its case has ended or restarted, or another worker has answered it. */
export class QuestionClosed extends Error {}

/** What is to be shown or sent is deleted content: the lookup, or the whole case, is soon made again without it. */
export function withheld(): RetryLaterError {
  return new RetryLaterError('library', 'it was shown content that has been deleted since', {
    delayMs: WITHHELD_MS,
    costsAttempt: false,
  })
}
const WITHHELD_MS = 500

/** Nobody pays for a verdict that can't be published. What was asked apart from the stream is on no topic. */
function unlessClosed(gate: FindQuestionParts['gate'], caseId: string): void {
  const why = gate?.closed ?? null
  if (why === null || requestIn(caseId) !== null) return
  const delayMs = CLOSED_MS * (1 + Math.random())
  throw new RetryLaterError('operator', `its verdict can't be published: ${why}`, {
    delayMs,
    costsAttempt: false,
    awaits: 'publication',
  })
}
/** An ask is tried again after this, in ms, or up to twice as long: thousands may wait. */
const CLOSED_MS = 4_000

/** An ask that has waited for longer, in ms, for a slot, images or limits, is looked at again before it is sent. */
const FRESH_MS = 50

/** An ask whose case has versions that this process does not have is retried after this time, in ms. */
const OTHER_VERSION_MS = 1_000

/**
 * Finds the question that a job points to, in memory or by replaying the case. How the attempt ends where there is none:
 * the ask has been answered, its case has ended or restarted, or only a process with the case's own versions can find it.
 */
export async function findQuestion(parts: FindQuestionParts, staged: StagedAsk): Promise<OpenQuestion | AttemptEnd> {
  const { beingFound } = parts
  const { caseId } = staged
  // Of the many jobs of a giant thread's round one reads and replays the case; the others find it in memory.
  const first = beingFound.get(caseId)
  if (first !== undefined) {
    await first
    return inMemory(parts, staged) ?? inStore(parts, staged)
  }
  const known = inMemory(parts, staged)
  if (known !== null) return known
  const found = inStore(parts, staged)
  const isFound = found.then(
    () => {},
    () => {},
  )
  beingFound.set(caseId, isFound)
  try {
    return await found
  } finally {
    beingFound.delete(caseId)
  }
}

/** The question of a script that waits in this process. */
function inMemory(parts: FindQuestionParts, staged: StagedAsk): OpenQuestion | null {
  const { caseId, run, key } = staged
  const waiting = parts.scripts.of(caseId)
  const asked = waiting?.open.get(key)
  if (waiting?.run !== run || asked === undefined) return null
  const { record, progress, journal } = waiting
  // The subject may have been deleted, or the case restarted without a deleted comment: those words must not be sent any
  // more. And what another worker has answered is not asked again. The memo is asked meanwhile.
  const isOpen = parts.cases.isOpen(caseId, run, key)
  // Where nothing has to be sent nobody waits for it.
  isOpen.catch(() => {})
  const foundAt = parts.clock()
  return openQuestion(parts, staged, { asked, record, journal, answersInRound: progress.asked.length, isOpen, foundAt })
}

async function inStore(parts: FindQuestionParts, staged: StagedAsk): Promise<OpenQuestion | AttemptEnd> {
  const { protocols, cases, scripts, clock, settings } = parts
  const { caseId, run, key } = staged
  const stale = ({ advance }: { readonly advance: boolean }): AttemptEnd => ({ end: 'done', outcome: 'stale', advance })
  // Before it is prepared, which may wait for other long subjects.
  const foundAt = clock()
  const taken = await cases.peek(caseId)
  const protocol = taken === null ? undefined : protocolOf(protocols, taken.record)
  if (taken === null || protocol === undefined) return stale({ advance: false })
  const { record, journal } = taken
  // Advanced only while nobody has taken the restarted case: each of many jobs would take it over.
  if (taken.run !== run) return stale({ advance: taken.epoch === record.restartedAtEpoch })
  if (otherVersion(record.versions, protocol) !== undefined) {
    const why = 'its case has other versions than the process that took it'
    // For a while a process with the case's own versions may answer it; then the case restarts here.
    const isLeft = isAskLeftToOtherVersion(record, protocol, clock(), settings.handBack)
    return isLeft
      ? { end: 'deferred', delayMs: OTHER_VERSION_MS, why }
      : { end: 'done', outcome: 'retry', advance: true }
  }
  await prepared(protocol, record.subject)
  const { replayState, progress } = replayCase(protocol, taken, undefined, parts)
  if (replayState.at === 'end') return stale({ advance: true })
  const { asked, open } = replayState
  scripts.keep(taken, progress, open)
  const found = open.find((one) => one.key === key)
  if (found === undefined) return stale({ advance: open.every(({ round }) => round !== roundOf(asked, key)) })
  const isOpen = Promise.resolve(true)
  return openQuestion(parts, staged, { asked: found, record, journal, answersInRound: asked.length, isOpen, foundAt })
}

function openQuestion(
  { protocols, cases, gate, clock }: FindQuestionParts,
  { caseId, run, key }: StagedAsk,
  found: Pick<OpenQuestion, 'record' | 'answersInRound'> & {
    readonly asked: KeyedAsk
    readonly journal: Journal
    /** Whether it was still open then, ms since 1970. */
    readonly isOpen: Promise<boolean>
    readonly foundAt: number
  },
): OpenQuestion {
  const { record, answersInRound, isOpen, foundAt } = found
  const { ask } = found.asked
  /** Whether the case was shown content of other subjects, which may be deleted. */
  const wasShown = [...found.journal.values()].some(({ shown = [] }) => shown.length > 0)
  return {
    ask,
    record,
    answersInRound,
    remember: ask.shared === true || protocolOf(protocols, record)?.faithful !== true,
    async mayAsk() {
      // Read just before it is sent, the mark first: an erasure removes it once the case has restarted.
      const isWithheld = wasShown && cases.isWithheld(caseId)
      const isAsked = wasShown || clock() - foundAt > FRESH_MS ? cases.isOpen(caseId, run, key) : isOpen
      const [mustWait, isStillOpen] = await Promise.all([isWithheld, isAsked])
      if (!isStillOpen) throw new QuestionClosed()
      if (mustWait) throw withheld()
      unlessClosed(gate, caseId)
    },
  }
}

function roundOf(asked: readonly KeyedAsk[], key: string): number | undefined {
  return asked.find((one) => one.key === key)?.round
}
