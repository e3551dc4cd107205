import { type DecisionOutcome, namedSubject, type Review, reviewId } from '../../contracts/facts/decision-messages.ts'
import type { ThreadRef } from '../../contracts/facts/thread.ts'
import {
  type DecidedRevision,
  type DecisionResult,
  type DecisionStore,
  decisionName,
} from '../../contracts/ports/decisions.ts'
import {
  carryOutDecision,
  type DecisionStep,
  KEEP_TOLD_MS,
  publishedOf,
  TOLD_BYTES,
} from '../../judging/threads/decision-rules.ts'
import { withStory, withToldLabel } from '../../judging/threads/story.ts'
import { newThread } from '../../judging/threads/thread.ts'
import type { KeptBytes } from '../answer/memory-kept.ts'
import type { CaseTable } from '../case/memory-table.ts'
import type { OutboxEntries } from '../outbox/memory.ts'
import type { ThreadTable } from '../thread/memory-table.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/decisions.ts holds both to the same promises.

/** What people decide of threads in memory, of which none is ever forgotten. */
export function memoryDecisions(
  threads: ThreadTable,
  cases: CaseTable,
  entries: OutboxEntries,
  kept: Pick<KeptBytes, 'set'>,
): DecisionStore {
  const told = new Map<string, DecisionResult>()
  return {
    async decide(decision, scope, now, write) {
      const { ref, protocol, place, label, by } = decision
      const of = decisionName(place)
      if (told.get(of)?.outcome === 'unknown') return { outcome: 'unknown' }
      const openId = threads.find(ref)?.revisions.get(protocol)?.openId ?? null
      const isOpen = openId !== null && cases.get(openId)?.status === 'open'
      const given = { decision, of, scope, now, isOpen }
      const tell = (ended: DecisionResult) => {
        told.set(of, ended)
        kept.set(ref.tenant, `told ${of}`, TOLD_BYTES, now + KEEP_TOLD_MS)
      }
      const step = (written: DecisionStep['written']) =>
        threads.step(ref, (thread) => carryOutDecision(thread, { ...given, written }))
      const first = step(null)
      if (first.told !== undefined) tell(first.told)
      if (first.decided.outcome !== 'changed') return done(first.decided, first.review)
      const { on } = first.decided
      const written = write(on)
      const id = written === null ? null : `${scope}${on.number}`
      const { decided } = step({ on, id, label: written?.label ?? null })
      if (decided.outcome === 'changed') throw new Error('a thread in memory changed within a step')
      const said = written?.label ?? null
      if (written !== null)
        threads.step(ref, (thread) => ({ thread: withToldLabel(thread, protocol, said), outcome: null }))
      const way = decision.withdraw ? 'withdrawal' : 'person'
      const { story } = threads.tell(ref, protocol, { by: way, label: said, verdictId: id ?? '', opposed: [] })
      if (written !== null && id !== null) {
        const { transcript } = written
        const verdict = withStory(written.verdict, story)
        entries.putDecided({ ref, protocol, caseId: id }, { kind: 'verdict', caseId: id, verdict, transcript })
      }
      if (decided.outcome === 'stands' || decided.outcome === 'withdrawn') {
        const told = { of, by, label: said, revision: id === null ? 0 : on.number }
        entries.put({ kind: 'outcome', outcome: outcomeOf(ref, protocol, told, decided.outcome, place.timestamp) })
      }
      return done(decided)

      function done(ended: DecisionResult, review?: { why: string; verdict: string }): DecisionResult {
        if (review !== undefined) {
          const speaks = decision.withdraw || label === null ? {} : { label }
          const asked = { protocol, ...review, ...speaks, of, by }
          entries.put({ kind: 'review', review: reviewOf(ref, asked, place.timestamp) })
        }
        if (ended.outcome !== 'duplicate' && ended.outcome !== 'waiting') tell(ended)
        return ended
      }
    },
    told: async (of) => told.get(of) ?? null,
    async tell(of, decided) {
      told.set(of, decided)
    },
    published: async (ref, protocol) => publishedOf(threads.find(ref) ?? newThread(ref), protocol),
    async decided(ref) {
      const known = [...(threads.find(ref)?.decided ?? [])]
      return new Map(
        known.flatMap(([protocol, { top, stands, revision, label, by, of }]) =>
          top === null ? [] : [[protocol, { verdict: top, stands: stands !== null, revision, label, by, of }]],
        ),
      )
    },
  }
}

/** A request for a review of a subject. */
export function reviewOf(
  ref: ThreadRef,
  asked: Pick<Review, 'protocol' | 'why' | 'verdict' | 'proposal' | 'label' | 'of' | 'by'>,
  at: number,
): Review {
  return {
    schema: 1,
    id: reviewId(asked),
    ...namedSubject(ref),
    ...asked,
    at: new Date(at).toISOString(),
  }
}

/** What became of a decision. */
export function outcomeOf(
  ref: ThreadRef,
  protocol: string,
  { of, by, label, revision }: Pick<DecidedRevision, 'of' | 'by' | 'label' | 'revision'>,
  outcome: DecisionOutcome['outcome'],
  at: number,
): DecisionOutcome {
  const when = new Date(at).toISOString()
  return {
    schema: 1,
    ...namedSubject(ref),
    protocol,
    outcome,
    of,
    revision,
    label,
    by,
    at: when,
  }
}
