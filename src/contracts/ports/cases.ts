import type { AppealOutcome } from '../facts/appeal-messages.ts'
import type { CaseRecord, Journal, JournalEntry, ModelCall } from '../facts/case.ts'
import type { DecisionOutcome, Review } from '../facts/decision-messages.ts'

/** A case as its worker sees it. */
export interface TakenCase {
  readonly record: CaseRecord
  /** Raised at each takeover; only the latest holder can conclude. */
  readonly epoch: number
  /** Raised when a case restarts; answers to an earlier run are rejected. */
  readonly run: number
  readonly journal: Journal
  /** Calls without an answer in the journal, in order: failed, or unreadable before a restart. */
  readonly lostCalls: readonly LostCall[]
}

export interface LostCall extends ModelCall {
  /** The key of the ask that it was made for. */
  readonly key: string
}

/** No case can be taken over, and no message written, now: the store has lost data, or has just restarted and may have. */
export class StoreSuspended extends Error {
  constructor() {
    super('store suspended: data lost or just restarted')
    this.name = 'StoreSuspended'
  }
}

/**
 * The case can't be taken over now: a comment of its thread, or a subject that it was shown content of, was deleted and is being
 * erased from it, or it waits to go on without that.
 */
export class CaseWithheld extends Error {
  constructor() {
    super('case withheld: what it holds was deleted')
    this.name = 'CaseWithheld'
  }
}

/** An unpublished case: open, or concluded while its verdict waits for Kafka. */
export interface UnpublishedCase extends TakenCase {
  readonly concluded: boolean
}

/** The start of a case after comments of its thread, or other subjects that it was shown, were deleted. */
export interface CaseRestart {
  readonly record: CaseRecord
  /** The answers that it keeps. */
  readonly journal: Journal
  /** Calls whose answers it does not keep. */
  readonly lostCalls: readonly LostCall[]
  /** The thread's version that it restarts on; the restart fails if the thread has changed since. */
  readonly version: number
  /** It goes on only when it is released (`Erasures.release`). */
  readonly withheld?: boolean
  /** The thread's version that it sees now; null keeps the stored one, if this process can't know it. */
  readonly seen: number | null
}

/** A case as its caller has it: its record, and the answers of its run. */
export type KnownCase = Pick<TakenCase, 'run' | 'record' | 'journal'>

/** Whose case it is, and which protocol's. */
export type CaseSubject = Pick<CaseRecord, 'protocol' | 'tenant' | 'subjectId' | 'kind'>

/** The outcome of an answer, and how many answers the journal has. */
export interface JournalResult {
  readonly outcome: 'stored' | 'exists' | 'stale' | 'deleted'
  readonly answers: number
}

/** The verdict above a proposal. */
export interface OverridingVerdict {
  readonly id: string
  readonly label: string | null
}

/** The end of a case. */
export interface CaseEnd extends VerdictTexts {
  /** Labels that contradict one another; absent: none do. */
  readonly opposed?: readonly string[]
  /** Its ruling's. */
  readonly label: string | null
  readonly proposal: (above: OverridingVerdict) => VerdictTexts
  readonly carry: string | null
  readonly again?: boolean
}

/** Both as JSON. */
export interface VerdictTexts {
  readonly verdict: string
  readonly transcript: string
}

/** Open cases and their journals. All of it is durable: when a promise resolves, the effect is in the store. */
export interface CaseStore {
  /**
   * Takes the case over: raises its epoch in one atomic step. Null if it isn't open (concluded, deleted, unknown). What a
   * caller already knows of this run, its record and some answers, is not read again. Throws {@link StoreSuspended} or
   * {@link CaseWithheld}.
   */
  take(caseId: string, known?: KnownCase): Promise<TakenCase | null>
  /** Reads without taking over. Null if it isn't open. */
  peek(caseId: string): Promise<TakenCase | null>
  /** How long the case's record is, in bytes or characters; 0 if there is none. */
  recordLength(caseId: string): Promise<number>
  /** Whether the case is open in this run, and the ask has no answer. */
  isOpen(caseId: string, run: number, key: string): Promise<boolean>
  /** Whether the case may neither go on nor out ({@link CaseWithheld}): then none of its questions is sent. */
  isWithheld(caseId: string): Promise<boolean>
  /** Reads an unpublished case without taking it over; null if there is none. */
  unpublished(caseId: string): Promise<UnpublishedCase | null>
  /**
   * Ends the open case's run, so that no answer to it counts any more, and withholds it ({@link CaseWithheld}) until it restarts, or
   * for so many ms at most: then it goes on with the answers that it has. Nothing is done if it isn't open in this run.
   */
  withhold(caseId: string, run: number, ms: number): Promise<void>
  /**
   * Restarts a case that is still as `read`, in a new run that nobody has taken. If its verdict was never handed to a
   * publisher, the verdict is withdrawn and the case is open again. If a publisher has it, the verdict and its case are
   * erased here, and the next revision is due as soon as it is published: `in-flight`. `changed`, with nothing done, if
   * the case or its thread is not as it was read.
   */
  restartUnpublished(read: UnpublishedCase, restart: CaseRestart): Promise<'restarted' | 'in-flight' | 'changed'>
  /** Restarts an open case under `record`'s versions: without its journal, in a new run. False unless `epoch` is still the latest. */
  restart(caseId: string, epoch: number, record: CaseRecord): Promise<boolean>
  /**
   * Writes how an ask ended. The first write counts: `exists` if there is one, `stale` if the case or run is no longer
   * open. `answers` is how many the run has now; of several that are written at once, exactly one sees the last number.
   * If the entry shows content of subjects, it is noted that this case, of `shownTo`, was shown it
   * (`Erasures.shownTo`); if one of them has been deleted, nothing is done: `deleted`.
   */
  answer(caseId: string, run: number, key: string, entry: JournalEntry, shownTo?: CaseSubject): Promise<JournalResult>
  /** Records calls that were made and brought no answer. */
  loseCalls(caseId: string, calls: readonly LostCall[]): Promise<void>
  /**
   * Ends the case: puts verdict and transcript into the outbox and keeps `carry` for the next revision, in one atomic step
   * that does nothing and returns false unless `epoch` is the latest, and the case is open and not withheld. With `again`
   * the thread is due for its protocol once more as soon as the verdict is published. A case that a person's decision came
   * before ends as a proposal instead.
   */
  conclude(record: CaseRecord, epoch: number, end: CaseEnd): Promise<boolean>
  /**
   * Ids of open cases that nobody has taken for `idleMs`, longest untouched first, without the first `skip` of them.
   * Taking a case while it is unworked does not count.
   */
  idle(idleMs: number, limit: number, skip?: number): Promise<string[]>
  /**
   * Notes that asks of the protocol wait for a model at this time, ms since 1970: none of their chain answers. An earlier time
   * than the noted one changes nothing.
   */
  noteUnanswered(protocol: string, at: number): Promise<void>
  /** When asks of the protocol last waited for a model; null if none ever did. */
  unansweredUntil(protocol: string): Promise<number | null>
  /** The number of open cases, without unworked ones. */
  countOpen(): Promise<number>
  /** The ids of the same cases. */
  openIds(): Promise<string[]>
  /**
   * Marks open cases of all protocols but `worked` as unworked: they stay open, but take no place from others. Those of
   * `worked` are unmarked. Returns the ids of the unmarked cases, and of all that are unworked now.
   */
  partitionByProtocol(worked: readonly string[]): Promise<{ back: string[]; unworked: string[] }>
}

/** A record that waits for Kafka. */
export type OutboxEntry =
  | {
      readonly id: string
      readonly kind: 'verdict'
      readonly caseId: string
      readonly verdict: string
      readonly transcript: string
    }
  | {
      readonly id: string
      readonly kind: 'proposal'
      readonly caseId: string
      readonly proposal: string
      readonly transcript: string
    }
  | { readonly id: string; readonly kind: 'review'; readonly review: Review }
  | { readonly id: string; readonly kind: 'outcome'; readonly outcome: DecisionOutcome }
  | { readonly id: string; readonly kind: 'appeal'; readonly outcome: AppealOutcome }
  | { readonly id: string; readonly kind: 'dead-letter'; readonly key: string; readonly letter: string }
  /** An entry that only another version of Gavel understands, as JSON. */
  | { readonly id: string; readonly kind: 'unknown'; readonly json: string }

/** What a publisher still has to send. */
export interface UnsentEntries {
  readonly sendable: readonly OutboxEntry[]
  /**
   * These wait: their cases are withheld, and they may be on their topic, as they were tried, or another publisher has had them; or
   * the store may have lost data.
   */
  readonly withheld: readonly OutboxEntry[]
}

/** How many entries wait, and since when, ms since 1970, the oldest that is no dead letter; null if there is none. */
export interface OutboxBacklog {
  /** Everything but dead letters. */
  readonly verdicts: number
  readonly letters: number
  readonly oldestVerdict: number | null
}

/** Holds entries from the atomic step that made them until Kafka has acknowledged them. */
export interface Outbox {
  putDeadLetters(letters: readonly { key: string; letter: string }[]): Promise<void>
  /** What became of appeals; one may be put more than once. */
  putAppealOutcomes(outcomes: readonly AppealOutcome[]): Promise<void>
  /**
   * Up to `limit` entries that are no dead letters, in order, and behind them, unless `withLetters` is false, as many dead letters, for
   * this publisher only; waits at most `waitMs` for the first. The verdict of a case that is withheld is not among them: it is held
   * back, and its case can be restarted as if nobody had taken it.
   */
  next(
    publisher: string,
    limit: number,
    waitMs: number,
    options?: { readonly withLetters?: boolean },
  ): Promise<OutboxEntry[]>
  /** Entries that another publisher took and sent no heartbeat for in `idleMs`: this publisher has them now. */
  adopt(publisher: string, limit: number, idleMs: number): Promise<OutboxEntry[]>
  /**
   * Of entries that this publisher has had for a while, those that may still be sent, and those that wait to be erased. The others
   * are not sent by it: they were erased meanwhile, or are held back as `next` does it, or the outbox has them no more.
   */
  stillToSend(entries: readonly OutboxEntry[], tried: ReadonlySet<string>): Promise<UnsentEntries>
  /** A heartbeat: this publisher is still sending these entries. */
  heartbeat(publisher: string, ids: readonly string[]): Promise<void>
  /** Acknowledged by Kafka: the entries are removed, and their subjects may open the next revision. */
  done(entries: readonly OutboxEntry[]): Promise<void>
  /** This publisher ends: it is forgotten, unless it leaves entries for another to adopt. */
  leave(publisher: string): Promise<void>
  /** Forgets publishers that have no entries and were silent for `idleMs`. One that is still alive continues as a new one. */
  forget(idleMs: number): Promise<void>
  size(): Promise<number>
  /** When the oldest entry was made, ms since 1970; null if there is none. */
  oldest(): Promise<number | null>
  backlog(): Promise<OutboxBacklog>
}
