import { writtenIn } from '../../consumers/authors.ts'
import { deadLetterOf } from '../../producers/dead-letter.ts'
import { OUTCOMES, type Outcome } from '../contracts/facts/messages.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { StreamMark } from '../contracts/ports/threads.ts'
import type { GroupProgress } from '../contracts/ports/topic.ts'
import { advanceMark, UNREAD } from '../judging/threads/stream-clock.ts'
import { type AcceptedRanges, eachBatch, takenUpTo } from './input-topics.ts'
import { readDeadLetters } from './own-topics.ts'
import { subjectKey } from './published.ts'
import type { EndedSubject } from './revisions.ts'
import type { RecoveryRun } from './run.ts'

export interface RereadResult {
  readonly messages: number
  readonly outcomes: Readonly<Partial<Record<Outcome, number>>>
  /** The threads that accepted something, by subject key. */
  readonly touched: ReadonlyMap<string, ThreadRef>
}

/**
 * Processes again what was accepted. Skips messages of a subject from before it expired (`over`, by subject key), and messages
 * that have a dead letter. A comment that is judged by itself may outlive its post's verdict, but not its post. A dry run only
 * counts the messages.
 */
export async function readAgain(
  run: RecoveryRun,
  accepted: AcceptedRanges,
  progress: GroupProgress,
  over: ReadonlyMap<string, EndedSubject>,
): Promise<RereadResult> {
  const { marks, outbox, dryRun, routes } = run
  const isDead = await readDeadLetters(run)
  const seenMarks = new Map<string, StreamMark>([...(await marks.read())])
  const counts = new Map<Outcome, number>()
  const touched = new Map<string, ThreadRef>()
  let messages = 0
  const count = (outcome: Outcome, more: number) => counts.set(outcome, (counts.get(outcome) ?? 0) + more)

  await eachBatch(run, accepted, 'read again', async ({ valid, invalid }, handler, context) => {
    messages += valid.length + invalid.length
    for (const { from, message } of handler.clocked ? valid : []) {
      const partition = `${from.topic}/${from.partition}`
      seenMarks.set(partition, advanceMark(seenMarks.get(partition) ?? UNREAD, message.createdAt))
    }
    if (dryRun) return
    const endOf = (ref: ThreadRef) => over.get(subjectKey(ref))?.forgotten
    const isAfter = (ref: ThreadRef, at: number) => at > (endOf(ref) ?? Number.NEGATIVE_INFINITY)
    const wanted = valid.filter(({ message, from }) => {
      if (isDead(from)) return false
      const ref = handler.subjectOf(message)
      if (isAfter(ref, from.timestamp)) return true
      const comment = routes.takeComments ? handler.commentOf?.(context, message).ref : undefined
      return comment !== undefined && over.get(subjectKey(ref))?.deleted !== true && isAfter(comment, from.timestamp)
    })
    for (const { message } of wanted) {
      const ref = handler.subjectOf(message)
      touched.set(subjectKey(ref), ref)
    }
    await context.noteAuthors?.(writtenIn(handler, context, wanted))
    const again = { ...context, endOf }
    for (const outcome of await handler.handle(again, wanted, async () => {})) count(outcome, 1)
    const letters = invalid
      .filter(({ from }) => !isDead(from))
      .map(({ from, reason, detail }) => deadLetterOf(from, { reason, detail }))
    if (letters.length === 0) return
    await outbox.putDeadLetters(letters)
    count('dead-letter', letters.length)
  })
  if (!dryRun) await marks.write(await marksAtEnd(run, progress, seenMarks))
  const inOrder = OUTCOMES.flatMap((outcome) => {
    const found = counts.get(outcome)
    return found === undefined ? [] : [[outcome, found] as const]
  })
  return { messages, outcomes: Object.fromEntries(inOrder), touched }
}

/** Gives every clocked partition a mark, empty ones included, so that the stream's clock can advance. */
async function marksAtEnd(
  { history, input, clock }: RecoveryRun,
  progress: GroupProgress,
  read: ReadonlyMap<string, StreamMark>,
): Promise<Map<string, StreamMark>> {
  const now = clock()
  const all = new Map(read)
  for (const [topic, { clocked }] of input.handlers)
    for (const [partition, { to }] of clocked ? await history.rangesOf(topic, null) : []) {
      const at = `${topic}/${partition}`
      const done = takenUpTo(progress, topic, partition, to) >= to
      const before = all.get(at) ?? UNREAD
      all.set(at, {
        ...before,
        endSince: done ? (before.endSince ?? now) : null,
        seenAt: done ? now : before.seenAt,
      })
    }
  return all
}
