import { eraseRulings, noteDecisionPublished, restoredOnTheWay } from './decision-rules.ts'
import type { Revision, Thread, ThreadStep } from './thread.ts'
import { dueNow } from './thread.ts'

// The twin of src/store/redis/include/revisions.lua and src/store/outbox/done.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/** A case of the thread, as the thread's revisions name it. */
interface OfCase {
  readonly protocol: string
  readonly caseId: string
}

/** What a concluded case leaves to the next revision. */
export function leaveCarry(thread: Thread, { protocol, carry }: { protocol: string; carry: unknown }): Thread {
  return withRevision(thread, protocol, { carry })
}

/** The protocol's case ended without having judged the thread: it is due again when that has been published. */
export function leaveUnjudged(thread: Thread, { protocol, caseId }: OfCase): Thread {
  if (thread.revisions.get(protocol)?.openId !== caseId) return thread
  return withRevision(thread, protocol, { again: true, seen: 0 })
}

/**
 * A verdict was published, or a publisher has finished with one that was erased while it had it: the protocol may open
 * its next revision, and if it became due meanwhile, it is due at once.
 */
export function publish(
  given: Thread,
  { protocol, caseId, number, now }: OfCase & { readonly number: number | null; readonly now: number },
): Thread {
  const noted = noteNumber(given, protocol, number)
  const thread = noteDecisionPublished(noted, { protocol, caseId })
  const revision = thread.revisions.get(protocol)
  const wasOpen = revision?.openId === caseId
  if (revision === undefined || (!wasOpen && thread === noted)) return thread
  if (!wasOpen && revision.openId !== null) return thread
  const freed = withRevision(thread, protocol, { openId: null, again: false })
  return revision.again ? dueNow(freed, now) : freed
}

/** The number of a published verdict; null for a proposal, which has none. */
function noteNumber(thread: Thread, protocol: string, number: number | null): Thread {
  const published = thread.revisions.get(protocol)?.published ?? 0
  return number === null || number <= published ? thread : withRevision(thread, protocol, { published: number })
}

/**
 * Whether a case may restart on a thread that was read at this version: the thread has not changed, and the case is
 * still its protocol's.
 */
export function mayRestart(thread: Thread, { protocol, caseId, version }: OfCase & { version: number }): boolean {
  return thread.version === version && thread.revisions.get(protocol)?.openId === caseId
}

/**
 * Restarts a case of the thread. `seen` is null if this process can't tell what the case sees: the noted
 * version is kept.
 */
export function restart(thread: Thread, { protocol, seen }: { protocol: string; seen: number | null }): Thread {
  return seen === null ? thread : withRevision(thread, protocol, { seen })
}

/**
 * Erases a verdict that a publisher already has: when the publisher has finished, the next revision is judged, without
 * a carry.
 */
export function eraseInFlight(thread: Thread, { protocol }: { protocol: string }): Thread {
  return withRevision(eraseRulings(thread, protocol), protocol, { again: true, carry: null })
}

/**
 * Erases deleted comments from every carry, and all rulings, unless a case is open that the caller doesn't know: it may have been opened
 * with one of them. Where a ruling is on its way out again, its subject is judged anew.
 */
export function eraseCarries(
  given: Thread,
  left: { openIds: readonly string[]; without: (protocol: string, carry: unknown) => unknown; now: number },
): ThreadStep<'erased' | 'opened'> {
  const thread = eraseRulings(given)
  // What a comment is shown with is read from other threads, before its first case too, and so are twins' comments.
  const isShown = (thread.ref.kind === 'comment' || thread.story !== null) && thread.post !== null
  if (thread.status === 'deleted' || (thread.revisions.size === 0 && !isShown)) return { thread, outcome: 'erased' }
  const unknown = [...thread.revisions.values()].some(({ openId }) => openId !== null && !left.openIds.includes(openId))
  if (unknown) return { thread, outcome: 'opened' }
  const restored = restoredOnTheWay(thread)
  const revisions = [...thread.revisions].map(([protocol, revision]): [string, Revision] => {
    const carry = revision.carry === null ? null : (left.without(protocol, revision.carry) ?? null)
    return [protocol, { ...revision, carry, ...(restored.has(protocol) ? { seen: -1 } : {}) }]
  })
  const before = [...thread.revisions.values()]
  const changed = revisions.some(([, { carry }], at) => JSON.stringify(carry) !== JSON.stringify(before[at]?.carry))
  // No case opens with a carry, or with what a comment is shown with, that was read before.
  const deletions = thread.deletions + (changed || isShown ? 1 : 0)
  const erased = { ...thread, revisions: new Map(revisions), deletions }
  return { thread: restored.size > 0 && thread.post !== null ? dueNow(erased, left.now) : erased, outcome: 'erased' }
}

function withRevision(thread: Thread, protocol: string, change: Partial<Revision>): Thread {
  const revision = thread.revisions.get(protocol)
  if (revision === undefined) return thread
  return { ...thread, revisions: new Map(thread.revisions).set(protocol, { ...revision, ...change }) }
}
