import type { Outcome } from '../domain/messages.ts'
import type { Comment } from '../domain/thread.ts'
import type { CommentChange, Place, ThreadRules } from '../ports/threads.ts'
import { dueNow, passCounts } from './due.ts'
import { makeRoom, rankOfDeleted, type Sample, sampleOf, trim, unseen } from './sample.ts'
import { laterPlace, type Step, type Thread, takenBefore } from './thread.ts'

type CommentOutcome = Exclude<Outcome, 'dead-letter'>

/** Applies comments that are new, edited or deleted, in order. */
export function takeComments(
  thread: Thread,
  { changes, now }: { readonly changes: readonly CommentChange[]; readonly now: number },
  rules: ThreadRules,
): Step<CommentOutcome[]> {
  if (thread.status === 'deleted') return { thread, outcome: changes.map(() => 'deleted') }
  if (thread.status !== 'threaded') return { thread, outcome: changes.map(() => 'unrouted') }
  const batch = batchOn(thread, rules)
  const outcome = changes.map((change) => take(batch, change))
  return { thread: end(batch, now), outcome }
}

/** The thread's fields while a batch of changes is applied to it. */
interface Batch {
  readonly thread: Thread
  readonly rules: ThreadRules
  readonly sample: Sample
  sampledUnder: string | null
  rekeyed: boolean
  accepted: number
  overAuthor: number
  late: number
  due: number | null
  place: Place | undefined
  /** A comment was added, edited or deleted. */
  changed: boolean
  deleted: boolean
  /** A comment that the final snapshot contains was deleted. */
  superseded: boolean
  /** A comment was added or edited after the final snapshot. */
  reopened: boolean
}

function batchOn(thread: Thread, rules: ThreadRules): Batch {
  const { sampledUnder, rekeyed, accepted, overAuthor, late, due, commentPlace } = thread
  return {
    ...{ thread, rules, sampledUnder, rekeyed, accepted, overAuthor, late, due },
    sample: sampleOf(thread),
    place: commentPlace,
    changed: false,
    deleted: false,
    superseded: false,
    reopened: false,
  }
}

function take(batch: Batch, change: CommentChange): CommentOutcome {
  // A reader that lags behind another would replace newer text with older.
  if (takenBefore(batch.place, change.place)) return 'duplicate'
  if (change.place !== undefined) batch.place = laterPlace(batch.place, change.place)
  return change.kind === 'deleted' ? remove(batch, change) : say(batch, change)
}

/**
 * Leaves a tombstone, also for a comment that was never seen: its deletion may arrive first, and must keep the comment
 * out.
 */
function remove(batch: Batch, { id, createdAt, reached }: CommentChange & { kind: 'deleted' }): CommentOutcome {
  const { thread, rules, sample } = batch
  const old = sample.comments.get(id)
  if (old === null) return 'duplicate'
  sample.comments.set(id, null)
  sample.ranks.set(id, rankOfDeleted(rules.rank(thread.ref, id), old !== undefined))
  sample.orphans.delete(id)
  batch.changed = true
  batch.deleted = true
  if (old !== undefined) {
    batch.accepted--
    batch.superseded ||= thread.final
  }
  waitForPost(batch, createdAt, reached)
  return 'deleted'
}

function say(batch: Batch, change: CommentChange & { kind: 'said' }): CommentOutcome {
  const { thread, rules, sample } = batch
  const { comment } = change
  const old = sample.comments.get(comment.id)
  if (old === null) return 'deleted'
  if (old !== undefined && JSON.stringify(old) === JSON.stringify(comment)) return 'duplicate'
  if (thread.post !== null && comment.createdAt > thread.post.createdAt + rules.finalAge) {
    // An edit of a comment that is kept is not one more comment.
    if (old === undefined) batch.late++
    return 'late'
  }
  batch.changed = true
  batch.reopened ||= thread.final
  if (old === undefined) return add(batch, change)
  // An edited comment keeps its rank and its place.
  sample.comments.set(comment.id, comment)
  // If the post never comes, the dead letter is the edit's.
  if (thread.post === null) sample.orphans.set(comment.id, change.origin())
  return 'updated'
}

function add(batch: Batch, { comment, origin, reached }: CommentChange & { kind: 'said' }): CommentOutcome {
  const { thread } = batch
  noteKey(batch)
  batch.accepted++
  const kept = addToSample(batch, comment)
  if (thread.post !== null) return thread.final ? 'late' : 'judged'
  batch.sample.orphans.set(comment.id, kept ? origin() : unseen(origin()))
  waitForPost(batch, comment.createdAt, reached)
  return 'orphan'
}

/** Whether the comment is kept; it counts as accepted either way. */
function addToSample(batch: Batch, comment: Comment): boolean {
  const { thread, rules, sample } = batch
  const rank = rules.rank(thread.ref, comment.id)
  const room = makeRoom(sample, comment, rank, rules)
  if (room !== 'within-share') batch.overAuthor++
  if (room === 'left-out') return false
  sample.comments.set(comment.id, comment)
  sample.ranks.set(comment.id, rank)
  return true
}

/**
 * Comments ranked under another key keep their ranks, which are just as random; the verdict says that there were two
 * keys.
 */
function noteKey(batch: Batch): void {
  const { samplingKeyVersion } = batch.rules
  if (batch.sampledUnder === samplingKeyVersion) return
  batch.rekeyed ||= batch.accepted > 0
  batch.sampledUnder = samplingKeyVersion
}

/**
 * While the post is missing, the first comment or deletion sets how long the thread waits for it; one that was read long after
 * its time waits as long.
 */
function waitForPost(batch: Batch, createdAt: number, reached = 0): void {
  if (batch.thread.post === null) batch.due ??= Math.max(createdAt, reached) + batch.rules.orphanWait
}

function end(batch: Batch, now: number): Thread {
  const { thread, rules, sample, changed, deleted, superseded, reopened, ...counts } = batch
  const { sampledUnder, rekeyed, accepted, overAuthor, late, due, place } = counts
  // Repeated messages change nothing, not even the position up to which messages were accepted.
  if (!changed) return late === thread.late ? thread : { ...thread, late, commentPlace: place }
  trim(sample, rules.maxComments)
  const after: Thread = {
    ...thread,
    ...sample,
    ...{ sampledUnder, rekeyed, accepted, overAuthor, late, due },
    commentPlace: place,
    version: thread.version + 1,
    deletions: thread.deletions + (deleted ? 1 : 0),
  }
  // A final verdict that rests on a deleted comment is superseded, whatever the rules say about late comments.
  if (superseded || (reopened && rules.reopen)) return dueNow(after, now)
  return thread.post === null || thread.final ? after : passCounts(after, now, rules)
}
