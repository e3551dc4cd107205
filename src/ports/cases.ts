import type { Call, CaseRecord, Journal, JournalEntry } from '../domain/case.ts'

/** A case as its worker holds it. */
export interface TakenCase {
  readonly record: CaseRecord
  /** Raised by each taking over; only the latest holder can conclude. */
  readonly epoch: number
  /** Raised when a case restarts; answers to an earlier run are not taken. */
  readonly run: number
  readonly journal: Journal
  /** Calls that ended without an answer in the journal, in order: failed, or unreadable before a restart. */
  readonly lostCalls: readonly LostCall[]
}

export interface LostCall extends Call {
  /** Of the ask that it was made for. */
  readonly key: string
}

/** The store lets no case be taken over now: it has lost data, or has only just started and may have. */
export class StoreSuspended extends Error {
  constructor() {
    super('store suspended: data lost or just restarted')
    this.name = 'StoreSuspended'
  }
}

/** A case that is not published: open, or concluded while its verdict waits for Kafka. */
export interface UnpublishedCase extends TakenCase {
  readonly concluded: boolean
}

/** What a case restarts with after comments of its thread were deleted. */
export interface CaseRestart {
  readonly record: CaseRecord
  /** The answers that it keeps. */
  readonly journal: Journal
  /** Calls whose answers it does not keep. */
  readonly lostCalls: readonly LostCall[]
  /** The thread's version that it restarts on: it must still be that. */
  readonly version: number
  /** The thread's version that it sees now; null leaves what was noted, where this process can't know. */
  readonly seen: number | null
}

/**
 * Open cases and their journals. Everything here survives the process: when a promise resolves, the effect is in the store.
 */
export interface CaseStore {
  /**
   * Takes the case over: raises its epoch in one atomic step. Null if it isn't open (concluded, deleted, unknown). A caller
   * that has the record of a run (`known`) is not sent it again. Throws {@link StoreSuspended}.
   */
  take(caseId: string, known?: Pick<TakenCase, 'run' | 'record'>): Promise<TakenCase | null>
  /** Reads without taking over. Null if it isn't open. */
  peek(caseId: string): Promise<TakenCase | null>
  /** Whether the case is open in this run. */
  isCurrent(caseId: string, run: number): Promise<boolean>
  /** Reads a case that is not published, without taking it over; null where there is none. */
  unpublished(caseId: string): Promise<UnpublishedCase | null>
  /**
   * Restarts a case that is still as `read`, in a new run that nobody has taken. A verdict that no publisher was ever handed is
   * taken back, and its case is open again. A verdict that a publisher has in hand is erased here, its case with it, and the
   * next revision falls due as soon as it is published: `in-flight`. `changed`, with nothing done, if the case or its thread is
   * not as it was read.
   */
  restartUnpublished(read: UnpublishedCase, restart: CaseRestart): Promise<'restarted' | 'in-flight' | 'changed'>
  /** Restarts an open case under `record`'s versions: without its journal, in a new run. False unless `epoch` is still the latest. */
  restart(caseId: string, epoch: number, record: CaseRecord): Promise<boolean>
  /** Writes an ask's end. The first one counts: `exists` if there is one, `stale` if the case or run isn't open any more. */
  answer(caseId: string, run: number, key: string, entry: JournalEntry): Promise<'stored' | 'exists' | 'stale'>
  /** Remembers calls that were made and brought no answer. */
  loseCalls(caseId: string, calls: readonly LostCall[]): Promise<void>
  /**
   * Ends the case: puts verdict and transcript into the outbox and keeps `carry` for the next revision, in one atomic step
   * that does nothing and returns false unless `epoch` is the latest and the case is open.
   */
  conclude(
    record: CaseRecord,
    epoch: number,
    end: { verdict: string; transcript: string; carry: string | null },
  ): Promise<boolean>
  /**
   * Ids of open cases, the one longest untouched first, that nobody took for `idleMs`; without the first `skip` of them. Taking
   * a case while it is unworked does not count.
   */
  idle(idleMs: number, limit: number, skip?: number): Promise<string[]>
  /** Without the unworked. */
  countOpen(): Promise<number>
  /**
   * Sets cases of all protocols but `worked` apart, as unworked: they stay open, and take no place from others. Those of
   * `worked` come back. Returns the ids of these, and of all that are unworked now.
   */
  partitionByProtocol(worked: readonly string[]): Promise<{ back: string[]; unworked: string[] }>
}

/** What waits for Kafka. */
export type OutboxEntry =
  | {
      readonly id: string
      readonly kind: 'verdict'
      readonly caseId: string
      readonly verdict: string
      readonly transcript: string
    }
  | { readonly id: string; readonly kind: 'dead-letter'; readonly key: string; readonly letter: string }
  /** What only another version of Gavel understands, as JSON. */
  | { readonly id: string; readonly kind: 'unknown'; readonly json: string }

/** Entries stand here from the atomic step that made them until Kafka has acknowledged them. */
export interface Outbox {
  putDeadLetters(letters: readonly { key: string; letter: string }[]): Promise<void>
  /** Up to `limit` entries in order for this publisher alone, waiting at most `waitMs` for the first. */
  next(publisher: string, limit: number, waitMs: number): Promise<OutboxEntry[]>
  /** Entries that another publisher took and left for `idleMs`: now this one's. */
  adopt(publisher: string, limit: number, idleMs: number): Promise<OutboxEntry[]>
  /** Says that this publisher is still sending these. */
  keep(publisher: string, ids: readonly string[]): Promise<void>
  /** Acknowledged by Kafka: the entries go, and their subjects may open the next revision. */
  done(entries: readonly OutboxEntry[]): Promise<void>
  /** This publisher ends: nothing is kept of it, unless it leaves entries for another to adopt. */
  leave(publisher: string): Promise<void>
  /** The same for all that were not heard of for `idleMs`. One that lives all the same goes on as if it were new. */
  forget(idleMs: number): Promise<void>
  size(): Promise<number>
  /** When the oldest of them came, ms since 1970; null where there is none. */
  oldest(): Promise<number | null>
}
