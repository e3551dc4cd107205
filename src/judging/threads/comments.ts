import { authorOf } from '../../contracts/facts/author.ts'
import { RANK_LIMIT } from '../../contracts/facts/sampling-rank.ts'
import { type Comment, ORIGINS, TOMBSTONES } from '../../contracts/facts/thread.ts'
import type { CommentChange, KeepingOutcome, MessagePlace, Origin, ThreadRules } from '../../contracts/ports/threads.ts'
import { dueNow, laterPlaces, passCounts, type Thread, type ThreadStep, takenUpTo } from './thread.ts'
import { bareBytes, commentBytes, originBytes, threadBytes } from './thread-bytes.ts'

// The twin of src/store/thread/put-comments.lua: a change here is a change there. Random histories compare them (test/judging/threads).

type CommentOutcome = Exclude<KeepingOutcome, 'dead-letter'>

/** Applies comments that are new, edited or deleted, in order. `most`: bytes that the thread may hold if it grows. */
export function takeComments(
  thread: Thread,
  {
    changes,
    now,
    most = null,
  }: { readonly changes: readonly CommentChange[]; readonly now: number; readonly most?: number | null },
  rules: ThreadRules,
): ThreadStep<CommentOutcome[]> {
  if (thread.status === 'deleted') return { thread, outcome: changes.map(() => 'deleted') }
  if (thread.status !== 'threaded') return { thread, outcome: changes.map(() => 'unrouted') }
  const batch = batchOn(thread, rules, most)
  const outcome = changes.map((change) => take(batch, change))
  return { thread: end(batch, now), outcome }
}

/** The thread's fields while a batch of changes is applied to it. */
interface Batch {
  readonly thread: Thread
  readonly rules: ThreadRules
  readonly sample: Sample
  readonly most: number | null
  /** One was refused: behind it the place stays, so that it is no duplicate when it is read again. */
  refused: boolean
  sampledUnder: string | null
  rekeyed: boolean
  accepted: number
  overAuthor: number
  late: number
  due: number | null
  places: readonly MessagePlace[]
  /** A comment was added, edited or deleted. */
  changed: boolean
  deleted: boolean
  /** A comment that the final snapshot contains was deleted. */
  superseded: boolean
  /** A comment was added or edited after the final snapshot. */
  reopened: boolean
}

function batchOn(thread: Thread, rules: ThreadRules, most: number | null): Batch {
  const { sampledUnder, rekeyed, accepted, overAuthor, late, due, commentPlaces } = thread
  return {
    thread,
    rules,
    most,
    refused: false,
    sampledUnder,
    rekeyed,
    accepted,
    overAuthor,
    late,
    due,
    sample: sampleOf(thread),
    places: commentPlaces,
    changed: false,
    deleted: false,
    superseded: false,
    reopened: false,
  }
}

function take(batch: Batch, change: CommentChange): CommentOutcome {
  // A reader that lags behind another would replace newer text with older.
  if (takenUpTo(batch.places, change.place)) return 'duplicate'
  const outcome = change.kind === 'deleted' ? remove(batch, change) : say(batch, change)
  batch.refused ||= outcome === 'over-share'
  if (!batch.refused) batch.places = laterPlaces(batch.places, change.place)
  return outcome
}

/**
 * Leaves a tombstone, also for a comment that was never seen: its deletion may arrive first, and must keep the comment
 * out.
 */
function remove(batch: Batch, { id, createdAt, reached }: CommentChange & { kind: 'deleted' }): CommentOutcome {
  const { thread, rules, sample } = batch
  const old = sample.comments.get(id)
  if (old === null) return 'duplicate'
  // Of a post that has not come nothing is deleted: beyond the share it is not remembered.
  const isUnknown = old === undefined && thread.post === null
  if (isUnknown && !mayGrow(batch, () => ({ said: commentBytes(id, null), from: 0 }))) return 'late'
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
  if (!mayGrow(batch, () => growth(batch, change, old))) return 'over-share'
  batch.changed = true
  batch.reopened ||= thread.final
  if (old === undefined) return add(batch, change)
  // An edited comment keeps its rank and its place.
  sample.comments.set(comment.id, comment)
  // If the post never comes, the dead letter is the edit's.
  if (thread.post === null) sample.orphans.set(comment.id, change.origin())
  return 'updated'
}

/** Whether the thread may hold so many bytes more; what gives way to them is not reckoned with. */
function mayGrow(
  { thread, sample, most }: Batch,
  more: () => { readonly said: number; readonly from: number },
): boolean {
  if (most === null) return true
  const { said, from } = more()
  const held = threadBytes({ ...thread, ...sample })
  const size = (held || bareBytes(thread.ref)) + (1 + thread.judges) * said + from
  return size <= most || size <= threadBytes(thread)
}

/** What a comment takes in place of an older form of it, and where it came from while its post is missing. */
function growth({ thread }: Batch, { comment, origin }: CommentChange & { kind: 'said' }, old?: Comment) {
  return {
    said: commentBytes(comment.id, comment) - (old === undefined ? 0 : commentBytes(comment.id, old)),
    from: thread.post === null ? originBytes(comment.id, origin()) : 0,
  }
}

function add(batch: Batch, { comment, origin, reached }: CommentChange & { kind: 'said' }): CommentOutcome {
  const { thread } = batch
  noteKey(batch)
  batch.accepted++
  const kept = addToSample(batch, comment)
  if (thread.post !== null) return thread.final ? 'late' : 'judged'
  if (kept) batch.sample.orphans.set(comment.id, origin())
  else keepOrigin(batch.sample, comment.id, origin(), batch.rules)
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
 * Comments ranked under another key keep their ranks, which are just as random; the verdict states that there were two
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
  const { sampledUnder, rekeyed, accepted, overAuthor, late, due, places } = counts
  // Repeated messages change nothing, not even the position up to which messages were accepted.
  if (!changed) return late === thread.late ? thread : { ...thread, late, commentPlaces: places }
  trim(sample, rules)
  const after: Thread = {
    ...thread,
    ...sample,
    sampledUnder,
    rekeyed,
    accepted,
    overAuthor,
    late,
    due,
    commentPlaces: places,
    version: thread.version + 1,
    deletions: thread.deletions + (deleted ? 1 : 0),
  }
  // A final verdict that rests on a deleted comment is superseded, whatever the rules say about late comments.
  if (superseded || (reopened && rules.reopen)) return dueNow(after, now)
  return thread.post === null || thread.final ? after : passCounts(after, now, rules)
}

/** The comments that a thread keeps, as a copy that one batch of changes works on. */
interface Sample {
  readonly comments: Map<string, Comment | null>
  readonly ranks: Map<string, number>
  readonly orphans: Map<string, Origin>
}

function sampleOf({ comments, ranks, orphans }: Thread): Sample {
  return { comments: new Map(comments), ranks: new Map(ranks), orphans: new Map(orphans) }
}

/**
 * The rank of a deleted comment: behind all comments, so that it takes no place from them. Ids that were never seen
 * rank behind those that were: deletions of made-up ids must not push out real tombstones, or their comments could
 * return.
 */
function rankOfDeleted(rank: number, known: boolean): number {
  return rank + (known ? RANK_LIMIT : 2 * RANK_LIMIT)
}

/**
 * Whether there is room for another comment by this author. Of each author's comments those with the smallest ranks are
 * kept, whatever their order, so the new one may replace another. Comments that name no author count as one author's,
 * with a limit of their own.
 */
function makeRoom(
  sample: Sample,
  added: Comment,
  rank: number,
  rules: Pick<ThreadRules, 'maxPerAuthor' | 'maxUnnamed' | 'maxComments'>,
): 'within-share' | 'in-place-of-another' | 'left-out' {
  const author = authorOf(added)
  const most = author === undefined ? rules.maxUnnamed : rules.maxPerAuthor
  if (most === null) return 'within-share'
  const own = [...sample.comments].flatMap(([key, comment]) =>
    comment !== null && authorOf(comment) === author ? [key] : [],
  )
  if (own.length < most) return 'within-share'
  const last = byUrgency(sample, own).at(-1)
  if (last === undefined || isBefore([sample.ranks.get(last) ?? 0, last], [rank, added.id])) return 'left-out'
  leaveOut(sample, last, rules)
  return 'in-place-of-another'
}

/**
 * Drops comments beyond `maxComments`, and tombstones beyond what is kept for that many comments: those with the largest ranks.
 */
function trim(sample: Sample, rules: Pick<ThreadRules, 'maxComments'>): void {
  const { maxComments } = rules
  const ids = byUrgency(sample, sample.comments.keys())
  const isDeleted = (id: string) => sample.comments.get(id) === null
  const over = ids.filter((id) => !isDeleted(id)).slice(maxComments)
  for (const id of [...over, ...ids.filter(isDeleted).slice(TOMBSTONES * maxComments)]) leaveOut(sample, id, rules)
}

/** The last of the origins beyond those that a thread keeps is under no comment's id. */
const REST = ''

/**
 * Keeps where a comment without room came from, without its text, for its dead letter while the post is missing. Beyond a number
 * of origins the last stands for all that follow.
 */
function keepOrigin({ orphans }: Sample, id: string, origin: Origin, rules: Pick<ThreadRules, 'maxComments'>): void {
  const withoutRaw = { ...origin, raw: '' }
  orphans.set(id, withoutRaw)
  if (orphans.size <= ORIGINS * rules.maxComments) return
  orphans.delete(id)
  orphans.set(REST, { ...withoutRaw, standsFor: (orphans.get(REST)?.standsFor ?? 0) + 1 })
}

function leaveOut(sample: Sample, id: string, rules: Pick<ThreadRules, 'maxComments'>): void {
  sample.comments.delete(id)
  sample.ranks.delete(id)
  const origin = sample.orphans.get(id)
  if (origin !== undefined) keepOrigin(sample, id, origin, rules)
}

function byUrgency({ ranks }: Sample, ids: Iterable<string>): string[] {
  return [...ids].sort((a, b) => (isBefore([ranks.get(a) ?? 0, a], [ranks.get(b) ?? 0, b]) ? -1 : 1))
}

/** Smaller ranks come first; if ranks are equal, which hardly ever happens with a keyed hash, the smaller id. */
function isBefore([rank, id]: readonly [number, string], [otherRank, otherId]: readonly [number, string]): boolean {
  return rank === otherRank ? id < otherId : rank < otherRank
}
