import type { CaseRecord, JournalEntry } from '../../contracts/facts/case.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import type { LostCall } from '../../contracts/ports/cases.ts'

/** A case, until its verdict is published. */
export interface KeptCase {
  readonly record: CaseRecord
  readonly epoch: number
  readonly run: number
  /** `erased`: a publisher has its verdict, and its text has been erased here. */
  readonly status: 'open' | 'concluded' | 'erased'
  /** The outbox entry of its verdict, once concluded. */
  readonly entry: string | null
  readonly unworked: boolean
  /** It lost what was deleted, and waits to go on. */
  readonly withheld: boolean
  /** What was deleted is being erased from it, until then at most, ms; 0 if nothing is. */
  readonly withheldUntil: number
  /** When it was opened or last taken, ms. */
  readonly touched: number
  readonly journal: ReadonlyMap<string, JournalEntry>
  readonly lostCalls: readonly LostCall[]
}

/** By id. */
export type CaseTable = Map<string, KeptCase>

export function openedCase(record: CaseRecord): KeptCase {
  return {
    record,
    epoch: 0,
    run: 0,
    status: 'open',
    entry: null,
    unworked: false,
    withheld: false,
    withheldUntil: 0,
    touched: record.openedAt,
    journal: new Map(),
    lostCalls: [],
  }
}

export function threadOf({ tenant, subjectId, kind }: CaseRecord): ThreadRef {
  return { tenant, postId: subjectId, kind }
}
