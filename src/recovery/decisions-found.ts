import { readMessage } from '../../consumers/read-message.ts'
import {
  type DecisionMessage,
  type DecisionOutcome,
  decisionMessage,
  decisionOutcome,
  review,
  subjectIn,
  subjectOf,
} from '../contracts/facts/decision-messages.ts'
import { subjectKeyOf } from '../contracts/facts/messages.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { decisionName } from '../contracts/ports/decisions.ts'
import type { PublishedEffect } from '../contracts/ports/recovery.ts'
import type { MessagePlace } from '../contracts/ports/threads.ts'
import type { IncomingMessage } from '../contracts/ports/topic.ts'
import { decisionOf, scopeOfSubject } from '../judging/engine/decision-verdict.ts'
import { everyRecord, type PublishedState, readDeadLetters } from './own-topics.ts'
import { subjectKey } from './published.ts'
import { type RecoveryRun, sideBySide } from './run.ts'

/** A decision that was handled by a store that has lost what came of it. */
interface LostDecision {
  readonly message: DecisionMessage
  readonly place: MessagePlace
}

/** What people decided, as the topics tell it. */
export interface DecisionsFound {
  /** What was carried out last, by subject. */
  readonly subjects: readonly { readonly ref: ThreadRef; readonly carriedOut: readonly PublishedEffect[] }[]
  /** Decisions of which nothing is on the topics: neither an outcome nor a verdict, nor that they were refused. */
  readonly lost: readonly LostDecision[]
}

type End = Pick<DecisionOutcome, 'outcome' | 'of' | 'revision' | 'label' | 'by' | 'at'>

/** All that is found of one subject and protocol. */
interface FoundDecision {
  readonly ref: ThreadRef
  readonly protocol: string
  /** The last outcome whose verdict is on its topic, or may have expired there. */
  end: End | null
  isUntold: boolean
  /** The highest number of an outcome's verdict. */
  number: number
  /** What was decided within the time that a store would still remember, in no order. */
  readonly decisions: { from: IncomingMessage; message: DecisionMessage }[]
}

/** Reads what people decided, whole, against what is published. */
export async function readDecisions(run: RecoveryRun, published: PublishedState): Promise<DecisionsFound> {
  const { topics, protocols } = run
  const all = new Map<string, FoundDecision>()
  const foundOf = (ref: ThreadRef, protocol: string): FoundDecision => {
    const key = `${protocol} ${subjectKey(ref)}`
    const known = all.get(key)
    if (known !== undefined) return known
    const found = { ref, protocol, end: null, isUntold: false, number: 0, decisions: [] }
    all.set(key, found)
    return found
  }
  const told = new Set<string>()
  await everyRecord(run, topics.decisionOutcomes, (json) => {
    const read = decisionOutcome.safeParse(json)
    const ref = read.success ? subjectIn(read.data) : null
    if (!read.success || ref === null) return
    const { protocol, of, revision, label, by, at } = read.data
    const outcome: End = { outcome: read.data.outcome, of, revision, label, by, at }
    const isExpired = Date.parse(outcome.at) < published.wholeSince
    const found = foundOf(ref, protocol)
    // It was lost before it was published.
    if (outcome.outcome !== 'deleted' && outcome.revision > 0 && !isExpired && !published.decided.has(outcome.of))
      return
    told.add(outcome.of)
    found.number = Math.max(found.number, outcome.revision)
    // Publishers beside each other may send them in any order.
    if (found.end !== null && isBefore(outcome, found.end)) return
    found.end = outcome
  })
  for (const [of, verdict] of published.decided) {
    if (told.has(of)) continue
    told.add(of)
    const found = foundOf(verdict.ref, verdict.protocol)
    const { revision, label, by, stands, at } = verdict
    const end: End = { outcome: stands ? 'stands' : 'withdrawn', of, revision, label, by, at }
    const isOver = revision < found.number || (found.end !== null && isBefore(end, found.end))
    found.number = Math.max(found.number, revision)
    if (isOver) continue
    found.end = end
    found.isUntold = true
  }
  const asked = await readReviews(run, told)
  const remembered = run.clock() - run.settings.keep.keepTombstoneMs
  const ofReplies = new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name))
  await everyRecord(run, topics.decisions, (_, from) => {
    if (from.timestamp < remembered) return
    const read = readMessage(from, decisionMessage, run.input.context.limits, run.clock())
    if (!read.ok || from.key !== subjectKeyOf(read.message)) return
    const { message } = read
    const ref = subjectOf(message, ofReplies.has(message.protocol) ? 'reply' : 'post')
    if (ref === null) return
    foundOf(ref, message.protocol).decisions.push({ from: { ...from, value: null }, message })
  })
  const isDead = await readDeadLetters(run)
  const isTraced = (from: IncomingMessage) => told.has(decisionName(from)) || isDead(from)
  const bySubject = new Map<string, { ref: ThreadRef; carriedOut: PublishedEffect[] }>()
  const lost: LostDecision[] = []
  for (const found of all.values()) {
    const { end, ref } = found
    const last = end === null || end.outcome === 'deleted' ? null : end
    found.decisions.sort((a, b) => a.from.timestamp - b.from.timestamp || Number(a.from.offset) - Number(b.from.offset))
    lost.push(...lostOf(found, isTraced))
    const subject = published.subjects.get(subjectKey(ref))
    if (last === null || subject?.last.get(found.protocol)?.deleted) continue
    if (last.outcome === 'withdrawn' && Date.parse(last.at) < remembered) continue
    const known = bySubject.get(subjectKey(ref)) ?? { ref, carriedOut: [] }
    known.carriedOut.push(carriedOut(run, published, found, last, asked))
    bySubject.set(subjectKey(ref), known)
  }
  lost.sort((a, b) => a.place.timestamp - b.place.timestamp)
  return { subjects: [...bySubject.values()], lost }
}

/** What reviews were asked for, by verdict; `told` gets the decisions that they report as refused. */
async function readReviews(run: RecoveryRun, told: Set<string>): Promise<ReadonlyMap<string, readonly string[]>> {
  const asked = new Map<string, string[]>()
  await everyRecord(run, run.topics.reviews, (json) => {
    const read = review.safeParse(json)
    if (!read.success) return
    const { why, verdict, label, of } = read.data
    if (of !== undefined) told.add(of)
    // Of one subject many may be refused or disputed: each is asked for once anyway, and none is remembered.
    if (why === 'refused' || why === 'disputed') return
    const known = asked.get(verdict) ?? []
    asked.set(verdict, known)
    known.push(why === 'differs' && label !== undefined ? `${why} ${label}` : why)
  })
  return asked
}

/** Those after the last one that was carried out which left no trace; a repeat counts once. */
function lostOf({ ref, decisions, end }: FoundDecision, isTraced: (from: IncomingMessage) => boolean): LostDecision[] {
  const lost: LostDecision[] = []
  const until = end === null ? null : placeIn(end)
  let before = ''
  for (const { from, message } of decisions) {
    const { partition, offset, timestamp } = from
    const { same } = decisionOf(message, { partition, offset, timestamp }, ref)
    const isRepeat = same === before
    before = same
    const isOver =
      until !== null &&
      (until.partition === partition ? BigInt(offset) <= BigInt(until.offset) : timestamp < until.timestamp)
    if (!isRepeat && !isOver && !isTraced(from)) lost.push({ message, place: { partition, offset, timestamp } })
  }
  return lost
}

/** Whether this came of an earlier decision than that, or before that one's deletion. */
function isBefore(one: End, that: End): boolean {
  if (one.of === that.of) return that.outcome === 'deleted'
  const [own, other] = [placeIn(one), placeIn(that)]
  if (own.partition === other.partition) return BigInt(own.offset) < BigInt(other.offset)
  return own.timestamp < other.timestamp
}

function placeIn({ of, at }: Pick<DecisionOutcome, 'of' | 'at'>): MessagePlace {
  const [partition = '', offset = ''] = of.split('@')
  return { partition: Number(partition), offset, timestamp: Date.parse(at) }
}

function carriedOut(
  { protocols, clock }: RecoveryRun,
  published: PublishedState,
  found: FoundDecision,
  last: End,
  asked: ReadonlyMap<string, readonly string[]>,
): PublishedEffect {
  const { ref, protocol: name, decisions, isUntold } = found
  const { of, by, revision, label, outcome } = last
  const protocol = protocols.find((one) => one.name === name)
  const id =
    revision === 0
      ? null
      : (published.decided.get(of)?.id ?? `${scopeOfSubject({ ref, protocol: name }, protocol)}${revision}`)
  const own = decisions.find(({ from }) => decisionName(from) === of)
  const counted = published.subjects.get(subjectKey(ref))?.last.get(name)?.number ?? 0
  return {
    protocol: name,
    verdict: id,
    stands: outcome === 'stands',
    revision: found.number,
    label,
    of,
    by,
    place: placeIn(last),
    same: own === undefined ? null : decisionOf(own.message, placeIn(last), ref).same,
    asked: id === null ? [] : (asked.get(id) ?? []),
    // Where its proposals may have expired, their numbers go on from the time.
    proposal: counted > found.number || published.holdsProposals ? counted : Math.floor(clock() / 1000),
    isUntold,
  }
}

/** Puts what people decided beside its threads again; it changes nothing where the store knows as much. */
export async function restoreDecisions(run: RecoveryRun, { subjects }: DecisionsFound): Promise<void> {
  await sideBySide(run, subjects, 'decisions restored', async ({ ref, carriedOut }) => {
    await run.store.restoreDecided(ref, carriedOut)
  })
}

/**
 * Carries out those decisions that the store has lost, in their order. Returns those that wait for a verdict which is on its way
 * out, and how many stand, or are withdrawn, by it: of the others nothing was to be carried out.
 */
export async function repeatDecisions(
  { decide, signal }: RecoveryRun,
  lost: readonly LostDecision[],
): Promise<{ readonly waiting: readonly LostDecision[]; readonly carriedOut: number }> {
  const waiting: LostDecision[] = []
  let carriedOut = 0
  const held = new Set<string>()
  for (const one of lost) {
    signal.throwIfAborted()
    const { message, place } = one
    const about = JSON.stringify([message.tenant, message.subjectId, message.protocol])
    const outcome = held.has(about) ? 'waiting' : (await decide(message, place)).outcome
    if (outcome === 'stands' || outcome === 'withdrawn') carriedOut++
    if (outcome !== 'waiting') continue
    held.add(about)
    waiting.push(one)
  }
  return { waiting, carriedOut }
}

/** How many human verdicts are current. */
export function countStanding({ subjects }: DecisionsFound): number {
  return subjects.flatMap(({ carriedOut }) => carriedOut).filter(({ stands }) => stands).length
}
