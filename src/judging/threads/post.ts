import { judgedPart, type Post } from '../../contracts/facts/thread.ts'
import type { Arrival, KeepingOutcome, ThreadRules } from '../../contracts/ports/threads.ts'
import {
  atOnce,
  dueNow,
  laterPlaces,
  newThread,
  passCounts,
  type Thread,
  type ThreadStep,
  takenUpTo,
  withHeadStart,
} from './thread.ts'
import { passedBytes, threadBytes } from './thread-bytes.ts'

// The twin of src/store/thread/put-post.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/** Applies a post that is new, repeated or edited. `most`: bytes that the thread may hold if it grows. */
export function takePost(
  thread: Thread,
  { post, arrival, most = null }: { readonly post: Post; readonly arrival: Arrival; readonly most?: number | null },
  rules: ThreadRules,
): ThreadStep<Exclude<KeepingOutcome, 'late' | 'orphan' | 'dead-letter'>> {
  if (thread.status === 'deleted') return { thread, outcome: 'deleted' }
  const { post: known } = thread
  const same = known !== null && JSON.stringify(known) === JSON.stringify(post)
  if (same || takenUpTo(thread.postPlaces, arrival.place)) return { thread, outcome: 'duplicate' }
  const postPlaces = laterPlaces(thread.postPlaces, arrival.place)
  const { reachAhead = 0, protocolAhead = 0 } = arrival
  const headStart = { reachAhead: Math.max(thread.reachAhead, reachAhead), protocolAhead }
  // Who has seen it is no edit, nor by which mapping it came.
  if (known !== null && JSON.stringify(judgedPart(known)) === JSON.stringify(judgedPart(post)))
    return { thread: withHeadStart({ ...thread, post, postPlaces }, headStart), outcome: 'duplicate' }
  const routed = route(thread, arrival)
  // Nothing is kept of a post that nobody judges, not even its position: when it arrives again, routes may have
  // changed. That nobody does is not remembered of a new one beyond what its tenant may hold.
  if (routed.status === 'unrouted') {
    const isKnown = thread.status === 'unrouted' || threadBytes(thread) > 0
    const isRemembered = most === null || isKnown || passedBytes(thread.ref) <= most
    return { thread: isRemembered ? routed : thread, outcome: 'unrouted' }
  }
  const judges = arrival.judges ?? 1
  const { story = null } = arrival
  const size = threadBytes({ ...routed, post, judges, story, orphans: new Map() })
  if (most !== null && size > most && size > threadBytes(thread)) return { thread, outcome: 'over-share' }
  const taken: Thread = {
    ...withHeadStart(routed, headStart),
    post,
    judges,
    story,
    // Other words have no verdict yet.
    told: story === routed.story ? routed.told : new Map(),
    postPlaces,
    version: thread.version + 1,
    postVersion: thread.postVersion + 1,
  }
  if (thread.post !== null) return { thread: dueNow(taken, arrival.now), outcome: 'updated' }
  return { thread: start(taken, post, arrival, rules), outcome: 'judged' }
}

/** Which part of the thread is judged from now on: an edited post may be routed differently. */
function route(thread: Thread, { threaded, atOnce: alone, firstDue }: Arrival): Thread {
  if (threaded) {
    // Its comments are read again: their checkpoints start at this edit.
    const again = thread.status === 'post-only' ? { final: false, nextAge: firstDue } : {}
    return { ...thread, ...again, status: 'threaded' }
  }
  if (!alone && thread.post === null) return { ...withoutComments(thread), status: 'unrouted', due: null }
  return { ...withoutComments(thread), status: 'post-only' }
}

/** Nobody reads the comments: neither they nor their counts are kept. */
function withoutComments(thread: Thread): Thread {
  const { comments, ranks, orphans, sampledUnder, rekeyed, ...counts } = newThread(thread.ref)
  const { accepted, overAuthor, late, missing, countStage } = counts
  return { ...thread, comments, ranks, orphans, sampledUnder, rekeyed, accepted, overAuthor, late, missing, countStage }
}

/** The post arrives for the first time: comments that waited for it join it. */
function start(thread: Thread, post: Post, arrival: Arrival, rules: ThreadRules): Thread {
  const { threaded, atOnce: alone, firstDue, notBefore, now } = arrival
  const due: Thread =
    alone && notBefore === undefined
      ? { ...thread, due: atOnce(thread, now), dueSince: thread.dueSince ?? now }
      : alone && notBefore !== undefined
        ? { ...thread, due: notBefore, nextAge: notBefore }
        : { ...thread, due: firstDue }
  if (!threaded) return { ...due, orphans: new Map() }
  return passCounts(
    { ...withoutLate(due, post.createdAt + rules.finalAge), orphans: new Map(), nextAge: firstDue },
    now,
    rules,
  )
}

/** Comments that waited for the post but were posted later than `finalAge` after it no longer count as accepted. */
function withoutLate(thread: Thread, end: number): Thread {
  const late = [...thread.comments].flatMap(([id, comment]) =>
    comment !== null && comment.createdAt > end ? [id] : [],
  )
  const [comments, ranks] = [new Map(thread.comments), new Map(thread.ranks)]
  for (const id of late) {
    comments.delete(id)
    ranks.delete(id)
  }
  return { ...thread, comments, ranks, accepted: thread.accepted - late.length, late: thread.late + late.length }
}
