import { revisionIn } from '../../contracts/facts/verdict-id.ts'
import type { OverridingVerdict } from '../../contracts/ports/cases.ts'
import type { DecidedRevision, DecisionBasis, DecisionResult, HumanDecision } from '../../contracts/ports/decisions.ts'
import type { MessagePlace } from '../../contracts/ports/threads.ts'
import { dueNow, laterPlace, type Thread, type ThreadStep, takenBefore } from './thread.ts'

// The twin of src/store/thread/decide.lua: a change here is a change there. Random histories compare them (test/judging/threads).

const NOTHING: DecidedRevision = {
  stands: null,
  top: null,
  label: null,
  revision: 0,
  of: '',
  by: '',
  deciding: null,
  last: undefined,
  became: undefined,
  asked: [],
  machine: null,
}

/** A decision at its handling, and the state of what it may have to wait for. */
export interface DecisionStep {
  readonly decision: HumanDecision
  readonly of: string
  readonly scope: string
  readonly now: number
  /** The protocol's case is open: neither concluded nor published. */
  readonly isOpen: boolean
  /** The verdict that the caller wrote for this, if it did; `id` null to have the subject judged anew. */
  readonly written: { readonly on: DecisionBasis; readonly id: string | null; readonly label: string | null } | null
}

/** What a decision leads to beside the thread. */
export interface DecisionEffects {
  readonly decided: DecisionResult | { readonly outcome: 'changed'; readonly on: DecisionBasis }
  /** What a review is asked for, of this verdict. */
  /** The result for its writer, if it was carried out before. */
  readonly told?: DecisionResult
  readonly review?: { readonly why: 'refused' | 'disputed'; readonly verdict: string }
}

/** How long the outcome of a decision can be read, in ms, and what it takes, in bytes: the id of a verdict is its longest part. */
export const [KEEP_TOLD_MS, TOLD_BYTES] = [3_600_000, 500]

/** The numbers of the verdicts that people brought about, from which the next number follows. */
export function decidedOf(thread: Thread, protocol: string): DecidedRevision {
  return thread.decided.get(protocol) ?? NOTHING
}

function withDecided(thread: Thread, protocol: string, change: Partial<DecidedRevision>): Thread {
  const decided = new Map(thread.decided).set(protocol, { ...decidedOf(thread, protocol), ...change })
  return { ...thread, decided }
}

/** The number of the protocol's last published verdict; 0 if there is none. */
export function publishedOf(thread: Thread, protocol: string): number {
  const revision = thread.revisions.get(protocol)
  const counted = Math.max(revision?.published ?? 0, decidedOf(thread, protocol).revision)
  return counted === 0 && (revision?.openId ?? null) === null ? (revision?.revision ?? 0) : counted
}

/** Carries out a decision, once. */
export function carryOutDecision(thread: Thread, step: DecisionStep): ThreadStep<DecisionEffects> {
  const { decision, scope, now, isOpen } = step
  const { protocol, place, withdraw, force, opinion, golden, label, against } = decision
  const known = decidedOf(thread, protocol)
  const revision = thread.revisions.get(protocol)
  const outcome = (decided: DecisionEffects['decided']) => ({ thread, outcome: { decided } })
  if (wasHandled(known.last, place)) return outcome({ outcome: 'duplicate' })
  if (known.became?.same === decision.same)
    return {
      thread: withDecided(thread, protocol, { last: laterPlace(known.last, place) }),
      outcome: { decided: { outcome: 'duplicate' }, told: known.became.decided },
    }
  if (thread.status === 'deleted') return outcome({ outcome: 'deleted' })
  const openId = revision?.openId ?? null
  const published = publishedOf(thread, protocol)
  if (published === 0 && thread.post === null && !force) return outcome({ outcome: 'unknown' })
  const handled = (decided: DecisionResult) =>
    withDecided(thread, protocol, { last: laterPlace(known.last, place), became: { same: decision.same, decided } })
  if (opinion) {
    const disputes = golden !== true && known.stands !== null && known.label !== label
    const review = { why: 'disputed', verdict: known.stands ?? '' } as const
    return {
      thread: handled({ outcome: 'noted' }),
      outcome: { decided: { outcome: 'noted' }, ...(disputes ? { review } : {}) },
    }
  }
  if (known.deciding !== null || (openId !== null && !isOpen)) return outcome({ outcome: 'waiting' })
  const isStale = against !== (withdraw ? known.revision : published) && !force
  if ((withdraw && known.stands === null) || isStale)
    return {
      thread: handled({ outcome: 'late', last: published }),
      outcome: {
        decided: { outcome: 'late', last: published },
        review: { why: 'refused', verdict: `${scope}${published}` },
      },
    }
  const next = Math.max(published, revision?.revision ?? 0) + 1
  const number = next === 1 && thread.post === null ? Math.floor(now / 1000) : next
  const machine = known.stands === null ? (revision?.ruling ?? null) : known.machine
  const on: DecisionBasis = { scope, number, published, machine, isLive: thread.post !== null }
  const { written } = step
  if (written === null || JSON.stringify(written.on) !== JSON.stringify(on)) return outcome({ outcome: 'changed', on })
  const decided = { outcome: withdraw ? 'withdrawn' : 'stands', verdict: written.id } as const
  return { thread: carryOut(handled(decided), step, written), outcome: { decided } }
}

function carryOut(
  thread: Thread,
  { decision, of, now, isOpen }: DecisionStep,
  { on, id, label }: NonNullable<DecisionStep['written']>,
): Thread {
  const { protocol, withdraw, by } = decision
  const known = decidedOf(thread, protocol)
  const ruling = thread.revisions.get(protocol)?.ruling ?? null
  const machine = withdraw ? null : known.stands === null ? ruling : known.machine
  const verdict = id === null ? {} : { top: id, label, revision: on.number, deciding: id }
  const stands = withdraw ? null : id
  // What machines said last, also for a later decision.
  const last = withdraw ? known.machine : ruling
  const before = thread.revisions.get(protocol)
  const after = numbered(
    withRuling(withDecided(thread, protocol, { stands, machine, of, by, asked: [], ...verdict }), protocol, last),
    protocol,
    id,
    on,
  )
  const isJudged = withdraw && on.isLive && (id === null || isOpen)
  const isLast = isOpen && id === null && revisionIn(before?.openId ?? '') === before?.revision
  if (!isJudged || isLast) return after
  const revision = after.revisions.get(protocol)
  // Judged anew, or once more after the case that ends beneath what took the place of the human verdict.
  const unseen =
    revision === undefined
      ? after
      : {
          ...after,
          revisions: new Map(after.revisions).set(protocol, { ...revision, seen: -1, again: revision.again || isOpen }),
        }
  return isOpen ? unseen : dueNow(unseen, now)
}

function withRuling(thread: Thread, protocol: string, ruling: string | null): Thread {
  const revision = thread.revisions.get(protocol)
  if (revision === undefined) return thread
  return { ...thread, revisions: new Map(thread.revisions).set(protocol, { ...revision, ruling }) }
}

/** The protocol's revisions go on behind the verdict. */
function numbered(thread: Thread, protocol: string, id: string | null, { number }: DecisionBasis): Thread {
  if (id === null || thread.post === null) return thread
  const first = { seen: 0, final: false, openId: null, again: false, carry: null }
  const revision = { ...first, ...thread.revisions.get(protocol), revision: number, published: number }
  return { ...thread, revisions: new Map(thread.revisions).set(protocol, revision) }
}

/** Whether a decision at this place was handled before. Keys move when a topic gets more partitions. */
function wasHandled(last: MessagePlace | undefined, place: MessagePlace): boolean {
  if (last === undefined) return false
  return takenBefore(last, place) || (last.partition !== place.partition && place.timestamp < last.timestamp)
}

/** Asks for a review of the verdict that stands, once for each thing that speaks against it. */
export function askReview(thread: Thread, protocol: string, what: string): ThreadStep<boolean> {
  const { asked } = decidedOf(thread, protocol)
  if (asked.includes(what)) return { thread, outcome: false }
  return { thread: withDecided(thread, protocol, { asked: [...asked, what] }), outcome: true }
}

/**
 * The verdict that a case ends beneath: one that stands, or the one that was published again in its place while this was judged.
 * Null if the case ends with a verdict of its own.
 */
export function overridingVerdictOf(
  thread: Thread | null,
  { protocol, revision }: { protocol: string; revision: number },
): OverridingVerdict | null {
  if (thread === null) return null
  const { stands, top, label } = decidedOf(thread, protocol)
  const isBehind = (thread.revisions.get(protocol)?.revision ?? 0) > revision
  return top !== null && (stands !== null || isBehind) ? { id: top, label } : null
}

/** Keeps the machines' last ruling, for the withdrawal of a human verdict; null where it may quote other subjects. */
export function keepRuling(
  thread: Thread,
  { protocol, ruling, above }: { protocol: string; ruling: string | null; above: OverridingVerdict | null },
): Thread {
  if (decidedOf(thread, protocol).stands !== null) return withDecided(thread, protocol, { machine: ruling })
  return above === null ? withRuling(thread, protocol, ruling) : thread
}

/** A verdict that people brought about was published. */
export function noteDecisionPublished(
  thread: Thread,
  { protocol, caseId }: { protocol: string; caseId: string },
): Thread {
  return decidedOf(thread, protocol).deciding === caseId ? withDecided(thread, protocol, { deciding: null }) : thread
}

/** Rulings of machines that are published again in place of human verdicts, until they are out, by protocol. */
export function restoredOnTheWay(thread: Thread): ReadonlyMap<string, string> {
  const all = [...thread.decided].flatMap(([protocol, { stands, deciding }]): [string, string][] =>
    stands === null && deciding !== null ? [[protocol, deciding]] : [],
  )
  return new Map(all)
}

/** Rulings, of this protocol if one is named, may quote what was deleted. */
export function eraseRulings(thread: Thread, protocol?: string): Thread {
  const isMeant = (name: string) => protocol === undefined || name === protocol
  const ruled = [...thread.revisions].filter(([name, { ruling = null }]) => isMeant(name) && ruling !== null)
  const above = [...thread.decided].filter(([name, { machine }]) => isMeant(name) && machine !== null)
  if (ruled.length + above.length === 0) return thread
  const [revisions, decided] = [new Map(thread.revisions), new Map(thread.decided)]
  for (const [name, revision] of ruled) revisions.set(name, { ...revision, ruling: null })
  for (const [name, one] of above) decided.set(name, { ...one, machine: null })
  return { ...thread, revisions, decided }
}
