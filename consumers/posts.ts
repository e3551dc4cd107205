import { type Outcome, type PostMessage, postMessage } from '../src/domain/messages.ts'
import type { Post, ThreadRef } from '../src/domain/thread.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { ThreadRules, ThreadStore } from '../src/ports/threads.ts'
import { type CheckpointSettings, firstDue } from '../src/threads/checkpoints.ts'
import type { Intake } from './intake.ts'
import { shortened } from './read-message.ts'

/** Takes posts into the thread store. A post sets its thread's first due time; a deleted one erases the thread. */
export function posts(deps: {
  threads: ThreadStore
  rules: ThreadRules
  checkpoints: CheckpointSettings
  clock: Clock
  farewell: (
    ref: ThreadRef,
    protocol: string,
    revision: number,
  ) => { caseId: string; verdict: string; transcript: string }
}): Intake<PostMessage> {
  const { threads, rules, checkpoints, clock, farewell } = deps

  async function take(message: PostMessage): Promise<Outcome> {
    const ref = { tenant: message.tenant, postId: message.id }
    if (message.deleted === true)
      return threads.deletePost(ref, (protocol, revision) => farewell(ref, protocol, revision))
    const put = { firstDue: firstDue(message.createdAt, checkpoints), now: clock() }
    return threads.putPost(ref, postOf(message, rules), put, rules)
  }

  return {
    schema: postMessage,
    async take(read) {
      const outcomes: Outcome[] = []
      // One post after the other: an edit and a deletion of the same post must keep their order.
      for (const { message } of read) outcomes.push(await take(message))
      return outcomes
    },
  }
}

function postOf(
  { id, text, author, authorSince, lang, createdAt, media }: PostMessage,
  { textChars }: ThreadRules,
): Post {
  return {
    id,
    text: shortened(text ?? '', textChars),
    ...(author === undefined ? {} : { author }),
    ...(authorSince === undefined ? {} : { authorSince }),
    ...(lang === undefined ? {} : { lang }),
    createdAt,
    ...(media === undefined ? {} : { media: media.map(mediumOf) }),
  }
}

function mediumOf({ kind, url, alt }: NonNullable<PostMessage['media']>[number]): NonNullable<Post['media']>[number] {
  return { kind, ...(url === undefined ? {} : { url }), ...(alt === undefined ? {} : { alt }) }
}
