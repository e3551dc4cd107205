import { type CounterspeechMessage, counterspeechMessage, type Outcome } from '../src/contracts/facts/messages.ts'
import { mappedBy, type ThreadRef } from '../src/contracts/facts/thread.ts'
import type { BackgroundRunner, Heartbeat } from '../src/contracts/ports/topic.ts'
import { keptReply } from '../src/judging/threads/kept.ts'
import type { IntakeContext, TopicHandler } from './intake.ts'
import { arrivalOf, eraseWithDependents, handleInSteps, isKept } from './posts.ts'
import { placeOf, type ValidMessage } from './read-message.ts'
import { fullOf, OVER_SHARE, refuseMessages } from './refused-messages.ts'
import { mappingOf } from './source-place.ts'

/**
 * Counterspeech: each reply is a subject of its own, separate from a post with the same id. A deleted reply is erased.
 */
export const counterspeech: TopicHandler<CounterspeechMessage> = {
  schema: counterspeechMessage,
  // A reply does not depend on the stream's clock, and must not delay the threads that do.
  clocked: false,
  subjectOf,
  itselfIn: subjectOf,
  postOf: ({ rules }, message) => (message.deleted === true ? null : keptReply(message, rules)),
  handle: (context, read, heartbeat, runInBackground) =>
    handleInSteps({
      read,
      subjectOf,
      context,
      heartbeat,
      handle: (one) => handleReply(context, one, heartbeat, runInBackground),
    }),
}

function subjectOf({ tenant, id }: CounterspeechMessage): ThreadRef {
  return { tenant, postId: id, kind: 'reply' }
}

async function handleReply(
  context: IntakeContext,
  { message, from }: ValidMessage<CounterspeechMessage>,
  heartbeat: Heartbeat,
  runInBackground?: BackgroundRunner,
): Promise<Outcome> {
  const { threads, routes, rules, checkpoints, maxReplies, mostHeld, clock } = context
  const { tenant, postId } = message
  const ref = subjectOf(message)
  const above: ThreadRef | null = postId === undefined ? null : { tenant, postId, kind: 'post' }
  if (message.deleted === true) {
    const erased = await eraseWithDependents(context, ref, heartbeat, runInBackground)
    if (above !== null) await threads.unlinkReplies(above, [ref], clock())
    return erased
  }
  // Link first, so that a concurrent deletion of the post also deletes this reply.
  const link = { most: maxReplies, now: clock() }
  const linked = above === null ? 'known' : await threads.linkReply(above, ref, link)
  if (linked === 'deleted') {
    // After Redis was lost the deletion may be read before the reply, which has a verdict already.
    await eraseWithDependents(context, ref, heartbeat, runInBackground)
    return 'deleted'
  }
  if (linked === 'full') return refuseMessages(context, [from], fullOf(maxReplies, 'replies'))
  const reply = mappedBy(mappingOf(from), keptReply(message, rules))
  const arrival = arrivalOf(routes.of(ref, reply), reply, checkpoints, clock())
  const outcome = await threads.putPost(ref, reply, { ...arrival, place: placeOf(from) }, rules, mostHeld())
  if (above !== null && linked === 'linked' && !isKept(outcome)) await threads.unlinkReplies(above, [ref], clock())
  return outcome === 'over-share' ? refuseMessages(context, [from], OVER_SHARE) : outcome
}
