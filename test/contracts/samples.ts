import type { CaseRecord, JournalEntry, ModelCall } from '../../src/contracts/facts/case.ts'
import { samplingRanks } from '../../src/contracts/facts/sampling-rank.ts'
import type { Comment, Post, SubjectKind, ThreadRef } from '../../src/contracts/facts/thread.ts'
import { noUsage } from '../../src/contracts/facts/verdict.ts'
import { verdictId } from '../../src/contracts/facts/verdict-id.ts'
import type { OverridingVerdict } from '../../src/contracts/ports/cases.ts'
import type { Arrival, CommentChange, ThreadRules, ThreadState } from '../../src/contracts/ports/threads.ts'

// Small facts for the contracts. Times are ms since 1970; the samples' world begins at T0.

export const T0 = Date.parse('2024-05-01T12:00:00Z')
const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

export const RULES: ThreadRules = {
  finalAge: HOUR,
  counts: [],
  maxComments: 100,
  maxPerAuthor: null,
  maxUnnamed: null,
  isPlaceholder: () => false,
  rank: (_, id) => samplingRanks('key')('a scope', id),
  samplingKeyVersion: 'a key',
  maxTextChars: 8_000,
  reopen: true,
  orphanWait: 10 * MINUTE,
}

/** A post whose comments are read, and that nobody judges by itself. */
export const ARRIVAL: Arrival = { firstDue: T0, now: T0, threaded: true, atOnce: false }

export const thread = (postId: string, tenant = 'default', kind: SubjectKind = 'post'): ThreadRef => ({
  tenant,
  postId,
  kind,
})

export const postOf = ({ postId }: ThreadRef, change: Partial<Post> = {}): Post => ({
  id: postId,
  text: `what ${postId} says`,
  createdAt: T0,
  ...change,
})

export function said(id: string, change: Partial<Comment> = {}): CommentChange & { kind: 'said' } {
  const comment: Comment = { id, text: `words of ${id}`, createdAt: T0 + MINUTE, ...change }
  return { kind: 'said', comment, origin: () => originOf(id) }
}

export const originOf = (id: string) => ({
  topic: 'comments',
  partition: 3,
  offset: '17',
  timestamp: T0 + 3 * MINUTE,
  raw: Buffer.from(id).toString('base64'),
  bytes: 0,
})

export const unsaid = (id: string): CommentChange => ({ kind: 'deleted', id, createdAt: T0 + 2 * MINUTE })

/** The next revision's record for a protocol, as an opener would make it. */
export function recordOf(state: ThreadState, protocol = 'rumor', change: Partial<CaseRecord> = {}): CaseRecord {
  const { tenant, postId, kind } = state.ref
  const revision = (state.revisions.get(protocol)?.revision ?? 0) + 1
  const asked = kind === 'asked'
  const id = (number: number) => verdictId({ protocol, tenant, subjectId: postId, revision: number, asked })
  return {
    id: id(revision),
    protocol,
    tenant,
    subjectId: postId,
    kind,
    revision,
    final: false,
    supersedes: revision === 1 ? null : id(revision - 1),
    subject: { post: state.post, comments: state.comments, leftOut: 0 },
    comments: { accepted: state.accepted, cap: 0, late: 0, author: 0 },
    overloaded: false,
    carry: state.revisions.get(protocol)?.carry ?? null,
    versions: { script: 1, prompts: 'p', settings: 's' },
    createdAt: T0,
    receivedAt: T0,
    openedAt: T0,
    deadline: T0 + HOUR,
    ...change,
  }
}

/** The same, as an opener hands it over. */
export function seenBy(state: ThreadState, protocol = 'rumor', change: Partial<CaseRecord> = {}) {
  return { record: recordOf(state, protocol, change), seen: state.version }
}

/** A verdict and its transcript, as far as the stores look into them. */
export function endOf(record: CaseRecord, words = 'so it is', carry: string | null = null) {
  const { id, protocol, tenant, subjectId, revision } = record
  const ruled = { protocol, tenant, subjectId, rationale: words }
  return {
    verdict: JSON.stringify({ id, ...ruled, revision }),
    transcript: JSON.stringify({ verdictId: id, subject: record.subject }),
    carry,
    label: null,
    proposal: (above: OverridingVerdict) => ({
      verdict: JSON.stringify({ id: id.replace('~r', '~p'), ...ruled, beneath: above.id }),
      transcript: JSON.stringify({ verdictId: id.replace('~r', '~p'), subject: record.subject }),
    }),
  }
}

export function retractionOf(ref: ThreadRef) {
  return (protocol: string, revision: number, superseded = revision - 1) => {
    const { tenant, postId: subjectId } = ref
    const caseId = verdictId({ protocol, tenant, subjectId, revision })
    const supersedes = verdictId({ protocol, tenant, subjectId, revision: superseded })
    const verdict = JSON.stringify({
      id: caseId,
      protocol,
      tenant,
      subjectId,
      revision,
      supersedes,
      degraded: ['deleted'],
    })
    return { caseId, verdict, transcript: JSON.stringify({ verdictId: caseId }) }
  }
}

/** A call of the model `m` that took 5 ms. */
export function callOf(id: string, outcome = 'answered'): ModelCall {
  return { id, outcome, model: 'm', startedAt: T0, ms: 5 }
}

export function entryOf(answer: unknown): JournalEntry {
  return {
    stage: 'stance',
    role: 'stance',
    model: 'm',
    answer,
    raw: JSON.stringify(answer),
    calls: [callOf('call-1')],
    usage: noUsage(),
    startedAt: T0,
    ms: 5,
    heldMs: 0,
    memo: false,
  }
}

export const DECISION_TOPICS = {
  proposals: 'proposals',
  reviews: 'reviews',
  decisionOutcomes: 'outcomes',
  appealOutcomes: 'appeal outcomes',
}
