import { createHash } from 'node:crypto'
import type { VerdictProposal } from '../contracts/facts/decision-messages.ts'
import { judgedPart, type Snapshot, snapshot, type ThreadRef } from '../contracts/facts/thread.ts'
import type { Transcript, Verdict } from '../contracts/facts/verdict.ts'
import { UNVERIFIED } from '../contracts/facts/verdict-fields.ts'
import { threadOf } from '../contracts/facts/verdict-id.ts'
import type { Protocol } from '../judging/engine/script.ts'
import { NOT_COMPARED } from '../judging/engine/veto.ts'

/** A protocol's last revision of a subject: all that a recovery keeps of it in memory. */
export interface LastRevision {
  readonly id: string
  readonly protocol: string
  readonly revision: number
  /** The highest number of the protocol's rulings: this one's, or a proposal's beneath it. */
  number: number
  /** Of a verdict that people brought about: as the machines' last ruling. */
  final: boolean
  /** It is a retraction: the subject was deleted. */
  readonly deleted: boolean
  /** When its case was opened and decided, ms since 1970; the first as of the ruling that saw the subject last. */
  openedAt: number
  readonly decidedAt: number
  readonly decidedBy: Verdict['decidedBy']
  /** Its protocol reads comments. */
  readonly ofThreads: boolean
  /** It has no label, or `unverified`: why, in words and by whose fault, and how many comments it had; null of any other verdict. */
  readonly undecided: UndecidedVerdict | null
  /** Hash of its record. */
  readonly content: string
  /** It stands on the topic with two contents: the next revision has to settle which. */
  contested: boolean
  /** The ruling that saw the subject last: this one; or, of a verdict that people brought about, the machines' last. */
  sawBy: string
  /** What stands of the subject in its transcript: of one on a list hashes alone, and without the pictures that could not be compared. */
  readonly kept: 'whole' | 'part' | 'hashes'
  /** What that saw; null until its transcript has been read, and if it is contested. */
  seen: SeenHashes | null
}

/** A verdict that people brought about. */
export interface PublishedDecision {
  readonly ref: ThreadRef
  readonly protocol: string
  readonly id: string
  readonly revision: number
  readonly label: string | null
  readonly by: string
  /** It is a human verdict; else what took its place. */
  readonly stands: boolean
  /** When the decision arrived, ISO 8601. */
  readonly at: string
}

export interface UndecidedVerdict {
  /** It has the label `unverified`; else it has none. */
  readonly isUnverified: boolean
  readonly degraded: readonly string[]
  readonly faults: readonly string[]
  readonly comments: number
}

/** What a verdict saw, as hashes. `post` and `all` are null if the transcript was shortened. */
export interface SeenHashes {
  readonly post: string | null
  /** Hash of the comments' ids; null of a post on a list, of which the transcript has none. */
  readonly comments: string | null
  readonly all: string | null
}

export interface PublishedSubject {
  readonly ref: ThreadRef
  /** By protocol. */
  readonly last: Map<string, LastRevision>
  /** How many messages of the post itself have been read. */
  posts: number
  /** Broker timestamps of the newest edit and the newest comment from before the subject would be forgotten, ms. */
  newestEdit: number
  newestComment: number
  /** A protocol that judges it now has not judged it yet. */
  owed: boolean
}

/** How long the store keeps a subject after its end, in ms. */
export interface SubjectKeepTimes {
  readonly keepAfterFinalMs: number
  readonly keepTombstoneMs: number
}

/**
 * Collects each protocol's last revision of each subject from everything on the verdicts topic, in any order, at a few
 * hundred bytes each.
 */
export function publishedRevisions(
  protocols: readonly { readonly name: string; readonly subject: Protocol['subject'] }[],
) {
  const ofThreads = new Set(protocols.filter(({ subject }) => subject === 'thread').map(({ name }) => name))
  const ofReplies = new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name))
  const subjects = new Map<string, PublishedSubject>()
  const decided = new Map<string, PublishedDecision>()
  const byId = new Map<string, LastRevision>()
  // Thousands of verdicts say the same.
  const sentences = new Map<string, string>()
  const once = (sentence: string): string => {
    const known = sentences.get(sentence)
    if (known === undefined) sentences.set(sentence, sentence)
    return known ?? sentence
  }
  const costs = new Map<string, { verdicts: number; usd: number }>()
  const costsDecided = new Map<string, { verdicts: number; usd: number }>()
  const add = (to: typeof costs, protocol: string, usd: number) => {
    const cost = to.get(protocol) ?? { verdicts: 0, usd: 0 }
    to.set(protocol, { verdicts: cost.verdicts + 1, usd: cost.usd + usd })
  }

  const refIn = (said: Pick<Verdict, 'id' | 'tenant' | 'subjectId'>) => threadOf(said, ofReplies)

  return {
    subjects,
    decided,
    /** What a verdict of this protocol has cost on average, in US dollars; 0 if there is none. */
    meanCost(protocol: string): number {
      const { verdicts, usd } = costs.get(protocol) ?? { verdicts: 1, usd: 0 }
      return usd / verdicts
    },
    /** The same of those that decided something: what one costs that is judged in full. Null if there is none. */
    meanCostDecided(protocol: string): number | null {
      const cost = costsDecided.get(protocol)
      return cost === undefined ? null : cost.usd / cost.verdicts
    },
    /** `record`: the verdict as it stands on the topic. False if it is about a subject that only a later version knows. */
    take(verdict: Verdict, record = JSON.stringify(verdict)): boolean {
      const { protocol, revision, usage } = verdict
      const { decidedBy, decision, restored } = verdict
      const ref: ThreadRef | null = refIn(verdict)
      if (ref === null) return false
      const people = decision ?? restored
      if (people === undefined) {
        add(costs, protocol, usage.costUsd)
        if (decidedBy !== 'none' && decidedBy !== 'deleted') add(costsDecided, protocol, usage.costUsd)
      } else {
        const { id, label } = verdict
        const { of, by } = people
        const stands = decision !== undefined
        decided.set(of, { ref, protocol, id, revision, label, by, stands, at: verdict.timing.decidedAt })
      }
      const key = subjectKey(ref)
      const subject = subjects.get(key) ?? {
        ref,
        last: new Map(),
        posts: 0,
        newestEdit: 0,
        newestComment: 0,
        owed: false,
      }
      const before = subject.last.get(protocol)
      const content = hashOf(record)
      if (before?.revision === revision && before.content !== content && !before.deleted) before.contested = true
      if (before !== undefined && before.revision >= revision) return true
      const one: LastRevision = {
        id: verdict.id,
        protocol,
        revision,
        number: Math.max(revision, before?.number ?? 0),
        final: verdict.final,
        deleted: verdict.label === null && verdict.degraded.includes('deleted'),
        openedAt: Date.parse(verdict.timing.openedAt),
        decidedAt: Date.parse(verdict.timing.decidedAt),
        decidedBy,
        ofThreads: ofThreads.has(protocol),
        undecided: undecidedIn(verdict, once),
        content,
        contested: false,
        sawBy: verdict.id,
        kept: people === undefined ? keptOf(verdict) : (before?.kept ?? 'whole'),
        seen: null,
      }
      // Who decides has not read the thread for the machines.
      if (people !== undefined && before !== undefined) {
        one.sawBy = restored?.from ?? before.sawBy
        one.openedAt = before.openedAt
        if (decision !== undefined) one.final = before.final
      }
      if (before !== undefined) byId.delete(before.sawBy)
      byId.set(one.sawBy, one)
      subject.last.set(protocol, one)
      subjects.set(key, subject)
      return true
    },
    /** After all verdicts: what machines said beneath those of people. */
    propose(
      said: Pick<VerdictProposal, 'id' | 'tenant' | 'subjectId' | 'protocol' | 'proposal' | 'final' | 'timing'>,
    ): void {
      const ref = refIn(said)
      const one = ref === null ? undefined : subjects.get(subjectKey(ref))?.last.get(said.protocol)
      if (one === undefined) return
      const isNewest = said.proposal > one.number
      if (!isNewest && one.sawBy !== said.id) return
      one.number = Math.max(one.number, said.proposal)
      byId.delete(one.sawBy)
      byId.set(said.id, one)
      one.sawBy = said.id
      one.final = said.final
      one.openedAt = Date.parse(said.timing.openedAt)
    },
    see({ verdictId, subject, cut }: Pick<Transcript, 'verdictId' | 'subject' | 'cut'>): void {
      const of = byId.get(verdictId)
      const read = snapshot.safeParse(subject)
      if (of?.contested !== false || !read.success) return
      of.seen = of.kept === 'hashes' ? HASHES_ALONE : seenIn(read.data, cut.length === 0 && of.kept === 'whole')
    },
  }
}

export function subjectKey({ tenant, kind, postId }: ThreadRef): string {
  return `${tenant}/${kind}:${postId}`
}

/** When a store that lost nothing would forget a subject that has a final verdict of every protocol, ms since 1970. */
export function forgottenAt({ last }: Pick<PublishedSubject, 'last'>, keep: SubjectKeepTimes): number {
  const all = [...last.values()]
  const kept = all.every((one) => one.deleted) ? keep.keepTombstoneMs : keep.keepAfterFinalMs
  return Math.max(...all.map(({ decidedAt }) => decidedAt)) + kept
}

/** A message that was sent less than this before a case opened may have been processed after the opening, in ms. */
const LAG_MS = 3_600_000

/** Notes a message of the subject, sent at `sentAt` (ms). Messages from after the subject was forgotten don't count. */
export function noteMessage(
  subject: PublishedSubject,
  kind: 'post' | 'comment',
  sentAt: number,
  keep: SubjectKeepTimes,
): void {
  const before = sentAt <= forgottenAt(subject, keep)
  if (kind === 'comment' && before) subject.newestComment = Math.max(subject.newestComment, sentAt)
  if (kind === 'post' && subject.posts > 0 && before) subject.newestEdit = Math.max(subject.newestEdit, sentAt)
  if (kind === 'post') subject.posts++
}

/**
 * Whether a store that lost nothing would have forgotten the subject by now: every protocol has given its final verdict,
 * none of which is contested, each has certainly seen all earlier messages, and the thread's keep time has passed.
 */
export function isOver(subject: PublishedSubject, keep: SubjectKeepTimes, now: number): boolean {
  const all = [...subject.last.values()]
  const sawAll = (newest: number, those: readonly LastRevision[]) =>
    those.every(({ openedAt }) => newest <= openedAt - LAG_MS)
  const quiet =
    all.every((one) => one.deleted) ||
    ((subject.newestEdit === 0 || sawAll(subject.newestEdit, all)) &&
      (subject.newestComment === 0 ||
        sawAll(
          subject.newestComment,
          all.filter(({ ofThreads }) => ofThreads),
        )))
  return (
    !subject.owed &&
    all.every(({ final, contested }) => final && !contested) &&
    forgottenAt(subject, keep) < now &&
    quiet
  )
}

/** The contents of a snapshot, as hashes; `whole` is false for a shortened one, which has lost some of them. */
export function seenIn({ post: shown, comments }: Snapshot, whole = true): SeenHashes {
  const post = judgedPart(shown)
  return {
    post: whole ? hashOf(post) : null,
    comments: hashOf(comments.map(({ id }) => id)),
    all: whole ? hashOf([post, comments]) : null,
  }
}

/**
 * Whether a verdict that saw `before` has nothing new to judge in `now`. With `sealed` (a final verdict that comments do
 * not reopen) only the post counts.
 */
export function nothingNew(before: SeenHashes | null, now: SeenHashes, sealed: boolean): boolean {
  if (before === null) return false
  if (sealed && before.post !== null) return before.post === now.post
  if (before.all !== null) return before.all === now.all
  return before.comments === null || before.comments === now.comments
}

const HASHES_ALONE: SeenHashes = { post: null, comments: null, all: null }

function keptOf({ decidedBy, degraded }: Pick<Verdict, 'decidedBy' | 'degraded'>): LastRevision['kept'] {
  if (decidedBy === 'veto') return 'hashes'
  return degraded.some((why) => why.includes(NOT_COMPARED)) ? 'part' : 'whole'
}

/** Why a verdict decided nothing; null if it did. */
function undecidedIn(
  { label, decidedBy, unverified, degraded, faults, counts }: Verdict,
  once: (sentence: string) => string,
): UndecidedVerdict | null {
  const isUnverified = label === UNVERIFIED && decidedBy !== 'human'
  if (decidedBy !== 'none' && !isUnverified) return null
  // A verdict of schema 1 has no reason.
  const why = isUnverified ? [`${UNVERIFIED}: ${unverified?.reason ?? 'unknown'}`] : []
  return { isUnverified, degraded: [...why, ...degraded].map(once), faults, comments: counts.accepted }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22)
}
