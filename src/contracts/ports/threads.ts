import type { CaseRecord } from '../facts/case.ts'
import type { Outcome } from '../facts/messages.ts'
import type { Comment, Post, ThreadRef } from '../facts/thread.ts'

/** Where a message came from, and its bytes, which are kept only while its post is missing. */
export interface Origin extends MessagePlace {
  readonly topic: string
  /** Base64; empty if the thread had no room for the comment. */
  readonly raw: string
  /** The message's length in bytes. */
  readonly bytes: number
  /** How many comments it stands for: the last of those beyond the origins that a thread keeps. It is counted again with each edit. */
  readonly standsFor?: number | undefined
}

/** A message's position. */
export interface MessagePlace {
  /** Its topic, where messages of several topics meet. */
  readonly topic?: string | undefined
  readonly partition: number
  readonly offset: string
  /** The broker's timestamp, ms since 1970. */
  readonly timestamp: number
}

export type CommentChange =
  /** `origin` is called if its post is missing: few comments need it, and it quotes the whole message. */
  (
    | { readonly kind: 'said'; readonly comment: Comment; readonly origin: () => Origin }
    | { readonly kind: 'deleted'; readonly id: string; readonly createdAt: number }
  ) & {
    /** Its position in its topic, if known. */
    readonly place?: MessagePlace
    /** How far the stream had come when it was read, ms of event time, if known: its post is waited for from then on. */
    readonly reached?: number | undefined
  }

/** The rules by which a thread accepts comments; times in ms. */
export interface ThreadRules {
  /** Comments created later than this after their post don't belong to the thread. */
  readonly finalAge: number
  /** At these numbers of comments, not counting those above their author's share, the thread is due at once; ascending. */
  readonly counts: readonly number[]
  /** Most comments a thread keeps: those with the smallest ranks, a sample that does not depend on their order. */
  readonly maxComments: number
  /** Most comments of one author that it keeps, by the same ranks and before that sample; null: no limit. */
  readonly maxPerAuthor: number | null
  /** The same of all comments together that name no author. */
  readonly maxUnnamed: number | null
  /** Whether a name is what a platform writes in place of an author: such a comment names none. */
  readonly isPlaceholder: (author: string) => boolean
  /** A comment's fixed, unpredictable sampling rank: an integer below 2^48. */
  readonly rank: (thread: ThreadRef, id: string) => number
  /** Identifies the key of the ranks: with the same version, equal ids have equal ranks. */
  readonly samplingKeyVersion: string
  /** A comment from within `finalAge` that arrives after the final snapshot opens another revision. */
  readonly reopen: boolean
  /** Longest text kept of a post or comment, in characters. */
  readonly maxTextChars: number
  /** How long, in stream time, comments wait for a missing post. */
  readonly orphanWait: number
}

/** How a post is to be judged, by the routes at its arrival. */
export interface Arrival {
  /** The thread's first age checkpoint, stream time in ms. */
  readonly firstDue: number
  /** Wall time, ms. */
  readonly now: number
  /** Some protocol reads the post with its comments; if none does, comments are not kept. */
  readonly threaded: boolean
  /** Some protocol judges the post by itself, at once. */
  readonly atOnce: boolean
  /** By itself, it is judged from this stream time on, above 0 ms, and not at once; an edit is judged at once. */
  readonly notBefore?: number
  /** The post's position in its topic, if known. */
  readonly place?: MessagePlace
  /** How many ms older it counts among its tenant's due threads, for its reach and for the protocols that judge it; absent: 0. */
  readonly reachAhead?: number
  readonly protocolAhead?: number
  /** How many protocols judge it, each on a copy of its own; absent: one. */
  readonly judges?: number
  /** The id of its story; absent, or null: it has none. */
  readonly story?: string | null
}

/** What becomes of a message that a thread may keep. `over-share`: with it its tenant would hold more than it may; nothing is done. */
export type KeepingOutcome = Outcome | 'over-share'
/** What became of a reply that was to be linked to its post. */
export type LinkOutcome = 'linked' | 'known' | 'deleted' | 'full'

/** A thread's post, and how far it is judged. */
export interface ThreadHead extends Pick<ThreadState, 'post' | 'version' | 'dueSince'> {
  readonly revisions: ReadonlyMap<
    string,
    {
      readonly revision: number
      /** The last one that was published, if that is known. */
      readonly published?: number
      readonly final: boolean
      readonly openId: string | null
    }
  >
}

/** What stands of a thread but its words. */
export interface ThreadOutline
  extends Pick<ThreadState, 'accepted' | 'late' | 'final' | 'dueSince' | 'nextAge' | 'dormantFor'>,
    Pick<ThreadHead, 'revisions'> {
  /** How many comments are kept, without deleted ones. */
  readonly kept: number
}

/**
 * `threaded`: some protocol reads the comments, or nobody knows yet. `post-only`: the post is judged by itself, and comments
 * are not kept. `unrouted`: nobody judges the post. `deleted`: a tombstone.
 */
export type ThreadStatus = 'threaded' | 'post-only' | 'unrouted' | 'deleted'

export interface ThreadState {
  readonly ref: ThreadRef
  /** Null while only comments have arrived. */
  readonly post: Post | null
  readonly comments: readonly Comment[]
  /**
   * Comments accepted and not deleted, kept or sampled out. A comment that arrives again after it was sampled out is
   * counted again, and one that is deleted after it was sampled out stays counted.
   */
  readonly accepted: number
  /** Those of them that were above their authors' share. */
  readonly overAuthor: number
  /** They were ranked under more than one key. Each keeps its first rank, so that the sample is still a fair one. */
  readonly rekeyed: boolean
  /** Comments that were posted later than `finalAge`; not counted as accepted. */
  readonly late: number
  /** Comments that an earlier verdict counted and that had expired from their topic when the thread was brought back from it. */
  readonly missing: number
  /** Raised by each change of the thread. */
  readonly version: number
  /** Raised by each change of the post itself. */
  readonly postVersion: number
  /** Raised by each deletion of comments, and again where they are erased from what revisions left to the next. */
  readonly deletions: number
  /** The start of revision numbers: 0, or a time if earlier ones may have been forgotten. */
  readonly base: number
  /** The next age checkpoint, stream time in ms; null after the last. */
  readonly nextAge: number | null
  /** The number of count checkpoints that have been passed. */
  readonly countStage: number
  /** The final snapshot has been opened. */
  readonly final: boolean
  /** The post arrived again after the thread had been forgotten: the comments that earlier revisions saw are gone. */
  readonly expired: boolean
  /**
   * Raised each time the thread becomes due at once: a count checkpoint, an edit of the post, a new, edited or deleted
   * comment after the final snapshot, a case that ended with more to judge. An earlier edit of a comment does not raise it.
   */
  readonly generation: number
  /** The generation at the last opening: while `generation` is higher, the thread has become due at once since then. */
  readonly observedGeneration: number
  /** When it became due, ms of wall time; null if only stream time made it due. */
  readonly dueSince: number | null
  /** Protocols that were paused when it was due, in order: for each it becomes due again when that is resumed. */
  readonly dormantFor: readonly string[]
  /** By protocol: the number of the last revision, the thread's version that it saw, and what it carries to the next. */
  readonly revisions: ReadonlyMap<
    string,
    {
      revision: number
      /** The last one that was published, if that is known: later numbers may be proposals', or were withdrawn. */
      published?: number
      seen: number
      final: boolean
      /** Its case, from opening until the verdict is published. */
      openId: string | null
      carry: unknown
    }
  >
}

/**
 * Threads as they grow. All writes are atomic per thread and repeatable: the same message again is a `duplicate` and
 * changes nothing. So is a message from before the position that the thread has accepted up to: a late reader must not
 * replace newer text with older.
 */
export interface ThreadWeight {
  /**
   * The effort of reading a thread: how many comments it keeps, deleted ones among them, and for each {@link COMMENT_CHARACTERS} of
   * its post as much. Large images are set aside.
   */
  readonly weight: number
  /** Whose share of the service its judging uses (src/contracts/facts/share.ts); its own while its post is unknown. */
  readonly share: string
}

/** A thread as messages alone make it, by its rules (`Thread` in src/judging/threads/thread.ts), without anything judged. */
export interface MessageThread {
  readonly ref: ThreadRef
  /** By id: the kept comments; null for a deleted comment. */
  readonly comments: ReadonlyMap<string, Comment | null>
  /** The sampling rank that each of these got when it arrived; deleted ones rank behind all others. */
  readonly ranks: ReadonlyMap<string, number>
  /** The sampling key's version when the last comment was ranked; null before the first. */
  readonly sampledUnder: string | null
  readonly rekeyed: boolean
  readonly accepted: number
  readonly overAuthor: number
  readonly late: number
  readonly missing: number
  readonly version: number
  readonly postVersion: number
  readonly deletions: number
  readonly countStage: number
  /** By topic the positions of the last post and of the last comment that changed something, if they are known. */
  readonly postPlaces: readonly MessagePlace[]
  readonly commentPlaces: readonly MessagePlace[]
}

/** A thread that was made from its messages elsewhere. */
export interface RememberedThread extends MessageThread {
  readonly post: Post
  /** The id of its story; null if it has none. */
  readonly story: string | null
  readonly postOnly: boolean
}

/** The data of a request that are kept beside its thread. */
export interface RequestThread {
  readonly thread: RememberedThread
  /** The stream's subject of the id under which its client asked: the request is erased with it. */
  readonly subject: ThreadRef
  readonly protocols: readonly string[]
  /** Its verdicts go to webhooks. */
  readonly webhook: boolean
  /** Until when its answer can be read, ms since 1970. */
  readonly until: number
  /** Bytes that its tenant may hold with this one; null: no limit. */
  readonly most: number | null
}

export interface ThreadStore {
  /**
   * A post that no protocol judges is `unrouted` and not kept, nor are its comments. A post whose thread was forgotten
   * after its revisions were published is `updated`, and stays without comments. Large images may be set aside
   * (src/contracts/facts/kept-image.ts). `most`: bytes that its tenant may hold with it; null, or absent: no limit.
   */
  putPost(ref: ThreadRef, post: Post, put: Arrival, rules: ThreadRules, most?: number | null): Promise<KeepingOutcome>
  /**
   * A post has reached more people: among its tenant's due threads it counts as so many ms older (`reachAhead` of `Arrival`).
   * Less than is known changes nothing. It is no edit; and it is remembered for `keepMs` for a post that has not come yet, unless its
   * tenant would hold more than `most` bytes then (`late`).
   */
  raiseReach(
    ref: ThreadRef,
    reachAhead: number,
    within: { readonly keepMs: number; readonly now: number; readonly most?: number | null },
  ): Promise<Outcome>
  /**
   * Outcomes in the order of `changes`. A comment in a forgotten thread is `late`, and nothing of it is kept. `most` is as for a post;
   * deletions are never refused, but beyond it one of a post that has not come is not remembered, and `late`.
   */
  putComments(
    ref: ThreadRef,
    changes: readonly CommentChange[],
    now: number,
    rules: ThreadRules,
    most?: number | null,
  ): Promise<KeepingOutcome[]>
  /**
   * Erases the thread's content everywhere in the store, with its cases, their journals and their unpublished records,
   * and leaves a tombstone. Notes in the same step that the subject was deleted (`Erasures`), for what shelves and other
   * cases hold of it; a repeated deletion does so again. `retraction` makes the verdict and transcript that retract each protocol's last revision, which has the number
   * `superseded`: numbers between may be those of proposals.
   * They are published after a verdict that a publisher already has, and instead of one that none has.
   */
  deletePost(
    ref: ThreadRef,
    retraction: (
      protocol: string,
      revision: number,
      superseded: number,
    ) => { caseId: string; verdict: string; transcript: string },
  ): Promise<Outcome>
  /**
   * Deletes those of the subjects of which the store knows nothing, as `deletePost` would, in one step for all. For each, in order:
   * whether it did; with the others nothing was done. `most` is as for a post: beyond it the deletion is noted (`Erasures`), for what
   * shelves may hold, but the subject is not remembered, and may come yet.
   */
  deleteUnknown(refs: readonly ThreadRef[], now: number, most?: number | null): Promise<readonly boolean[]>
  /**
   * Erases what is left of deleted comments in verdicts that have been decided: each protocol's carry is replaced by the
   * result of `without`, and nothing is kept of published cases. False, with nothing changed, if other cases are open
   * than `openIds`: one may have been opened with the old carries.
   */
  eraseLeft(
    ref: ThreadRef,
    left: {
      openIds: readonly string[]
      without: (protocol: string, carry: unknown) => unknown
      caseId: (protocol: string, revision: number) => string
      now: number
    },
  ): Promise<boolean>
  /**
   * Links a reply to a post, so that it is erased when the post is deleted; `known` if it was linked before. With nothing noted,
   * `deleted` if the post already is, and `full` if `most` other replies are linked to it. The links of a post are known for as long as a
   * tombstone; one that a question leaves, `askedFor` so many ms, at least so long, and is counted with the question: others the
   * post's tenant holds.
   */
  linkReply(
    post: ThreadRef,
    reply: ThreadRef,
    of: { readonly most: number; readonly now: number; readonly askedFor?: number },
  ): Promise<LinkOutcome>
  /** Some of the replies that are linked to a post. */
  repliesTo(post: ThreadRef, limit: number): Promise<ThreadRef[]>
  unlinkReplies(post: ThreadRef, replies: readonly ThreadRef[], now: number): Promise<void>
  /**
   * Writes the thread of a request whole, due at once, and the answer that it will have, in one step; nothing of it, if the
   * stream's subject has been deleted, or its tenant's requests would hold more than they may. After its last verdict nothing
   * is kept of it but the answer. Throws `StoreSuspended` while the store can't be trusted.
   */
  putAsked(asked: RequestThread, now: number): Promise<'asked' | 'deleted' | 'over-share'>
  /**
   * Erases a request's thread with its cases, their journals and unpublished verdicts, and its answer, of which it is known until
   * then that it was erased. False if nothing is known of the request. Repeatable.
   */
  dropAsked(ref: ThreadRef): Promise<boolean>
  /** How many bytes a tenant's threads, requests and answers hold, with what their judging will take. */
  heldBy(tenant: string, now: number): Promise<number>
  /** Tenants that hold more than so many bytes, a hundred at most. */
  tenantsOver(bytes: number, now: number): Promise<string[]>
  /** Some of the requests that were asked under this subject's id. */
  askedAbout(subject: ThreadRef, limit: number): Promise<ThreadRef[]>
  unlinkAsked(subject: ThreadRef, requests: readonly ThreadRef[]): Promise<void>
  /**
   * Threads whose due time is at or before `until` (stream time). Tenants take turns: the tenant with the fewest open
   * cases is next, counting each returned thread as one, with its earliest thread; each counts as older than it is by its
   * head start (`Arrival`), which tells nothing between tenants. `maxOpen` is the most cases that one
   * tenant may have open; no more threads are returned than there is room for. If a tenant has them all, an extra eighth
   * is reserved for the others. No tenant gets more than `TENANT_SHARE` (src/contracts/facts/thread.ts) times the free slots, and a tenant without
   * an open case always gets one. So no tenant waits for another's cases to end, even stuck ones. Requests for which somebody
   * waits come before all others, in places of their own: `maxWaiting` of their cases may be open, and half of these of one
   * tenant; a tenant that has none open always gets one. 0: none of them is returned.
   */
  due(until: number, limit: number, maxOpen?: number, maxWaiting?: number): Promise<ThreadRef[]>
  /**
   * Gives threads that are due by the stream's time, so many at most, their places among those that are due at once; those that a
   * protocol has judged before count as `putBackMs` younger.
   */
  orderDue(until: number, now: number, most: number, putBackMs: number): Promise<void>
  /**
   * Threads of the same story that have asked this, in the order of their `rank`, at most `MOST_TWINS` (src/judging/threads/story.ts) of
   * all that did; and notes that this one has. None for a thread without a story.
   */
  twins(ref: ThreadRef, rank: number): Promise<ThreadRef[]>
  read(ref: ThreadRef): Promise<ThreadState | null>
  /** The same without comments and what cases carry, at a cost that grows with neither. */
  head(ref: ThreadRef): Promise<ThreadHead | null>
  /** The same without words, at a cost that does not grow with them. */
  outline(ref: ThreadRef): Promise<ThreadOutline | null>
  /** An image that was set aside from the thread's post as it is now, a data: address; null if it has none of this hash. */
  keptImage(ref: ThreadRef, hash: string): Promise<string | null>
  weigh(ref: ThreadRef): Promise<ThreadWeight>
  /** Null for a thread that was never written to, or was forgotten. */
  statusOf(ref: ThreadRef): Promise<ThreadStatus | null>
  /**
   * Opens cases on a thread as `state` shows it, one per protocol. A protocol with an open case (`waiting`) becomes due
   * again when that case is published, a paused one (`dormant`) when it is resumed, and one that has judged the thread
   * and is off here (`absent`) when its case is published or it is woken. Moves the thread's due time to `nextDue`
   * (null: none) unless it has become due again meanwhile. Does nothing, so that the thread stays due, if comments have
   * been deleted since it was read, or if it has changed and nothing would be due after this. Returns the ids of the
   * opened cases.
   */
  open(
    state: ThreadState,
    opening: {
      cases: readonly { record: CaseRecord; seen: number }[]
      waiting: readonly string[]
      dormant: readonly string[]
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
  /** The same for a protocol that was off: for the threads that became due for it meanwhile. */
  wake(protocol: string, now: number): Promise<number>
  /**
   * Removes comments whose post never arrived, also those that the thread had no room for, and puts a dead letter for
   * each origin into the outbox, several in each atomic step. Returns how many; none if the post has arrived. Also clears the
   * due entry of a thread that no longer exists. Once `mostLetters` wait in the outbox it stops and returns null: the thread stays due.
   */
  expireOrphans(
    ref: ThreadRef,
    letterOf: (origin: Origin) => { key: string; letter: string },
    mostLetters?: number,
  ): Promise<number | null>
  /**
   * Since when, wall ms, the thread of a tenant that has waited longest has been due; of a large backlog that of a fair sample. Null if
   * none is due at once.
   */
  dueSince(tenant: string): Promise<number | null>
  /** How many threads are due at or before `until` (stream time) and not yet opened; tenants with more than `most` are left out. */
  countDue(until: number, most?: number): Promise<number>
  /** Tenants that have more than so many threads due. */
  tenantsOverDue(until: number, most: number): Promise<string[]>
}

/** How far one partition of an input topic has been read. */
export interface StreamMark {
  /** The newest and second-newest `createdAt` read, ms since 1970; null if there is none yet. */
  readonly newest: number | null
  readonly second: number | null
  /** Since when (wall ms) everything in the partition has been read; null while messages are waiting. */
  readonly endSince: number | null
  /** When (wall ms) the partition was last known to be read to its end; 0 if never. */
  readonly seenAt: number
}

/** Partitions of the topics that drive the stream's clock, as `topic/partition`, like the marks. */
export interface StreamPartitions {
  /** The partitions that exist now: marks of others (renamed topics, removed partitions) don't count. */
  readonly there: ReadonlySet<string>
  /** The clock does not advance until each of these has a mark. */
  readonly awaited: ReadonlySet<string>
}

export interface StreamMarks {
  read(): Promise<ReadonlyMap<string, StreamMark>>
  write(marks: ReadonlyMap<string, StreamMark>): Promise<void>
}
