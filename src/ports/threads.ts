import type { CaseRecord } from '../domain/case.ts'
import type { Outcome } from '../domain/messages.ts'
import type { Comment, Post, ThreadRef } from '../domain/thread.ts'

/** Where a message came from, and its bytes, kept only while its post is missing. */
export interface Origin extends Place {
  readonly topic: string
  /** In base64; empty where the thread had no room for the comment. */
  readonly raw: string
  /** How many bytes it had; absent in what earlier versions kept. */
  readonly bytes?: number | undefined
}

/** Where in its topic a message stands. */
export interface Place {
  readonly partition: number
  readonly offset: string
  /** When the broker took it, ms since 1970. */
  readonly timestamp: number
}

export type CommentChange = (
  | { readonly kind: 'said'; readonly comment: Comment; readonly origin: Origin }
  | { readonly kind: 'deleted'; readonly id: string; readonly createdAt: number }
) & {
  /** Where it stood in its topic, where that is known. */
  readonly place?: Place
}

/** The rules by which a thread takes comments; times in ms. */
export interface ThreadRules {
  /** Comments later than this after their post don't belong to the thread. */
  readonly window: number
  /** At these numbers of comments, without those that are more than their author's share, the thread is judged at once; ascending. */
  readonly counts: readonly number[]
  /** Most comments a thread keeps: those with the smallest ranks, a fixed sample whatever their order. */
  readonly cap: number
  /** Most comments of one author that it keeps, by the same ranks and before that sample; null is no limit. */
  readonly perAuthor: number | null
  /** A comment's fixed sampling rank, which nobody can foresee: a whole number below 2^48. */
  readonly rank: (thread: ThreadRef, id: string) => number
  /** Names the key of the ranks: under one name, equal ids have equal ranks. */
  readonly samplingKeyVersion: string
  /** A comment in the window that comes after the final snapshot opens another revision. */
  readonly reopen: boolean
  /** Longest text kept of a post or comment, in characters. */
  readonly textChars: number
  /** How long, in stream time, comments wait for their post. */
  readonly orphanWait: number
}

/** Who judges a post, as the routes say when it comes. */
export interface Arrival {
  /** The thread's first age checkpoint, stream time in ms. */
  readonly firstDue: number
  /** Wall time, ms. */
  readonly now: number
  /** Some protocol reads the post with its comments; if none does, they need not be kept. */
  readonly threaded: boolean
  /** Some protocol judges the post by itself, as soon as it comes. */
  readonly atOnce: boolean
  /** Where the post stood in its topic, where that is known. */
  readonly place?: Place
}

export interface ThreadState {
  readonly ref: ThreadRef
  /** Null while only comments have come. */
  readonly post: Post | null
  readonly comments: readonly Comment[]
  /**
   * Comments accepted and not deleted, whether kept or sampled out; one that comes again after it was sampled out counts
   * again, and one that is deleted after it still counts.
   */
  readonly accepted: number
  /** Of these, the ones that their authors' share had no room for. */
  readonly overAuthor: number
  /** They were ranked under more than one key. Each keeps the rank that it got when it came, so that the sample is one of all. */
  readonly rekeyed: boolean
  /** Comments that came after the thread's window, and are not among the accepted. */
  readonly late: number
  /** Raised by each change. */
  readonly version: number
  /** Raised by each change of the post itself. */
  readonly postVersion: number
  /** Raised by each deletion of comments. */
  readonly deletions: number
  /** What the revisions' numbers count from: 0, or a time where earlier ones may have been forgotten. */
  readonly base: number
  /** The next age checkpoint, stream time in ms; null after the last. */
  readonly nextAge: number | null
  /** How many count checkpoints have been passed. */
  readonly countStage: number
  /** The final snapshot has been opened. */
  readonly final: boolean
  /** The post came again after the thread had been forgotten: what its earlier revisions saw of comments is gone. */
  readonly expired: boolean
  /** Raised each time the thread becomes due at once: a count checkpoint, an edit, a late comment, a case that ended. */
  readonly generation: number
  /** The generation that was last opened: while `generation` is higher, something has become due at once since then. */
  readonly observedGeneration: number
  /** When what is due now became due, ms of wall time; null where only stream time passed. */
  readonly dueSince: number | null
  /** By protocol: revisions opened so far, what it had seen at the last (a version), what the last one left. */
  readonly revisions: ReadonlyMap<
    string,
    {
      revision: number
      seen: number
      final: boolean
      /** Its case, from its opening until its verdict is published. */
      openId: string | null
      carry: unknown
    }
  >
}

/**
 * A thread remembers this many deleted comments for each that it may keep, those that it had before those that it never saw; they
 * take no place from those.
 */
export const TOMBSTONES = 8

/** A tenant may have this many times as many cases open as there are places left; one part in so many more is for the others. */
export const TENANT_SHARE = 8

/**
 * Threads as they grow. All writes are atomic per thread and repeatable: the same message again is a `duplicate` and
 * changes nothing. Nor does one whose place in its topic lies before what the thread has taken from there: a reader that
 * comes late with what another has read on from would put an old text over a new one.
 */
export interface ThreadStore {
  /**
   * A post that nobody judges is `unrouted` and not kept, nor are its comments. One whose thread was forgotten after its
   * revisions were published is `updated`, and stays without comments.
   */
  putPost(ref: ThreadRef, post: Post, put: Arrival, rules: ThreadRules): Promise<Outcome>
  /** Outcomes in the order of `changes`. What is said in a thread that was forgotten is `late`, and nothing is kept of it. */
  putComments(ref: ThreadRef, changes: readonly CommentChange[], now: number, rules: ThreadRules): Promise<Outcome[]>
  /**
   * Erases the thread's content everywhere in the store, with it its cases, their journals and what of them waits for Kafka,
   * and leaves a tombstone. `retraction` makes, for each protocol that has opened a revision, the verdict and transcript that
   * retract it. They are published after a verdict that a publisher has in hand, and in place of one that none has.
   */
  deletePost(
    ref: ThreadRef,
    retraction: (protocol: string, revision: number) => { caseId: string; verdict: string; transcript: string },
  ): Promise<Outcome>
  /**
   * Erases what is left of deleted comments behind verdicts that have been decided: what each protocol's last revision left
   * to the next becomes what `without` makes of it, and of the cases that are published nothing is kept. False, with the carries
   * as they were, where other cases are open than `openIds`: one may have been opened on them.
   */
  eraseLeft(
    ref: ThreadRef,
    left: {
      openIds: readonly string[]
      without: (protocol: string, carry: unknown) => unknown
      caseId: (protocol: string, revision: number) => string
    },
  ): Promise<boolean>
  /**
   * Notes that a reply answers a post, so that it goes when the post is deleted; false, with nothing noted, if that has
   * happened already.
   */
  linkReply(post: ThreadRef, reply: ThreadRef): Promise<boolean>
  /** The replies to a post that were noted. */
  repliesTo(post: ThreadRef): Promise<ThreadRef[]>
  /**
   * Threads whose due time is at or before `until` (stream time). Tenants take turns: the one with the fewest cases open is
   * next, each thread given here counted as one, and of its threads the earliest. With `maxOpen`, the most cases that one
   * tenant may have open, no more threads than there is room for: beside a tenant that has them all there are an eighth more
   * places for the others; none may have more cases open than {@link TENANT_SHARE} times the places that are left, and one
   * that has none open gets one in any case. So nobody waits for another's cases to end, though these should be stuck.
   */
  due(until: number, limit: number, maxOpen?: number): Promise<ThreadRef[]>
  read(ref: ThreadRef): Promise<ThreadState | null>
  /**
   * Opens cases on a thread as `state` shows it, one a protocol. A protocol whose case is still open (`waiting`) gets another
   * due time when that one is published, a paused one (`parked`) when it is resumed, and one that has judged the thread and is
   * off here (`absent`) when its case is published or it is woken. Moves the thread's due time to `nextDue` (null: none) unless
   * more became due meanwhile. Does nothing where the thread has changed since it was read and nothing would be due after this,
   * or where comments have been deleted since then: it stays due.
   * Returns the ids of the cases that were opened.
   */
  open(
    state: ThreadState,
    opening: {
      cases: readonly { record: CaseRecord; seen: number }[]
      waiting: readonly string[]
      parked: readonly string[]
      absent?: readonly string[]
      nextDue: number | null
      final: boolean
    },
  ): Promise<string[]>
  /** Protocols that open no cases until they are resumed. */
  paused(): Promise<ReadonlySet<string>>
  pause(protocol: string): Promise<void>
  /** Threads that waited for the protocol become due at once; returns how many. */
  resume(protocol: string, now: number): Promise<number>
  /** The same for a protocol that was off: threads that were due for it meanwhile. */
  wake(protocol: string, now: number): Promise<number>
  /**
   * Takes away comments whose post never came, those among them that the thread had no room for, and puts a dead letter for
   * each into the outbox, some in each atomic step. Returns how many; none if the post has come. What is due of a thread that
   * is gone is so no longer.
   */
  expireOrphans(ref: ThreadRef, letterOf: (origin: Origin) => { key: string; letter: string }): Promise<number>
  /** How many threads are due at or before `until` (stream time) and not yet opened. */
  countDue(until: number): Promise<number>
}

/** How far the stream has been read, by partition of each input topic. */
export interface StreamMark {
  /** Newest and second-newest `createdAt` read, ms since 1970; null before there is one. */
  readonly newest: number | null
  readonly second: number | null
  /** Since when (wall ms) everything in the partition has been read; null while something waits. */
  readonly endSince: number | null
  /** When (wall ms) it was last known that nothing waits; 0 before that. */
  readonly seenAt: number
}

/** Partitions of the topics that drive the stream's clock, as `topic/partition`, like the marks. */
export interface StreamPartitions {
  /** Marks of others, of topics with another name or of partitions that were there once, don't count. */
  readonly there: ReadonlySet<string>
  /** Until each of these has been seen, the clock stands still. */
  readonly awaited: ReadonlySet<string>
}

export interface StreamMarks {
  read(): Promise<ReadonlyMap<string, StreamMark>>
  write(marks: ReadonlyMap<string, StreamMark>): Promise<void>
}
