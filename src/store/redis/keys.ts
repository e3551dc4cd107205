import { SUBJECT_KINDS, type ThreadRef } from '../../contracts/facts/thread.ts'

/**
 * Every key of one Gavel in Redis. All share one hash tag, BullMQ's keys too, so that a Lua script may access any of
 * them on a cluster.
 */
export interface Keys {
  /** Prefix of BullMQ's keys. */
  readonly queues: string
  /**
   * Sorted sets: thread members by due time (stream time, ms; below zero means at once), one per tenant under
   * `due:TENANT`; `due/tenants` has the tenants by their earliest due time.
   */
  readonly due: string
  /**
   * Sorted set: ids of open cases by the wall time at which they were last taken, ms. With it, under `open/tenants`, a
   * hash: the number of each tenant's open cases.
   */
  readonly open: string
  /** Sorted set like `open`: cases of protocols that no process works on; they take no places. */
  readonly unworked: string
  /** Hash: when asks of each protocol last waited for a model of their chain, ms. */
  readonly unanswered: string
  /** Stream: outbox entries that wait for Kafka, dead letters excepted (earlier versions put them here as well). */
  readonly outbox: string
  /** Stream: dead letters that wait for Kafka, so that no verdict waits behind them. */
  readonly letters: string
  /** String: why a broker refuses what is published, where a process has said so within seconds. */
  readonly closure: string
  /**
   * Hash: outbox entries that were erased while a publisher had them, as JSON: [the publisher's last heartbeat for it,
   * ms; case id; protocol; thread member].
   */
  readonly erased: string
  /**
   * Sorted set: owners (`ownerOf`) that were deleted, by when they were, or when they had been erased, ms. Nothing of
   * theirs is shown or sent. They leave it when they have been erased everywhere for long.
   */
  readonly deletedOwners: string
  /** Sorted sets: those of them that the shelves, or cases that were shown something, may still hold, by the deletion's time. */
  readonly shelfErasures: string
  readonly caseErasures: string
  /** String: the process that erases them from shelves, or from cases. */
  eraser(what: string): string
  /** String: some process has a library that holds, or has held, something. */
  readonly library: string
  /** Sorted set: cases that lost what was deleted and wait to go on, by the time of it. */
  readonly withheld: string
  /** Sorted set: the cases that were shown content of an owner (JSON), by when, ms. */
  shown(owner: string): string
  /** Hash: stream marks by partition. */
  readonly marks: string
  /**
   * Hash: the incarnation of the data in Redis, and whether some were lost. Its fields: schema (their form), id (absent after
   * a loss), watermark, told (how often processes that read verdicts of schema 2 have raised it), run (the server's run id), end:RUN (the watermark at which that run ended), quiet (until when no
   * case is opened or concluded, ms), since (the Redis time, ms, from which on all published revisions are known: before
   * anything was accepted there were none), lost (why), and at:TOPIC/PARTITION (the next offset; everything before it is
   * durable here).
   */
  readonly incarnation: string
  /** String: whether this deployment had published nothing when it first started (`fresh`), or had (`known`). */
  readonly fresh: string
  /** String: the key of the fences around untrusted text. */
  readonly fence: string
  /** String: the version of the sampling key of the process that started last. */
  readonly samplingVersion: string
  /** Set: protocols that are paused, and first lanes that are closed (`laneMark`). */
  readonly paused: string
  /** Set: members of threads that are dormant for a protocol that is paused or off. */
  dormant(protocol: string): string
  /** Hash: what was found out about models, as parts of their dialects (JSON), by where each is asked. */
  readonly dialects: string
  /** Keys of the gateway's parts: memo, limits, budgets. */
  under(name: string): string
  /**
   * Hash: a case's record, status, epoch, run, when it was opened, the outbox entry of its verdict, `shown` (the owners of
   * what it was shown) and `withheld` (it waits to go on).
   */
  case(id: string): string
  /** Hash: how a case's asks ended, by their keys. */
  journal(id: string): string
  /** List: calls of a case that brought no answer. */
  lost(id: string): string
  /**
   * Hash: a thread. Its fields are those of `Thread` (src/judging/threads/thread.ts), and createdAt (its post's), rekeyed,
   * deleted, unrouted, postOnly (no protocol reads its comments), expired (its post arrived again after the thread had been
   * forgotten), base (what its revisions are counted from, if not 0), postPlace and commentPlace (the positions up to which
   * the topics were read), and by protocol rev:, last: (the number of the last published verdict), ruling: (the machines' last
   * ruling, JSON), open:, seen:, final: (the revision was a final one), again: (due once the
   * open case is published), dormant: (the protocol is paused), absent: (the version that a protocol which is off must judge
   * when it is on again), carry:, told: (with story and storyEnd: include/story.lua, where the keys of stories are), and of a deleted thread retractionId:, retractionVerdict: and retractionTranscript: (a
   * retraction that waits for the verdict before it).
   */
  thread(member: string): string
  /** Hash: a thread's comments by id; a deleted one is `{}`. */
  comments(member: string): string
  /** Sorted set: the same ids by sampling rank. */
  sample(member: string): string
  /** Sorted set: a thread's comments by author. */
  authors(member: string): string
  /** Hash: the large images of a thread's post, as data: addresses, by their hashes (src/contracts/facts/kept-image.ts). */
  images(member: string): string
  /** String: what a picture of a subject is, its hashes (JSON), or that somebody looks at it, by the hash of its address. */
  looked(member: string, address: string): string
  /** Hash: the origins of comments whose post is missing. */
  orphans(member: string): string
  /** Hash: the number of each protocol's last published revision; it outlives the thread. */
  revisions(member: string): string
  /** Hash: what people decided of a subject (include/decided.lua). It outlives the thread. */
  decided(member: string): string
  /** String: how large a head start a post has for its reach (ms), of which that was said before it came. */
  early(member: string): string
  /** String: what came of a decision, by its PARTITION@OFFSET, for clients that wait for that. */
  told(of: string): string
  /** Set: the runs that read a forgotten thread's messages, to judge it again; nothing was said or deleted in it since. */
  watched(member: string): string
  /** Set: thread members of the replies to a post. */
  replies(member: string): string
  /** Set: thread members of the requests that were asked under the id of a stream's subject. */
  requests(member: string): string
  /**
   * Hash: the answer to a request, for as long as it can be read: subject (the member under which it was asked), protocols (JSON), opened, until, hook
   * (its verdicts go to webhooks), and by protocol verdict: and transcript:; of an erased one only erased, protocols and times.
   */
  answers(member: string): string
  /**
   * What the keys begin with of the accounts of what tenants hold, in bytes (include/kept-bytes.lua): with parts:TENANT a hash by part,
   * with tenants a sorted set of the tenants by their sums, with ends a sorted set of those parts that expire, by when, ms.
   */
  readonly kept: string
  /** List: the trace contexts that its newest messages came with. */
  traces(member: string): string
  /** What the keys begin with of what authors wrote: sorted sets of members, by when each was noted last, ms; then the author's hash. */
  readonly saidBy: string
  /** Sorted set: the same authors, as TENANT HASH, by when it is looked at which of their subjects are left, ms. */
  readonly authorsLookedAt: string
  /** Hash: the erasures of authors that are under way, as JSON by their ids; under ID/record how far the record has come with one. */
  readonly authorErasures: string
  /** String: an erasure of an author that is done, as JSON; it expires. */
  authorErased(id: string): string
  /** String: a record is kept, or was within the time that it holds anything. */
  readonly recordKept: string
  /** Hash: how far the role `jetstream` has come: time (of the last event, µs), relay, seq (its number there; empty: none). */
  readonly jetstreamPosition: string
  /** Set: authors whose accounts are gone, and of whom it sent something: they wait to be erased. */
  readonly jetstreamGone: string
  /** String: what is known of a record, or an account, of which it sent something, by a hash of its address (store/jetstream/redis.ts). */
  jetstreamTaken(hash: string): string
}

export function keysUnder(prefix: string): Keys {
  const root = `{${prefix}}`
  return {
    queues: `${root}:bull`,
    due: `${root}:due`,
    open: `${root}:open`,
    unworked: `${root}:unworked`,
    unanswered: `${root}:unanswered`,
    outbox: `${root}:outbox`,
    letters: `${root}:outbox/letters`,
    closure: `${root}:outbox/closed`,
    erased: `${root}:outbox/erased`,
    deletedOwners: `${root}:erasures/owners`,
    shelfErasures: `${root}:erasures/shelves`,
    caseErasures: `${root}:erasures/cases`,
    eraser: (what) => `${root}:erasures/eraser:${what}`,
    library: `${root}:erasures/library`,
    withheld: `${root}:erasures/withheld`,
    shown: (owner) => `${root}:erasures/shown:${owner}`,
    marks: `${root}:marks`,
    incarnation: `${root}:incarnation`,
    fresh: `${root}:fresh`,
    fence: `${root}:fence-key`,
    samplingVersion: `${root}:sampling-version`,
    paused: `${root}:paused`,
    dormant: (protocol) => `${root}:dormant:${protocol}`,
    dialects: `${root}:dialects`,
    under: (name) => `${root}:${name}`,
    case: (id) => `${root}:case:${id}`,
    journal: (id) => `${root}:journal:${id}`,
    lost: (id) => `${root}:lost:${id}`,
    thread: (member) => `${root}:thread:${member}`,
    comments: (member) => `${root}:comments:${member}`,
    sample: (member) => `${root}:sample:${member}`,
    authors: (member) => `${root}:authors:${member}`,
    images: (member) => `${root}:images:${member}`,
    looked: (member, address) => `${root}:looked:${address}:${member}`,
    orphans: (member) => `${root}:orphans:${member}`,
    revisions: (member) => `${root}:revisions:${member}`,
    decided: (member) => `${root}:decided:${member}`,
    early: (member) => `${root}:early-reach:${member}`,
    told: (of) => `${root}:decisions/told:${of}`,
    watched: (member) => `${root}:judge-again/watching:${member}`,
    replies: (member) => `${root}:replies:${member}`,
    requests: (member) => `${root}:requests:${member}`,
    answers: (member) => `${root}:answers:${member}`,
    kept: `${root}:kept/`,
    traces: (member) => `${root}:traces:${member}`,
    saidBy: `${root}:said-by:`,
    authorsLookedAt: `${root}:said-by/looked-at`,
    authorErasures: `${root}:erasures/authors`,
    authorErased: (id) => `${root}:erasures/authors/done:${id}`,
    recordKept: `${root}:erasures/record`,
    jetstreamPosition: `${root}:jetstream/position`,
    jetstreamGone: `${root}:jetstream/gone`,
    jetstreamTaken: (hash) => `${root}:jetstream/taken:${hash}`,
  }
}

/** All keys of a case. */
export function caseKeys(keys: Keys, id: string) {
  return { case: keys.case(id), journal: keys.journal(id), lost: keys.lost(id) }
}

/** All keys of a thread, except its replies. */
export function threadKeys(keys: Keys, member: string) {
  return {
    thread: keys.thread(member),
    comments: keys.comments(member),
    sample: keys.sample(member),
    authors: keys.authors(member),
    images: keys.images(member),
    orphans: keys.orphans(member),
    revisions: keys.revisions(member),
    decided: keys.decided(member),
  }
}

/** What the ids of dead letters begin with outside of their stream. */
const LETTER = 'letter:'

export function letterId(place: string): string {
  return `${LETTER}${place}`
}

/** Where an entry of the outbox is: its stream, and its id there. */
export function outboxPlace(keys: Pick<Keys, 'outbox' | 'letters'>, id: string): { outbox: string; entry: string } {
  return id.startsWith(LETTER)
    ? { outbox: keys.letters, entry: id.slice(LETTER.length) }
    : { outbox: keys.outbox, entry: id }
}

/** The outbox's consumer group, of either stream. */
export const PUBLISHERS = 'publishers'

/** A thread's name in sorted sets and keys; tenants contain neither colon nor slash. */
export function memberOf({ tenant, postId, kind }: ThreadRef): string {
  return `${tenant}${kind === 'post' ? '' : `/${kind}`}:${postId}`
}

export function refOf(member: string): ThreadRef {
  const colon = member.indexOf(':')
  const [tenant = '', named] = member.slice(0, colon).split('/')
  const kind = SUBJECT_KINDS.find((one) => one === named) ?? 'post'
  return { tenant, postId: member.slice(colon + 1), kind }
}
