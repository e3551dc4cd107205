import type { Origin } from '../ports/threads.ts'
import { newThread, type Revision, type Step, type Thread } from './thread.ts'

/** The revision that retracts a protocol's verdicts on a deleted post. */
interface Retraction {
  readonly protocol: string
  readonly revision: number
  /** The case whose verdict a publisher already has: the retraction is sent after it. Null if there is none. */
  readonly after: string | null
}

/**
 * Deletes the post: only a tombstone is left, which rejects everything that arrives later. `inFlight` are the protocols
 * whose last verdict a publisher already has.
 */
export function deletePost(
  thread: Thread,
  { inFlight }: { inFlight: ReadonlySet<string> },
): Step<{ kind: 'duplicate' } | { kind: 'deleted'; retractions: readonly Retraction[] }> {
  if (thread.status === 'deleted') return { thread, outcome: { kind: 'duplicate' } }
  const retractions = [...thread.revisions].map(([protocol, { revision, openId }]) => ({
    protocol,
    revision: revision + 1,
    after: inFlight.has(protocol) ? openId : null,
  }))
  const revisions = retractions.map(({ protocol, revision, after }): [string, Revision] => [
    protocol,
    { revision, seen: 0, final: true, openId: after, again: false, carry: null },
  ])
  return {
    thread: { ...newThread(thread.ref), status: 'deleted', revisions: new Map(revisions) },
    outcome: { kind: 'deleted', retractions },
  }
}

/**
 * Forgets the thread if its post has not arrived in time; the outcome says where each of its comments came from. A
 * thread whose post has arrived is kept; one that is deleted, or that nobody judges, is no longer due.
 */
export function expireOrphans(thread: Thread): Step<{ expired: readonly Origin[] }, Thread | null> {
  if (thread.status === 'deleted' || thread.status === 'unrouted')
    return { thread: { ...thread, due: null }, outcome: { expired: [] } }
  if (thread.post !== null) return { thread, outcome: { expired: [] } }
  return { thread: null, outcome: { expired: [...thread.orphans.values()] } }
}
