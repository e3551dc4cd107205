import { entryOf } from '../../contracts/facts/entry-of.ts'
import { byTimeThenId, type Comment, comment, post, type ThreadRef } from '../../contracts/facts/thread.ts'
import type { ThreadOutline, ThreadState } from '../../contracts/ports/threads.ts'
import { TOMBSTONE } from '../../judging/threads/thread-bytes.ts'

const keptComment = comment.omit({ id: true })

/** A Redis hash. */
export type Fields = Readonly<Record<string, string>>

/**
 * A thread parsed from its hash and its comments' hash; null if there is none, if it was deleted, or if no protocol
 * judges it.
 */
export function stateOf(ref: ThreadRef, fields: Fields, said: Fields): ThreadState | null {
  if (Object.keys(fields).length === 0 || fields.deleted !== undefined || fields.unrouted !== undefined) return null
  const comments = Object.entries(said)
    .filter(([, json]) => json !== TOMBSTONE)
    .map(([id, json]): Comment => ({ id, ...keptComment.parse(JSON.parse(json)) }))
    .sort(byTimeThenId)
  return {
    ref,
    post: fields.post === undefined ? null : post.parse(JSON.parse(fields.post)),
    comments,
    accepted: Number(fields.accepted ?? 0),
    overAuthor: Number(fields.overAuthor ?? 0),
    rekeyed: fields.rekeyed !== undefined,
    late: Number(fields.late ?? 0),
    missing: Number(fields.missing ?? 0),
    version: Number(fields.version ?? 0),
    postVersion: Number(fields.postVersion ?? 0),
    deletions: Number(fields.deletions ?? 0),
    base: Number(fields.base ?? 0),
    nextAge: fields.nextAge === undefined ? null : Number(fields.nextAge),
    countStage: Number(fields.countStage ?? 0),
    final: fields.final !== undefined,
    expired: fields.expired !== undefined,
    generation: Number(fields.generation ?? 0),
    observedGeneration: Number(fields.observedGeneration ?? 0),
    dueSince: fields.dueSince === undefined ? null : Number(fields.dueSince),
    dormantFor: Object.keys(fields)
      .flatMap((field) => (field.startsWith('dormant:') ? [field.slice('dormant:'.length)] : []))
      .sort(),
    revisions: revisionsOf(fields),
  }
}

/** What stands of a thread but its words, by the same rules. */
export function outlineOf(ref: ThreadRef, fields: Fields, kept: number): ThreadOutline | null {
  const state = stateOf(ref, fields, {})
  return state === null ? null : { ...state, kept }
}

/** A thread's revisions by protocol, parsed from its hash. */
export function revisionsOf(fields: Fields): ThreadState['revisions'] {
  const protocols = Object.keys(fields).flatMap((field) => (field.startsWith('rev:') ? [field.slice(4)] : []))
  return new Map(
    protocols.map((protocol) => {
      const carry = fields[`carry:${protocol}`]
      return [
        protocol,
        {
          revision: Number(fields[`rev:${protocol}`]),
          ...publishedOf(fields[`last:${protocol}`]),
          seen: Number(fields[`seen:${protocol}`] ?? 0),
          final: fields[`final:${protocol}`] === '1',
          openId: fields[`open:${protocol}`] ?? null,
          carry: carry === undefined ? null : (JSON.parse(carry) as unknown),
        },
      ]
    }),
  )
}

function publishedOf(last: string | undefined): { published?: number } {
  return last === undefined ? {} : { published: Number(last) }
}

/**
 * The number of the verdict that follows a protocol's last revision on its topic: that of the revision, unless it ended as a proposal,
 * or would have. `numbers` are those of published verdicts, which outlive the thread.
 */
export function supersededBy(
  protocol: string,
  revision: number,
  { fields, numbers, decided }: { fields: Fields; numbers: Fields; decided: Fields },
): number {
  const top = Number(decided[`rev:${protocol}`] ?? 0)
  if (decided[`id:${protocol}`] !== undefined) return top
  const known = revisionsOf(fields).get(protocol)
  if (known === undefined) return Math.max(Number(entryOf(numbers, protocol) ?? 0), top)
  const { openId, published = 0 } = known
  return openId === null && published > 0 ? Math.min(revision, Math.max(published, top)) : revision
}

/**
 * The highest number that each protocol has given, to a revision or a proposal, even if the thread was forgotten (`published`: the
 * numbers that outlive it; `decided`: what people decided of it).
 */
export function lastRevisions(fields: Fields, published: Fields, decided: Fields): ReadonlyMap<string, number> {
  const last = new Map([...revisionsOf(fields)].map(([protocol, { revision }]) => [protocol, revision]))
  const beneath = Object.entries(decided).flatMap(([field, number]): [string, string][] => {
    const [, protocol] = /^(?:rev|proposal):(.+)$/.exec(field) ?? []
    return protocol === undefined ? [] : [[protocol, number]]
  })
  for (const [protocol, revision] of [...Object.entries(published), ...beneath])
    last.set(protocol, Math.max(last.get(protocol) ?? 0, Number(revision)))
  return last
}
