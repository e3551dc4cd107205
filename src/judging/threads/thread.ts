import { classOfRequest } from '../../contracts/facts/service-class.ts'
import { byTimeThenId, type Post, type ThreadRef } from '../../contracts/facts/thread.ts'
import type { DecidedRevision } from '../../contracts/ports/decisions.ts'
import type {
  MessagePlace,
  MessageThread,
  Origin,
  ThreadRules,
  ThreadState,
  ThreadStatus,
} from '../../contracts/ports/threads.ts'

/**
 * A thread as its rules see it. Production runs the same rules in Lua (`src/store/thread`); these are their twin,
 * which the memory store, `gavel judge` and tests run. `test/judging/threads/histories.test.ts` holds one to the other by random histories.
 *
 * Each rule is a pure function `(thread, change, rules) → { thread, outcome }` in one of the files beside this one; none has a clock
 * or reads a store.
 */
export interface Thread extends MessageThread {
  readonly status: ThreadStatus
  /** Null while only comments have arrived. */
  readonly post: Post | null
  /** While the post is missing: where each accepted comment came from. */
  readonly orphans: ReadonlyMap<string, Origin>
  /**
   * When the thread is next looked at: stream time in ms; below zero: at once, see {@link file://./due.ts}; null:
   * never.
   */
  readonly due: number | null
  readonly dueSince: number | null
  /** How many ms older it counts among due threads, for its reach and for its protocols (head-start.ts). */
  readonly reachAhead: number
  readonly protocolAhead: number
  /** How many protocols judge its post, as far as is known; 0 while that is missing. */
  readonly judges: number
  /** The id of its post's story, and by protocol the label that is counted there. */
  readonly story: string | null
  readonly told: ReadonlyMap<string, string>
  readonly generation: number
  readonly observedGeneration: number
  readonly nextAge: number | null
  readonly final: boolean
  readonly revisions: ReadonlyMap<string, Revision>
  /** By protocol: what people decided. */
  readonly decided: ReadonlyMap<string, DecidedRevision>
  /** By protocol that was off when the thread was due for it: the thread's version at that time. */
  readonly absent: ReadonlyMap<string, number>
  /** Protocols that were paused when the thread was due for them, until they are resumed. */
  readonly dormantFor: readonly string[]
}

/** What a protocol has done with the thread so far. */
export interface Revision {
  readonly revision: number
  /** The version of the thread, or of its post, that the revision has seen. */
  readonly seen: number
  readonly final: boolean
  /** Its case, from its opening until its verdict is published. */
  readonly openId: string | null
  /** The thread became due again while that case was open: it is due at once when the verdict is published. */
  readonly again: boolean
  readonly carry: unknown
  /** The last one that was published; absent as long as none was since this is noted. */
  readonly published?: number
  /** The machines' last ruling, JSON. */
  readonly ruling?: string | null
}

/** The result of a rule: the thread after it, and the result for the caller. */
export interface ThreadStep<Outcome, After = Thread> {
  readonly thread: After
  readonly outcome: Outcome
}

export function newThread(ref: ThreadRef): Thread {
  return {
    ref,
    status: 'threaded',
    post: null,
    comments: new Map(),
    ranks: new Map(),
    orphans: new Map(),
    sampledUnder: null,
    rekeyed: false,
    accepted: 0,
    overAuthor: 0,
    late: 0,
    missing: 0,
    version: 0,
    postVersion: 0,
    deletions: 0,
    due: null,
    dueSince: null,
    reachAhead: 0,
    protocolAhead: 0,
    judges: 0,
    story: null,
    told: new Map(),
    generation: 0,
    observedGeneration: 0,
    nextAge: null,
    countStage: 0,
    final: false,
    revisions: new Map(),
    decided: new Map(),
    absent: new Map(),
    dormantFor: [],
    postPlaces: [],
    commentPlaces: [],
  }
}

/** The thread as the port shows it; null if it is deleted, or nobody judges it. */
export function stateOf(thread: Thread): ThreadState | null {
  if (thread.status === 'deleted' || thread.status === 'unrouted') return null
  const { ref, post, accepted, overAuthor, rekeyed, late, missing, version, postVersion, deletions } = thread
  const { nextAge, countStage, final, dueSince, generation, observedGeneration, dormantFor } = thread
  return {
    ref,
    post,
    accepted,
    overAuthor,
    rekeyed,
    late,
    missing,
    version,
    postVersion,
    deletions,
    nextAge,
    countStage,
    final,
    dueSince,
    generation,
    observedGeneration,
    dormantFor,
    comments: [...thread.comments.values()].filter((comment) => comment !== null).sort(byTimeThenId),
    // Only a store that forgets threads starts counting from another number, or knows revisions whose comments are
    // gone.
    base: 0,
    expired: false,
    revisions: new Map(
      [...thread.revisions].map(([protocol, { again: _, ruling: __, ...revision }]) => [protocol, revision]),
    ),
  }
}

/** The place up to which messages have been taken once this one is: times may fall from one message to the next. */
export function laterPlace(last: MessagePlace | undefined, place: MessagePlace): MessagePlace {
  if (last === undefined || last.partition !== place.partition) return place
  return { ...place, timestamp: Math.max(last.timestamp, place.timestamp) }
}

/**
 * Whether a message at this place was taken before the one at `last` was. A topic that was recreated begins with lower
 * offsets and later times; places in different partitions can't be compared.
 */
export function takenBefore(last: MessagePlace | undefined, place: MessagePlace | undefined): boolean {
  if (last === undefined || place === undefined || last.partition !== place.partition) return false
  return Number(place.offset) <= Number(last.offset) && place.timestamp <= last.timestamp
}

/** Places that are kept of one thread: whoever produces names any topic as the one that a message was mapped from. */
const MOST_PLACES = 8

/** The places up to which messages have been taken once this one is, one for each topic; the last one at the end. */
export function laterPlaces(places: readonly MessagePlace[], place: MessagePlace | undefined): readonly MessagePlace[] {
  if (place === undefined) return places
  const last = lastOf(places, place)
  return [...places.filter((one) => one !== last), laterPlace(last, place)].slice(-MOST_PLACES)
}

/** Whether a message at this place was taken before the last one of its topic was. */
export function takenUpTo(places: readonly MessagePlace[], place: MessagePlace | undefined): boolean {
  return place !== undefined && takenBefore(lastOf(places, place), place)
}

/** An earlier version's place does not name its topic: it is of one that has no other. */
function lastOf(places: readonly MessagePlace[], { topic }: MessagePlace): MessagePlace | undefined {
  return places.find((one) => one.topic === topic) ?? places.find((one) => one.topic === undefined)
}

/** A due time below all stream times; these sort by when the threads became due, less their head starts. `now` is wall time, ms. */
export function atOnce({ reachAhead, protocolAhead }: HeadStart, now: number): number {
  return now - 1e15 - reachAhead - protocolAhead
}

/** When a thread with this due time became due, in the same numbers. */
export function dueWithoutHeadStart(due: number, { reachAhead, protocolAhead }: HeadStart): number {
  return due < 0 ? due + reachAhead + protocolAhead : due
}

type HeadStart = Pick<Thread, 'reachAhead' | 'protocolAhead'>

/** Gives the thread this head start; if it is due at once, it moves among those that are. */
export function withHeadStart(thread: Thread, { reachAhead, protocolAhead }: HeadStart): Thread {
  const { due } = thread
  const later = thread.reachAhead + thread.protocolAhead - reachAhead - protocolAhead
  return { ...thread, reachAhead, protocolAhead, due: due === null || due >= 0 ? due : due + later }
}

/** A post has reached more people than is known. */
export function raiseReach(
  thread: Thread,
  reachAhead: number,
): ThreadStep<'updated' | 'duplicate' | 'deleted' | 'early'> {
  if (thread.status === 'deleted') return { thread, outcome: 'deleted' }
  if (thread.post === null) return { thread, outcome: 'early' }
  if (reachAhead <= thread.reachAhead) return { thread, outcome: 'duplicate' }
  return { thread: withHeadStart(thread, { ...thread, reachAhead }), outcome: 'updated' }
}

/** A thread that is due by the stream's time has its place among those that are due at once; later, if it was judged before. */
export function orderDue(
  thread: Thread,
  until: number,
  { now, putBackMs }: { now: number; putBackMs: number },
): Thread {
  const { due, dueSince, revisions } = thread
  if (due === null || due < 0 || due > until) return thread
  return { ...thread, due: atOnce(thread, now) + (revisions.size > 0 ? putBackMs : 0), dueSince: dueSince ?? now }
}

/** The same of a request: one for which somebody waits comes before all others. */
export function askedAtOnce(thread: HeadStart & Pick<Thread, 'ref'>, now: number): number {
  return classOfRequest(thread.ref.postId) === 'waiting' ? now - 2e15 : atOnce(thread, now)
}

/** Whether a due time is that of a request for which somebody waits. */
export function isWaitedDue(due: number): boolean {
  return due < -1.5e15
}

/**
 * Makes the thread due at once. If it already is, it keeps its turn and the time since when it has waited. The
 * generation rises anyway, so that an opener that read the thread before leaves it due.
 */
export function dueNow(thread: Thread, now: number): Thread {
  return {
    ...thread,
    due: Math.min(atOnce(thread, now), thread.due ?? Number.POSITIVE_INFINITY),
    dueSince: thread.dueSince ?? now,
    generation: thread.generation + 1,
  }
}

/**
 * Makes the thread due at once if it has passed more count checkpoints; comments beyond an author's share don't count.
 */
export function passCounts(thread: Thread, now: number, { counts }: Pick<ThreadRules, 'counts'>): Thread {
  const passed = counts.filter((count) => thread.accepted - thread.overAuthor >= count).length
  return passed <= thread.countStage ? thread : dueNow({ ...thread, countStage: passed }, now)
}

/** A protocol that was paused or off is on again: a thread that waited for it is due at once, unless it has no post. */
export function wake(dormant: Thread, protocol: string, now: number): ThreadStep<'woken' | 'gone'> {
  const thread = { ...dormant, dormantFor: dormant.dormantFor.filter((other) => other !== protocol) }
  if (thread.post === null) return { thread, outcome: 'gone' }
  return { thread: dueNow(thread, now), outcome: 'woken' }
}
