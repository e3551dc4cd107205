import type { CaseRecord } from '../../contracts/facts/case.ts'
import type { Outcome } from '../../contracts/facts/messages.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import { type Ruling, undecided, type Verdict } from '../../contracts/facts/verdict.ts'
import type { VerdictForm } from '../../contracts/facts/verdict-fields.ts'
import { namedIn, verdictId } from '../../contracts/facts/verdict-id.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { Memo } from '../../contracts/ports/memo.ts'
import type { ThreadStore } from '../../contracts/ports/threads.ts'
import type { TraceLinks } from '../../contracts/ports/traces.ts'
import { type EndedCase, transcriptOf, verdictOf } from './conclude.ts'
import { kindNamed } from './routes.ts'
import type { Protocol } from './script.ts'
import { versionsOf } from './versions.ts'

/** Erases subjects, and what was asked apart from the stream, with all that was asked of models about them. Repeatable. */
export function subjectEraser(deps: {
  threads: Pick<ThreadStore, 'deletePost' | 'dropAsked'>
  memo: Pick<Memo, 'forget'>
  /** Where traces are sent. */
  links?: Pick<TraceLinks, 'forget'> | undefined
  protocols: readonly Protocol[]
  clock: Clock
  /** How long answers may stay in the memo, in ms. */
  keepMemo: number
  writes: VerdictForm
}) {
  const { threads, memo, links, protocols, clock, keepMemo, writes } = deps
  const retract = retractionOf(protocols, clock, writes)
  return {
    /** Retracts its verdicts too. */
    async erase(ref: ThreadRef): Promise<Outcome> {
      // Also for a repeated deletion: the first may have been interrupted between the two steps.
      await memo.forget(ref, keepMemo)
      await links?.forget(ref)
      return threads.deletePost(ref, (...of) => retract(ref, ...of))
    },
    async eraseAsked(ref: ThreadRef): Promise<void> {
      await memo.forget(ref, keepMemo)
      await threads.dropAsked(ref)
    },
  }
}

/** The retraction of a deleted post, by protocol. */
export function retractionOf(protocols: readonly Protocol[], clock: Clock, writes: VerdictForm) {
  return (ref: ThreadRef, name: string, revision: number, superseded: number) => {
    const protocol = protocols.find((one) => one.name === name)
    const id = (number: number) =>
      verdictId({
        protocol: name,
        tenant: ref.tenant,
        ...namedIn(ref),
        revision: number,
        ...kindNamed(protocol, ref.kind),
      })
    const now = clock()
    const of = {
      id: id(revision),
      protocol: name,
      tenant: ref.tenant,
      subjectId: ref.postId,
      kind: ref.kind,
      revision,
      final: true,
      supersedes: id(superseded),
      versions: protocol === undefined ? { script: 0, prompts: '', settings: '' } : versionsOf(protocol),
      createdAt: now,
      receivedAt: now,
      openedAt: now,
    }
    const { verdict, transcript } = retraction(of, writes)
    return { caseId: verdict.id, verdict: JSON.stringify(verdict), transcript }
  }
}

/** A verdict that reports the deletion of its subject: the last revision, without label or content. */
function retraction(
  record: Omit<CaseRecord, 'subject' | 'comments' | 'carry' | 'deadline' | 'overloaded' | 'step'>,
  writes: VerdictForm,
): { verdict: Verdict; transcript: string } {
  const bare: CaseRecord = {
    ...record,
    comments: { accepted: 0, cap: 0, late: 0, author: 0 },
    overloaded: false,
    subject: null,
    carry: null,
    deadline: 0,
  }
  const ruling: Ruling = { ...undecided('deleted'), decidedBy: 'deleted' }
  const ended: EndedCase = {
    record: bare,
    ruling,
    asked: [],
    journal: new Map(),
    lostCalls: [],
    decidedAt: record.openedAt,
    writes,
  }
  return { verdict: verdictOf(ended), transcript: transcriptOf(ended, () => [], Number.POSITIVE_INFINITY) }
}
