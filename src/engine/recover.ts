import { createHash } from 'node:crypto'
import { type Snapshot, type SubjectKind, snapshot, type ThreadRef } from '../domain/thread.ts'
import type { Transcript, Verdict } from '../domain/verdict.ts'
import type { Protocol } from './script.ts'

/** What is known of a protocol's last revision of a subject: all that a recovery keeps of it in memory. */
export interface LastRevision {
  readonly protocol: string
  readonly revision: number
  readonly final: boolean
  /** It says that the subject was deleted. */
  readonly deleted: boolean
  /** ms since 1970 */
  readonly decidedAt: number
  /** What it saw, once its transcript has been read. */
  seen: Seen | null
}

/** What a verdict saw, as hashes. `post` and `all` are null where the transcript had to be shortened. */
export interface Seen {
  readonly post: string | null
  /** Of the comments' ids. */
  readonly comments: string
  readonly all: string | null
}

export interface PublishedSubject {
  readonly ref: ThreadRef
  /** By protocol. */
  readonly last: Map<string, LastRevision>
  /** The broker's time of the newest message of this subject that came before it would be forgotten, ms. */
  newestMessage: number
  /** A protocol that judges it now has not. */
  owed: boolean
}

/** How long a subject is held in the store after its end, in ms. */
export interface KeepTimes {
  readonly keepThreadMs: number
  readonly keepTombstoneMs: number
}

/**
 * The last revision of each protocol and subject, out of everything on the verdicts topic, in any order. A few hundred bytes
 * are kept for each.
 */
export function publishedRevisions(
  protocols: readonly { readonly name: string; readonly subject: Protocol['subject'] }[],
) {
  const ofReplies = new Set(protocols.filter(({ subject }) => subject === 'reply').map(({ name }) => name))
  const subjects = new Map<string, PublishedSubject>()
  const byId = new Map<string, LastRevision>()

  return {
    subjects,
    take(verdict: Verdict): void {
      const { tenant, subjectId, protocol, revision } = verdict
      const kind: SubjectKind = ofReplies.has(protocol) || verdict.id.startsWith(`${protocol}/reply`) ? 'reply' : 'post'
      const ref: ThreadRef = { tenant, postId: subjectId, kind }
      const key = subjectKey(ref)
      const subject = subjects.get(key) ?? { ref, last: new Map(), newestMessage: 0, owed: false }
      const before = subject.last.get(protocol)
      if (before !== undefined && before.revision >= revision) return
      const one: LastRevision = {
        protocol,
        revision,
        final: verdict.final,
        deleted: verdict.label === null && verdict.degraded.includes('deleted'),
        decidedAt: Date.parse(verdict.timing.decidedAt),
        seen: null,
      }
      const idUpToNumber = verdict.id.slice(0, verdict.id.lastIndexOf('~r') + 2)
      if (before !== undefined) byId.delete(`${idUpToNumber}${before.revision}`)
      byId.set(verdict.id, one)
      subject.last.set(protocol, one)
      subjects.set(key, subject)
    },
    see({ verdictId, subject, cut }: Pick<Transcript, 'verdictId' | 'subject' | 'cut'>): void {
      const of = byId.get(verdictId)
      const read = snapshot.safeParse(subject)
      if (of !== undefined && read.success) of.seen = seenIn(read.data, cut.length === 0)
    },
  }
}

export function subjectKey({ tenant, kind, postId }: ThreadRef): string {
  return `${tenant}/${kind}:${postId}`
}

/** When every protocol has said its last word on a subject, and when a store that lost nothing forgets it, ms since 1970. */
export function endOf({ last }: Pick<PublishedSubject, 'last'>, keep: KeepTimes): { end: number; forgotten: number } {
  const all = [...last.values()]
  const end = Math.max(...all.map(({ decidedAt }) => decidedAt))
  return { end, forgotten: end + (all.every((one) => one.deleted) ? keep.keepTombstoneMs : keep.keepThreadMs) }
}

/**
 * Whether a store that lost nothing would have let the subject go by now: every protocol has said its last word, and the time
 * after which that is forgotten has passed without a further message. What came later came to a subject that was forgotten.
 */
export function isOver(subject: PublishedSubject, keep: KeepTimes, now: number): boolean {
  const all = [...subject.last.values()]
  const { end, forgotten } = endOf(subject, keep)
  const quiet = all.every((one) => one.deleted) || subject.newestMessage <= end
  return !subject.owed && all.every(({ final }) => final) && forgotten < now && quiet
}

/** What a snapshot holds, as hashes; of one that was shortened, what shortening leaves. */
export function seenIn({ post, comments }: Snapshot, whole = true): Seen {
  return {
    post: whole ? hashOf(post) : null,
    comments: hashOf(comments.map(({ id }) => id)),
    all: whole ? hashOf([post, comments]) : null,
  }
}

/**
 * Whether a verdict that saw the one thing has nothing to add at the other. With `sealed`, for a final verdict that comments
 * do not open again, the post alone counts.
 */
export function nothingNew(before: Seen | null, now: Seen, sealed: boolean): boolean {
  if (before === null) return false
  if (sealed && before.post !== null) return before.post === now.post
  return before.all === null ? before.comments === now.comments : before.all === now.all
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 22)
}
