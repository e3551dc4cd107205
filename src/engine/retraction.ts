import type { CaseRecord } from '../domain/case.ts'
import { type Ruling, undecided, type Verdict } from '../domain/verdict.ts'
import { type Ended, transcriptOf, verdictOf } from './conclude.ts'

/** A verdict that says that its subject was deleted: the last revision, without label or content. */
export function retraction(record: Omit<CaseRecord, 'subject' | 'comments' | 'carry' | 'deadline' | 'overloaded'>): {
  verdict: Verdict
  transcript: string
} {
  const bare: CaseRecord = {
    ...record,
    comments: { accepted: 0, cap: 0, late: 0, author: 0 },
    overloaded: false,
    subject: null,
    carry: null,
    deadline: 0,
  }
  const ruling: Ruling = { ...undecided('deleted'), decidedBy: 'deleted' }
  const ended: Ended = {
    record: bare,
    ruling,
    asked: [],
    journal: new Map(),
    lostCalls: [],
    decidedAt: record.openedAt,
  }
  return { verdict: verdictOf(ended), transcript: transcriptOf(ended, () => [], Number.POSITIVE_INFINITY) }
}
