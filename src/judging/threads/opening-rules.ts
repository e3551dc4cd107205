import type { ThreadState, ThreadStore } from '../../contracts/ports/threads.ts'
import { decidedOf } from './decision-rules.ts'
import type { Revision, Thread, ThreadStep } from './thread.ts'

// The twin of src/store/thread/open-cases.lua: a change here is a change there. Random histories compare them (test/judging/threads).

type Opening = Parameters<ThreadStore['open']>[1]

interface Opened {
  /** Ids of the opened cases. */
  readonly opened: readonly string[]
  /** Protocols that are paused, or off here: the thread becomes due when one of them is on again. */
  readonly waitsFor: readonly string[]
}

const NEVER_OPENED: Revision = { revision: 0, seen: 0, final: false, openId: null, again: false, carry: null }

/**
 * Opens cases on a thread as it was read, one per protocol and revision, and moves its due time to the next checkpoint.
 * What became due since it was read stays due.
 */
export function openCases(
  thread: Thread,
  { read, opening, paused }: { read: ThreadState; opening: Opening; paused: ReadonlySet<string> },
): ThreadStep<Opened> {
  if (!mayOpen(thread, read, opening)) return { thread, outcome: { opened: [], waitsFor: [] } }
  const absent = (opening.absent ?? []).filter(
    (protocol) => !isOpen(thread, protocol) && isNews(thread, protocol, read),
  )
  const behind = [...opening.waiting, ...(opening.absent ?? [])].filter((protocol) => isOpen(thread, protocol))
  const dormant = opening.dormant.filter((protocol) => paused.has(protocol))
  const { revisions, opened, busy } = openRevisions(thread, behind, opening.cases)
  const after: Thread = {
    ...thread,
    revisions,
    absent: new Map([...thread.absent, ...absent.map((protocol) => [protocol, read.version] as const)]),
    dormantFor: [...new Set([...thread.dormantFor, ...dormant])].sort(),
    // A protocol whose case was still open has not judged the final snapshot yet.
    final: thread.final || (opening.final && !busy),
  }
  // A verdict was published, or a protocol resumed, after the thread was read: keep the thread due for that protocol.
  const missed =
    opening.waiting.some((protocol) => !isOpen(thread, protocol)) || dormant.length < opening.dormant.length
  return {
    thread: missed || thread.generation !== read.generation ? after : observed(after, opening.nextDue),
    outcome: { opened, waitsFor: [...dormant, ...absent] },
  }
}

function mayOpen(thread: Thread, read: ThreadState, { nextDue }: Opening): boolean {
  if (thread.status === 'deleted' || thread.post === null) return false
  // A comment was deleted after the thread was read: no case may open on it.
  if (thread.deletions !== read.deletions) return false
  // After its last due time nobody looks at the thread again: changes since it was read would never be judged.
  return nextDue !== null || thread.version === read.version
}

/** Its case is, or a verdict that people brought about is on its way out. */
function isOpen(thread: Thread, protocol: string): boolean {
  return (thread.revisions.get(protocol)?.openId ?? null) !== null || decidedOf(thread, protocol).deciding !== null
}

/**
 * True only once for each change: otherwise processes with different protocols switched on would wake each other
 * forever.
 */
function isNews({ absent }: Thread, protocol: string, { version }: ThreadState): boolean {
  return absent.get(protocol) !== version
}

/** Opens the cases that follow the last revision; a protocol with an open case is judged again after that one. */
function openRevisions(
  thread: Thread,
  behind: readonly string[],
  cases: Opening['cases'],
): { revisions: Map<string, Revision>; opened: string[]; busy: boolean } {
  const revisions = new Map(thread.revisions)
  const opened: string[] = []
  let busy = false
  // A question is opened once: its words go with its last verdict, whoever else opened it beside.
  const again = thread.ref.kind !== 'asked'
  for (const protocol of again ? behind : [])
    revisions.set(protocol, { ...(revisions.get(protocol) ?? NEVER_OPENED), again: true })
  for (const { record, seen } of cases) {
    const { protocol, id, revision, final } = record
    const before = revisions.get(protocol) ?? NEVER_OPENED
    if (before.openId !== null || isOpen(thread, protocol)) {
      if (again) revisions.set(protocol, { ...before, again: true })
      busy = true
    } else if (before.revision === revision - 1) {
      revisions.set(protocol, { ...before, revision, seen, final, openId: id })
      opened.push(id)
    }
  }
  return { revisions, opened, busy }
}

/** Everything that was due has been opened: the thread is due again at its next age checkpoint, if there is one. */
function observed(thread: Thread, nextDue: number | null): Thread {
  return { ...thread, due: nextDue, nextAge: nextDue, dueSince: null, observedGeneration: thread.generation }
}
