import { MAX_RAW_BYTES } from '../producers/dead-letter.ts'
import { type CommentMessage, commentMessage, type Outcome } from '../src/contracts/facts/messages.ts'
import type { ThreadRef } from '../src/contracts/facts/thread.ts'
import type { CommentChange, ThreadRules } from '../src/contracts/ports/threads.ts'
import type { BackgroundRunner, Heartbeat, IncomingMessage } from '../src/contracts/ports/topic.ts'
import { keptComment } from '../src/judging/threads/kept.ts'
import type { IntakeContext, TopicHandler } from './intake.ts'
import { commentSubject, isOver, judgeComments } from './judged-comments.ts'
import { placeOf, type ValidMessage } from './read-message.ts'
import { OVER_SHARE, refuseMessages } from './refused-messages.ts'

/** Most comments of one thread written in one atomic step: enough to be fast, few enough not to block Redis. */
const WRITTEN_AT_ONCE = 500

/** Comments join their threads, all of one thread's in a batch together. */
export const comments: TopicHandler<CommentMessage> = {
  schema: commentMessage,
  clocked: true,
  subjectOf,
  itselfIn: commentSubject,
  postOf: () => null,
  commentOf: ({ rules }, message) => ({
    ref: commentSubject(message),
    post: message.deleted === true ? null : keptComment(message, rules),
  }),
  handle: handleComments,
}

async function handleComments(
  context: IntakeContext,
  read: readonly ValidMessage<CommentMessage>[],
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<Outcome[]> {
  const outcomes = new Map<ValidMessage<CommentMessage>, Outcome>()
  const byThread = Map.groupBy(read, ({ message }) => `${message.tenant}:${message.postId}`)
  await Promise.all(
    [...byThread.values()].map(async (group) => {
      for (let start = 0; start < group.length; start += WRITTEN_AT_ONCE) {
        const some = group.slice(start, start + WRITTEN_AT_ONCE)
        const given = await putComments(context, some, heartbeat, runInBackground)
        for (const [index, one] of some.entries()) outcomes.set(one, requireOutcome(given[index]))
      }
    }),
  )
  return read.map((one) => requireOutcome(outcomes.get(one)))
}

/** Takes comments of one thread: they join it, and those that a route takes are judged by themselves. */
async function putComments(
  context: IntakeContext,
  read: readonly ValidMessage<CommentMessage>[],
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<readonly Outcome[]> {
  const [first] = read
  if (first === undefined) return []
  const ref = subjectOf(first.message)
  // A thread that ended before these are read again keeps none of them.
  const joining = read.filter(({ from }) => !isOver(context, ref, from))
  const joined = await joinThread(context, ref, joining, heartbeat, runInBackground)
  const ofThread = new Map(joining.map((one, at) => [one, joined[at]]))
  const outcomes = read.map((one) => ofThread.get(one) ?? 'late')
  return judgeComments(context, read, outcomes, heartbeat, runInBackground)
}

/** Puts comments of one thread into the store, and has deleted ones erased. */
async function joinThread(
  context: IntakeContext,
  ref: ThreadRef,
  read: readonly ValidMessage<CommentMessage>[],
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<readonly Outcome[]> {
  if (read.length === 0) return []
  const { threads, rules, erasures, clock, reached, mostHeld } = context
  const changes = read.map(({ message, from }) => ({ ...changeOf(message, from, rules), reached }))
  const given = await threads.putComments(ref, changes, clock(), rules, mostHeld())
  const refused = read.flatMap(({ from }, at) => (given[at] === 'over-share' ? [from] : []))
  await refuseMessages(context, refused, OVER_SHARE)
  // A deletion that is not remembered (`late`) is of what never came: nobody was asked about it.
  const deleted = changes.flatMap((change, at) =>
    change.kind === 'deleted' && given[at] !== 'late' ? [change.id] : [],
  )
  // Also for a repeated deletion: the first may have been interrupted between the two steps.
  if (deleted.length > 0) await erasures.comments(ref, new Set(deleted), heartbeat, runInBackground)
  await heartbeat()
  return given.map((outcome) => (outcome === 'over-share' ? 'dead-letter' : outcome))
}

function subjectOf({ tenant, postId }: CommentMessage): ThreadRef {
  return { tenant, postId, kind: 'post' }
}

function requireOutcome(outcome: Outcome | undefined): Outcome {
  if (outcome === undefined) throw new Error('the thread store returned no outcome for a comment')
  return outcome
}

function changeOf(message: CommentMessage, from: IncomingMessage, rules: ThreadRules): CommentChange {
  const place = placeOf(from)
  if (message.deleted === true) return { kind: 'deleted', id: message.id, createdAt: message.createdAt, place }
  return {
    kind: 'said',
    comment: keptComment(message, rules),
    origin: () => ({
      topic: from.topic,
      partition: from.partition,
      offset: from.offset,
      timestamp: from.timestamp,
      // What its dead letter would have of it, should its post never come.
      raw: from.value?.subarray(0, MAX_RAW_BYTES).toString('base64') ?? '',
      bytes: from.value?.length ?? 0,
    }),
    place,
  }
}
