import type { ThreadRef } from './thread.ts'

/** What a verdict's id is made of. */
export interface VerdictIdParts {
  readonly protocol: string
  readonly tenant: string
  readonly subjectId: string
  readonly revision: number
  /** Cross-kind: a reply among the subjects of a protocol that judges posts. */
  readonly crossKind?: boolean
  readonly asked?: boolean
  /** Of a comment: its post. */
  readonly postId?: string
}

/**
 * The verdict's id, and the case's: `rumor~POSTID~r2`; outside the default tenant `rumor@TENANT~POSTID~r2`; where a protocol
 * that judges posts judges a reply as well, `hate/reply~REPLYID~r1`; of what was asked apart from the stream
 * `hate/asked~REQUEST~r1` (neither a protocol's name nor a tenant's holds `@`, `/` or `~`, so no two subjects share an id); of a
 * comment `hate/comment~POSTID~COMMENTID~r1`, in whose ids `~` and `%` are percent-encoded.
 */
export function verdictId(of: VerdictIdParts): string {
  return `${verdictScope(of)}${of.revision}`
}

/** How people read which subject it is: a comment with its post. */
export function nameIn(ref: Pick<ThreadRef, 'postId' | 'kind'>): string {
  return nameOfSubject(namedIn(ref))
}

/** The same of a subject as verdicts name it. */
export function nameOfSubject({ subjectId, postId }: { subjectId: string; postId?: string | undefined }): string {
  return postId === undefined ? subjectId : `${subjectId} (of ${postId})`
}

/** The key of the comment that people name so; null where that is no comment's name. */
export function keyNamed(name: string): string | null {
  const [, id, postId] = /^(.+) \(of (.+)\)$/s.exec(name) ?? []
  return id === undefined || postId === undefined ? null : commentKey(postId, id)
}

/** The key of what is published of a subject: of a comment its post's id. */
export function recordKeyOf(ref: Pick<ThreadRef, 'postId' | 'kind'>): string {
  const { subjectId, postId = subjectId } = namedIn(ref)
  return postId
}

/** What the ids of a subject's verdicts by one protocol have before their number. */
export function verdictScope(of: Omit<VerdictIdParts, 'revision'>): string {
  const { protocol, tenant, subjectId, postId } = of
  const kind = of.asked === true ? '/asked' : of.crossKind === true ? '/reply' : postId === undefined ? '' : '/comment'
  const scope = tenant === 'default' ? `${protocol}${kind}` : `${protocol}${kind}@${tenant}`
  return `${scope}~${postId === undefined ? subjectId : commentKey(postId, subjectId)}~r`
}

/** A comment as a subject of its own, by its post's id and its own: comments' ids are unique within their thread alone. */
export function commentKey(postId: string, id: string): string {
  return `${percentEncoded(postId)}~${percentEncoded(id)}`
}

/** The keys of all comments of a post, by their bytes: from the first on, and before the last. */
export function commentKeysOf(postId: string): readonly [first: string, last: string] {
  const prefix = commentKey(postId, '')
  return [prefix, `${prefix.slice(0, -1)}\x7f`]
}

/** A comment's own id and its post's, by its key. */
export function idsInCommentKey(key: string): { readonly subjectId: string; readonly postId: string } {
  return commentIn(key) ?? { subjectId: key, postId: '' }
}

/** The post that a comment stands under. */
export function postOfComment({ tenant, postId }: ThreadRef): ThreadRef {
  return { tenant, postId: idsInCommentKey(postId).postId, kind: 'post' }
}

/** How a verdict names its subject: a comment beside its post, anything else by its id alone. */
export function namedIn({ postId, kind }: Pick<ThreadRef, 'postId' | 'kind'>): {
  readonly subjectId: string
  readonly postId?: string
} {
  return kind === 'comment' ? idsInCommentKey(postId) : { subjectId: postId }
}

/** The id of a proposal in the place of a verdict: `rumor~POSTID~p3`. No verdict has it. */
export function proposalIdFor(verdict: string): string {
  return verdict.replace(/~r(\d+)$/, '~p$1')
}

/** The id of another revision of the same subject by the same protocol. */
export function otherRevision(id: string, revision: number): string {
  return id.replace(/~r\d+$/, `~r${revision}`)
}

/** A verdict's id, a case's or a proposal's, read. */
export interface ReadVerdictId {
  readonly protocol: string
  readonly tenant: string
  /** The kind of its subject beside the protocol's own, by its word: `reply`, `asked`, `comment` or a later one. */
  readonly kind: string | null
  readonly subjectId: string
  /** Of a comment: its post. */
  readonly postId?: string
  /** All before its number. */
  readonly scope: string
  readonly number: number
  /** The number is a proposal's, and no verdict's. */
  readonly isProposal: boolean
}

/** What an id says, as {@link verdictId} and {@link proposalIdFor} make it; null if neither made it. */
export function readVerdictId(id: string): ReadVerdictId | null {
  const [, scope, protocol, kind = null, tenant = 'default', subject, series, number] =
    /^(([^~@/]*)(?:\/([a-z]+))?(?:@([^~]*))?~(.*)~([rp]))(\d+)$/s.exec(id) ?? []
  if (scope === undefined || protocol === undefined || subject === undefined) return null
  const named = kind === 'comment' ? commentIn(subject) : { subjectId: subject }
  if (named === null) return null
  return { protocol, tenant, kind, ...named, scope, number: Number(number), isProposal: series === 'p' }
}

function commentIn(subject: string): { postId: string; subjectId: string } | null {
  const [postId, subjectId, ...more] = subject.split('~').map(decoded)
  return postId === undefined || subjectId === undefined || more.length > 0 ? null : { postId, subjectId }
}

/** An id beside another one in a verdict's id. */
function percentEncoded(id: string): string {
  return id.replaceAll('%', '%25').replaceAll('~', '%7E')
}

function decoded(id: string): string {
  return id.replaceAll('%7E', '~').replaceAll('%25', '%')
}

/** The revision that a verdict's id or a case's ends with; null for any other id, a proposal's too. */
export function revisionIn(id: string): number | null {
  const read = readVerdictId(id)
  return read === null || read.isProposal ? null : read.number
}

/** The protocol and the tenant that a verdict's or a case's id names; no protocol if it is none. */
export function scopeOf(id: string): { protocol: string; tenant: string } {
  const { protocol = '', tenant = 'default' } = readVerdictId(id) ?? {}
  return { protocol, tenant }
}

/** Whether a verdict's id names a reply among the subjects of a protocol that judges posts. */
export function isCrossKind(id: string): boolean {
  return readVerdictId(id)?.kind === 'reply'
}

/**
 * The thread that a verdict, a proposal or a transcript is about, by its id; null where that is a subject of a later version, or
 * where the id is none.
 */
export function threadIn(id: string, ofReplies: ReadonlySet<string>): ThreadRef | null {
  const read = readVerdictId(id)
  if (read === null) return null
  const { protocol, tenant, kind, subjectId, postId } = read
  if (kind === null) return { tenant, postId: subjectId, kind: ofReplies.has(protocol) ? 'reply' : 'post' }
  if (kind === 'reply') return { tenant, postId: subjectId, kind }
  return kind === 'comment' && postId !== undefined ? { tenant, postId: commentKey(postId, subjectId), kind } : null
}

/** The thread that a verdict or a proposal is about: as {@link threadIn} of its id, by what it says itself where that names it whole. */
export function threadOf(
  { id, tenant, subjectId }: { readonly id: string; readonly tenant: string; readonly subjectId: string },
  ofReplies: ReadonlySet<string>,
): ThreadRef | null {
  const thread = threadIn(id, ofReplies)
  return thread === null || thread.kind === 'comment' ? thread : { tenant, postId: subjectId, kind: thread.kind }
}

/** The request apart from the stream that a verdict's or a case's id names, and whose it is; null for any other id. */
export function requestIn(id: string): { protocol: string; tenant: string; request: string } | null {
  const read = readVerdictId(id)
  if (read?.kind !== 'asked' || read.isProposal || read.subjectId.includes('~')) return null
  return { protocol: read.protocol, tenant: read.tenant, request: read.subjectId }
}
