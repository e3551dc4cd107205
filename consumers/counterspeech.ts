import { type CounterspeechMessage, counterspeechMessage, type Outcome } from '../src/domain/messages.ts'
import type { Post, ThreadRef } from '../src/domain/thread.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Routes } from '../src/ports/routes.ts'
import type { ThreadRules, ThreadStore } from '../src/ports/threads.ts'
import type { CheckpointSettings } from '../src/threads/checkpoints.ts'
import type { Intake, ReadOk } from './intake.ts'
import { arrivalOf, type EraseSubject } from './posts.ts'
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
}): Intake<CounterspeechMessage> {
  const { threads, routes, erase, rules, checkpoints, clock } = deps

  const subjectOf = ({ tenant, id }: CounterspeechMessage): ThreadRef => ({ tenant, postId: id, kind: 'reply' })

  async function take({ message, from }: ReadOk<CounterspeechMessage>): Promise<Outcome> {
    const { tenant, postId } = message
    const ref = subjectOf(message)
    if (message.deleted === true) return erase(ref)
    // Link first, so that a concurrent deletion of the post also deletes this reply.
    if (postId !== undefined && !(await threads.linkReply({ tenant, postId, kind: 'post' }, ref))) return 'deleted'
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
    async take(read) {
      const outcomes: Outcome[] = []
      // One reply at a time: two versions of the same reply must keep their order.
      for (const one of read) outcomes.push(await take(one))
      return outcomes
    },
  }
}

function replyOf({ id, text, hateSpeech, createdAt }: CounterspeechMessage, { textChars }: ThreadRules): Post {
  const answered = shortened(hateSpeech ?? '', textChars)
  return {
    id,
    ...shortened(text ?? '', textChars),
    hateSpeech: answered.text,
    ...(answered.cut === undefined ? {} : { hateSpeechCut: answered.cut }),
    createdAt,
  }
}
