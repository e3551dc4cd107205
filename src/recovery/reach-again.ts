import { reachMessage } from '../contracts/facts/action-messages.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import { aheadByReach } from '../judging/threads/head-start.ts'
import { everyRecord } from './own-topics.ts'
import { subjectKey } from './published.ts'
import { type RecoveryRun, sideBySide } from './run.ts'

/**
 * Gives posts that were read again, and those that are yet to come, the reach that messages have told of. The topic is read
 * whole: a reach only rises, so one that is told twice changes nothing.
 */
export async function raiseReachAgain(run: RecoveryRun, touched: ReadonlyMap<string, ThreadRef>): Promise<void> {
  const { threads, topics, input, clock } = run
  const { orphanWait } = input.context.rules
  const remembered = clock() - orphanWait
  const reached = new Map<string, { readonly ref: ThreadRef; readonly reach: number }>()
  await everyRecord(run, topics.reach, (json, { timestamp }) => {
    const read = reachMessage.safeParse(json)
    if (!read.success) return
    const { tenant, postId, reach } = read.data
    const ref: ThreadRef = { tenant, postId, kind: 'post' }
    const key = subjectKey(ref)
    const isWanted = touched.has(key) || timestamp > remembered
    if (isWanted && reach > (reached.get(key)?.reach ?? 0)) reached.set(key, { ref, reach })
  })
  await sideBySide(run, [...reached.values()], topics.reach, async ({ ref, reach }) => {
    await threads.raiseReach(ref, aheadByReach(reach), { keepMs: orphanWait, now: clock() })
  })
}
