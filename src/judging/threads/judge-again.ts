import type { AgainOutcome, AgainRequest, KnownRevision } from '../../contracts/ports/judge-again.ts'
import type { RememberedThread } from '../../contracts/ports/threads.ts'
import { dueNow, newThread, type Revision, type Thread, type ThreadStep } from './thread.ts'

// The twin of src/store/redis/include/ask-again.lua: a change here is a change there. Random histories compare them (test/judging/threads).

/**
 * Has protocols judge the thread once more, each if the revision that it is to follow is its last one: nothing then counts as
 * seen by that revision. A case whose verdict is on its way out is followed by the next.
 */
export function askAgain(thread: Thread, asked: readonly AgainRequest[], now: number): ThreadStep<AgainOutcome[]> {
  const revisions = new Map(thread.revisions)
  let wakes = false
  const outcome = asked.map(({ protocol, revision }): AgainOutcome => {
    if (thread.status === 'deleted') return 'deleted'
    if (thread.post === null) return 'forgotten'
    const last = revisions.get(protocol)
    if (last?.revision !== revision) return 'newer'
    wakes ||= last.openId === null
    revisions.set(protocol, { ...last, seen: -1, again: last.again || last.openId !== null })
    return 'due'
  })
  const after = outcome.includes('due') ? { ...thread, revisions } : thread
  return { thread: wakes ? dueNow(after, now) : after, outcome }
}

/** What was not asked for within this time may be made up for at once, in ms. */
export const MADE_UP_MS = 1_000

/** When the next verdicts may be asked for, where their turn would be at `next`; all in ms. */
export function turnAt(next: number, now: number): number {
  return Math.max(next, now - MADE_UP_MS)
}

/** Puts a thread back as its messages have made it elsewhere, and has protocols judge it once more. */
export function revive(
  thread: Thread,
  remembered: RememberedThread,
  again: {
    readonly asked: readonly AgainRequest[]
    readonly known: readonly KnownRevision[]
    readonly readVersion: number | null
  },
  now: number,
): ThreadStep<readonly AgainOutcome[]> {
  const all = (outcome: AgainOutcome) => ({ thread, outcome: again.asked.map(() => outcome) })
  if (thread.status === 'deleted') return all('deleted')
  const version = thread.version === 0 ? null : thread.version
  if (thread.post !== null || version !== again.readVersion) return all('changed')
  const revisions = new Map(
    again.known
      .filter(({ revision }) => revision > 0)
      .map(({ protocol, revision, seen, final }): [string, Revision] => [
        protocol,
        { revision, seen, final, openId: null, again: false, carry: null },
      ]),
  )
  if (!again.asked.some(({ protocol, revision }) => revisions.get(protocol)?.revision === revision)) return all('newer')
  const { postOnly, ...known } = remembered
  const back: Thread = {
    ...newThread(thread.ref),
    ...known,
    status: postOnly ? 'post-only' : 'threaded',
    judges: again.asked.length,
    revisions,
  } as const
  return askAgain(back, again.asked, now)
}
