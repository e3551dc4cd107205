import { charactersIn } from '../../contracts/facts/characters-in.ts'
import { proposalIdFor } from '../../contracts/facts/verdict-id.ts'
import {
  type CaseEnd,
  type CaseRestart,
  type CaseStore,
  CaseWithheld,
  type LostCall,
  type TakenCase,
  type UnpublishedCase,
} from '../../contracts/ports/cases.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import { askReview, keepRuling, overridingVerdictOf } from '../../judging/threads/decision-rules.ts'
import { eraseInFlight, leaveCarry, leaveUnjudged, mayRestart, restart } from '../../judging/threads/revisions.ts'
import { withStory, withToldLabel } from '../../judging/threads/story.ts'
import { reviewOf } from '../decision/memory.ts'
import type { MemoryErasures } from '../erasure/memory.ts'
import type { OutboxEntries } from '../outbox/memory.ts'
import type { ThreadTable } from '../thread/memory-table.ts'
import { type CaseTable, type KeptCase, threadOf } from './memory-table.ts'

// The twin of redis.ts and the Lua beside it: test/contracts/case-store.ts holds both to the same promises.

/** Cases and their journals in memory. */
export function memoryCases(
  cases: CaseTable,
  threads: ThreadTable,
  entries: OutboxEntries,
  erasures: MemoryErasures,
  clock: Clock,
): CaseStore {
  const openCase = (id: string): KeptCase | null => {
    const kept = cases.get(id)
    return kept?.status === 'open' ? kept : null
  }
  const unanswered = new Map<string, number>()
  const isWorked = ({ status, unworked }: KeptCase) => status === 'open' && !unworked

  return {
    async take(id) {
      const kept = openCase(id)
      if (kept === null) return null
      if (erasures.isWithheld(kept)) throw new CaseWithheld()
      // An unworked case keeps its place in the order for when it is worked again.
      const taken = { ...kept, epoch: kept.epoch + 1, touched: kept.unworked ? kept.touched : clock() }
      cases.set(id, taken)
      return takenOf(taken)
    },
    async peek(id) {
      const kept = openCase(id)
      return kept === null ? null : takenOf(kept)
    },
    async recordLength(id) {
      const kept = openCase(id)
      return kept === null ? 0 : charactersIn(kept.record)
    },
    isOpen: async (id, run, key) => {
      const kept = openCase(id)
      return kept?.run === run && !kept.journal.has(key)
    },
    async isWithheld(id) {
      const kept = cases.get(id)
      return kept !== undefined && erasures.isWithheld(kept)
    },
    async unpublished(id) {
      const kept = cases.get(id)
      if (kept === undefined || kept.status === 'erased') return null
      return { ...takenOf(kept), concluded: kept.status === 'concluded' }
    },

    async withhold(id, run, ms) {
      const kept = openCase(id)
      if (kept?.run !== run) return
      cases.set(id, { ...kept, epoch: kept.epoch + 1, run: run + 1, withheldUntil: clock() + ms })
    },
    async restartUnpublished(read, given) {
      const { id, protocol } = given.record
      const ref = threadOf(given.record)
      const kept = cases.get(id)
      const thread = threads.find(ref)
      if (kept === undefined || !isAsRead(kept, read) || thread === null) return 'changed'
      if (!mayRestart(thread, { protocol, caseId: id, version: given.version })) return 'changed'
      if (kept.entry !== null && entries.withdraw(kept.entry, id) === 'in-flight') {
        cases.set(id, erased(kept))
        threads.step(ref, (known) => ({ thread: eraseInFlight(known, { protocol }), outcome: null }))
        return 'in-flight'
      }
      cases.set(id, restarted(kept, given, clock()))
      threads.step(ref, (known) => ({ thread: restart(known, { protocol, seen: given.seen }), outcome: null }))
      return 'restarted'
    },
    async restart(id, epoch, record) {
      const kept = openCase(id)
      if (kept?.epoch !== epoch) return false
      cases.set(id, { ...kept, record, run: kept.run + 1, journal: new Map() })
      return true
    },

    async answer(id, run, key, entry) {
      const kept = openCase(id)
      if (kept?.run !== run) return { outcome: 'stale', answers: 0 }
      if (erasures.areDeleted(entry.shown ?? [])) return { outcome: 'deleted', answers: 0 }
      const known = kept.journal.get(key)
      const journal = known === undefined ? new Map(kept.journal).set(key, entry) : kept.journal
      const stored = known === undefined || JSON.stringify(known) === JSON.stringify(entry)
      cases.set(id, { ...kept, journal })
      if (stored) erasures.noteShown(kept.record, entry.shown ?? [])
      return { outcome: stored ? 'stored' : 'exists', answers: journal.size }
    },
    async loseCalls(id, calls) {
      const kept = openCase(id)
      if (kept !== null) cases.set(id, { ...kept, lostCalls: withCalls(kept.lostCalls, calls) })
    },
    async conclude(record, epoch, end) {
      const { id } = record
      const kept = openCase(id)
      if (kept?.epoch !== epoch || erasures.isWithheld(kept)) return false
      const entry = putEnd({ threads, entries, clock }, kept, end)
      cases.set(id, { ...kept, status: 'concluded', entry, unworked: false })
      return true
    },

    async idle(idleMs, limit, skip = 0) {
      return [...cases]
        .filter(([, kept]) => isWorked(kept) && clock() - kept.touched >= idleMs)
        .sort(([id, a], [otherId, b]) => a.touched - b.touched || (id < otherId ? -1 : 1))
        .slice(skip, skip + limit)
        .map(([id]) => id)
    },
    async noteUnanswered(protocol, at) {
      unanswered.set(protocol, Math.max(at, unanswered.get(protocol) ?? 0))
    },
    unansweredUntil: async (protocol) => unanswered.get(protocol) ?? null,
    countOpen: async () => [...cases.values()].filter(isWorked).length,
    openIds: async () => [...cases.values()].filter(isWorked).map(({ record }) => record.id),
    async partitionByProtocol(worked) {
      const back: string[] = []
      for (const [id, kept] of cases) {
        if (kept.status !== 'open') continue
        const unworked = !worked.includes(kept.record.protocol)
        if (kept.unworked && !unworked) back.push(id)
        cases.set(id, { ...kept, unworked })
      }
      return { back, unworked: [...cases].flatMap(([id, { unworked }]) => (unworked ? [id] : [])) }
    },
  }
}

function takenOf({ record, epoch, run, journal, lostCalls }: KeptCase): TakenCase {
  return { record, epoch, run, journal, lostCalls }
}

/** Otherwise an answer that the caller has not seen, and its calls, would be lost. */
function isAsRead(kept: KeptCase, read: UnpublishedCase): boolean {
  const status = read.concluded ? 'concluded' : 'open'
  return (
    kept.status === status &&
    kept.epoch === read.epoch &&
    kept.run === read.run &&
    kept.journal.size === read.journal.size
  )
}

/** Of a case whose verdict a publisher has, only its identity is kept until that is published. */
function erased(kept: KeptCase): KeptCase {
  const record = { ...kept.record, subject: null, carry: null }
  return { ...kept, record, status: 'erased', journal: new Map(), lostCalls: [] }
}

function restarted(
  kept: KeptCase,
  { record, journal, lostCalls, withheld = false }: CaseRestart,
  now: number,
): KeptCase {
  return {
    ...kept,
    record,
    epoch: kept.epoch + 1,
    run: kept.run + 1,
    status: 'open',
    entry: null,
    touched: kept.status === 'concluded' || withheld ? now : kept.touched,
    withheld: kept.withheld || withheld,
    withheldUntil: 0,
    journal: new Map(journal),
    lostCalls: withCalls(kept.lostCalls, lostCalls),
  }
}

/** Adds calls, each only once. */
function withCalls(known: readonly LostCall[], calls: readonly LostCall[]): LostCall[] {
  return [...new Map([...known, ...calls].map((call) => [JSON.stringify(call), call])).values()]
}

/** Puts what a case ends with into the outbox, as a verdict or beneath one that people brought about; returns the entry's id. */
function putEnd(
  { threads, entries, clock }: { threads: ThreadTable; entries: OutboxEntries; clock: Clock },
  { record, journal }: KeptCase,
  { verdict, transcript, carry, label, opposed = [], proposal, again = false }: CaseEnd,
): string {
  const { id, protocol } = record
  const ref = threadOf(record)
  const above = overridingVerdictOf(threads.find(ref), record)
  const texts = above === null ? { verdict, transcript } : proposal(above)
  if (above === null) threads.step(ref, (thread) => ({ thread: withToldLabel(thread, protocol, label), outcome: null }))
  const by = above === null ? 'machine' : 'proposal'
  const { story, review } = threads.tell(ref, protocol, { by, label, verdictId: id, opposed })
  const written = { ...texts, verdict: withStory(texts.verdict, story) }
  const wasShown = [...journal.values()].some(({ shown = [] }) => shown.length > 0)
  threads.step(ref, (thread) => {
    const ruled = keepRuling(thread, { protocol, ruling: wasShown ? null : written.verdict, above })
    const after = leaveCarry(ruled, { protocol, carry: carry === null ? null : (JSON.parse(carry) as unknown) })
    return { thread: again ? leaveUnjudged(after, { protocol, caseId: id }) : after, outcome: null }
  })
  const entry =
    above === null
      ? entries.put({ kind: 'verdict', caseId: id, ...written })
      : entries.put({ kind: 'proposal', caseId: id, proposal: written.verdict, transcript: written.transcript })
  if (review !== undefined)
    entries.put({ kind: 'review', review: reviewOf(ref, { protocol, ...review, verdict: id }, clock()) })
  const stands = threads.find(ref)?.decided.get(protocol)?.stands ?? null
  const differs = stands !== null && label !== null && label !== above?.label
  if (differs && threads.step(ref, (thread) => askReview(thread, protocol, `differs ${label}`))) {
    const asked = { protocol, why: 'differs', verdict: stands, proposal: proposalIdFor(id), label }
    entries.put({ kind: 'review', review: reviewOf(ref, asked, clock()) })
  }
  return entry
}
