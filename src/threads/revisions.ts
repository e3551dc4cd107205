import { dueNow } from './due.ts'
import type { Revision, Step, Thread } from './thread.ts'

/** A case of the thread, as it is named in the thread's revisions. */
interface OfCase {
  readonly protocol: string
  readonly caseId: string
}

/** What a case that was concluded leaves to the next revision. */
export function leaveCarry(thread: Thread, { protocol, carry }: { protocol: string; carry: unknown }): Thread {
  return withRevision(thread, protocol, { carry })
}

/**
 * A verdict was published, or a publisher is done with one that was erased while it had it in hand: the protocol may open its
 * next revision, and what fell due meanwhile is due at once.
 */
export function publish(thread: Thread, { protocol, caseId, now }: OfCase & { now: number }): Thread {
  const revision = thread.revisions.get(protocol)
  if (revision?.openId !== caseId) return thread
  const freed = withRevision(thread, protocol, { openId: null, again: false })
  return revision.again ? dueNow(freed, now) : freed
}

/** Whether a case may restart on a thread that was read at this version: it is still that, and the case still its protocol's. */
export function mayRestart(thread: Thread, { protocol, caseId, version }: OfCase & { version: number }): boolean {
  return thread.version === version && thread.revisions.get(protocol)?.openId === caseId
}

/** A case restarts on the thread as it is. `seen` is null where this process can't tell what it sees: that stays as noted. */
export function restart(thread: Thread, { protocol, seen }: { protocol: string; seen: number | null }): Thread {
  return seen === null ? thread : withRevision(thread, protocol, { seen })
}

/** A verdict is erased that a publisher has in hand: once that is done, the next revision is judged, and without its carry. */
export function eraseInFlight(thread: Thread, { protocol }: { protocol: string }): Thread {
  return withRevision(thread, protocol, { again: true, carry: null })
}

/** Erases deleted comments from every carry; not while a case is open that the caller doesn't know: it may have been given one. */
export function eraseCarries(
  thread: Thread,
  left: { openIds: readonly string[]; without: (protocol: string, carry: unknown) => unknown },
): Step<'erased' | 'opened'> {
  if (thread.status === 'deleted' || thread.revisions.size === 0) return { thread, outcome: 'erased' }
  const unknown = [...thread.revisions.values()].some(({ openId }) => openId !== null && !left.openIds.includes(openId))
  if (unknown) return { thread, outcome: 'opened' }
  const revisions = [...thread.revisions].map(([protocol, revision]): [string, Revision] => {
    const carry = revision.carry === null ? null : (left.without(protocol, revision.carry) ?? null)
    return [protocol, { ...revision, carry }]
  })
  return { thread: { ...thread, revisions: new Map(revisions) }, outcome: 'erased' }
}

function withRevision(thread: Thread, protocol: string, change: Partial<Revision>): Thread {
  const revision = thread.revisions.get(protocol)
  if (revision === undefined) return thread
  return { ...thread, revisions: new Map(thread.revisions).set(protocol, { ...revision, ...change }) }
}
