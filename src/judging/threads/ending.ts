import type { DecidedRevision } from '../../contracts/ports/decisions.ts'
import type { Origin } from '../../contracts/ports/threads.ts'
import { decidedOf } from './decision-rules.ts'
import { newThread, type Revision, type Thread, type ThreadStep } from './thread.ts'

// The twin of src/store/thread/delete-post.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/** The revision that retracts a protocol's verdicts on a deleted post. */
interface Retraction {
  readonly protocol: string
  readonly revision: number
  /** The number of the verdict that it follows on its topic: numbers between are those of proposals. */
  readonly superseded: number
  /** The case whose verdict a publisher already has: the retraction is sent after it. Null if there is none. */
  readonly after: string | null
}

/** A human verdict that ended with its subject. */
export interface EndedDecision extends DecidedRevision {
  readonly protocol: string
}

/**
 * Deletes the post: only a tombstone is left, which rejects everything that arrives later. `inFlight` are by
 * protocol the cases whose last verdict a publisher already has.
 */
export function deletePost(
  thread: Thread,
  { inFlight }: { inFlight: ReadonlyMap<string, string> },
): ThreadStep<
  { kind: 'duplicate' } | { kind: 'deleted'; retractions: readonly Retraction[]; ended: readonly EndedDecision[] }
> {
  if (thread.status === 'deleted') return { thread, outcome: { kind: 'duplicate' } }
  const protocols = new Set([
    ...thread.revisions.keys(),
    ...[...thread.decided].flatMap(([name, { top }]) => (top === null ? [] : [name])),
  ])
  const retractions = [...protocols].map((protocol) => {
    const { stands, revision: top } = decidedOf(thread, protocol)
    const { revision = 0, openId = null, published = 0 } = thread.revisions.get(protocol) ?? {}
    const last = Math.max(revision, top)
    const isProposed = openId === null && published > 0
    const superseded = stands !== null ? top : isProposed ? Math.min(last, Math.max(published, top)) : last
    return { protocol, revision: last + 1, superseded, after: inFlight.get(protocol) ?? null }
  })
  const ended = [...thread.decided].flatMap(([protocol, one]) => (one.stands === null ? [] : [{ ...one, protocol }]))
  const revisions = retractions.map(({ protocol, revision, after }): [string, Revision] => [
    protocol,
    { revision, seen: 0, final: true, openId: after, again: false, carry: null },
  ])
  return {
    thread: { ...newThread(thread.ref), status: 'deleted', revisions: new Map(revisions) },
    outcome: { kind: 'deleted', retractions, ended },
  }
}

/**
 * Forgets the thread if its post has not arrived in time; the outcome names the origin of each of its comments. A
 * thread whose post has arrived is kept; one that is deleted, or that nobody judges, is no longer due.
 */
export function expireOrphans(thread: Thread): ThreadStep<{ expired: readonly Origin[] }, Thread | null> {
  if (thread.status === 'deleted' || thread.status === 'unrouted')
    return { thread: { ...thread, due: null }, outcome: { expired: [] } }
  if (thread.post !== null) return { thread, outcome: { expired: [] } }
  return { thread: null, outcome: { expired: [...thread.orphans.values()] } }
}
