import { deadLetterOf } from '../producers/dead-letter.ts'
import { type CounterspeechMessage, counterspeechMessage, type Outcome } from '../src/service/domain/messages.ts'
import type { Post, ThreadRef } from '../src/service/domain/thread.ts'
import type { Outbox } from '../src/service/ports/cases.ts'
import type { Clock } from '../src/service/ports/clock.ts'
import type { Report } from '../src/service/ports/report.ts'
import type { Routes } from '../src/service/ports/routes.ts'
import type { ThreadRules, ThreadStore } from '../src/service/ports/threads.ts'
import type { Incoming } from '../src/service/ports/topic.ts'
import type { CheckpointSettings } from '../src/service/threads/checkpoints.ts'
import type { Intake, ReadOk } from './intake.ts'
import { arrivalOf, type EraseSubject, takeInSteps } from './posts.ts'
import { placeOf, shortened } from './read-message.ts'

/**
 * Writes counterspeech to the thread store: each reply is a subject of its own, separate from a post with the same id. A
 * deleted reply is erased.
 */
export function counterspeech(deps: {
  threads: ThreadStore
  routes: Routes
  erase: EraseSubject
  rules: ThreadRules
  checkpoints: CheckpointSettings
  clock: Clock
  outbox: Pick<Outbox, 'putDeadLetters'>
  /** Most replies of one post. */
  maxReplies: number
  report: Report
}): Intake<CounterspeechMessage> {
  const { threads, routes, erase, rules, checkpoints, clock, outbox, maxReplies, report } = deps

  const subjectOf = ({ tenant, id }: CounterspeechMessage): ThreadRef => ({ tenant, postId: id, kind: 'reply' })

  /** A reply that could not be erased with its post is not kept. */
  async function refuse(from: Incoming): Promise<Outcome> {
    const detail = `its post has ${maxReplies} replies already (threads.maxReplies)`
    const { topic, partition, offset } = from
    await outbox.putDeadLetters([deadLetterOf(from, { reason: 'unjudgeable', detail })])
    report('message:dead', { topic, partition, offset, reason: 'unjudgeable', detail })
    return 'dead-letter'
  }

  async function take({ message, from }: ReadOk<CounterspeechMessage>): Promise<Outcome> {
    const { tenant, postId } = message
    const ref = subjectOf(message)
    if (message.deleted === true) return erase(ref)
    // Link first, so that a concurrent deletion of the post also deletes this reply.
    const linked =
      postId === undefined ? 'linked' : await threads.linkReply({ tenant, postId, kind: 'post' }, ref, maxReplies)
    if (linked === 'deleted') return 'deleted'
    if (linked === 'full') return refuse(from)
    const reply = replyOf(message, rules)
    const arrival = arrivalOf(routes.of(ref, reply), reply, checkpoints, clock())
    return threads.putPost(ref, reply, { ...arrival, place: placeOf(from) }, rules)
  }

  return {
    schema: counterspeechMessage,
    // A reply does not depend on the stream's clock, and must not delay the threads that do.
    clocked: false,
    subjectOf,
    postOf: (message) => (message.deleted === true ? null : replyOf(message, rules)),
    take: (read, heartbeat) => takeInSteps({ read, subjectOf, threads, take, heartbeat }),
  }
}

function replyOf(
  { id, text, hateSpeech, createdAt }: CounterspeechMessage,
  { maxTextChars: textChars }: ThreadRules,
): Post {
  const answered = shortened(hateSpeech ?? '', textChars)
  return {
    id,
    ...shortened(text ?? '', textChars),
    hateSpeech: answered.text,
    ...(answered.cut === undefined ? {} : { hateSpeechCut: answered.cut }),
    createdAt,
  }
}
