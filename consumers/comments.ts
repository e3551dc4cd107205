import { MAX_RAW_BYTES } from '../producers/dead-letter.ts'
import { type CommentMessage, commentMessage, type Outcome } from '../src/service/domain/messages.ts'
import type { Comment, ThreadRef } from '../src/service/domain/thread.ts'
import type { Clock } from '../src/service/ports/clock.ts'
import type { CommentChange, ThreadRules, ThreadStore } from '../src/service/ports/threads.ts'
import type { Incoming } from '../src/service/ports/topic.ts'
import type { Intake, ReadOk } from './intake.ts'
import { type EraseComments, laterErasures } from './later-erasures.ts'
import { placeOf, shortened } from './read-message.ts'

/** Most comments of one thread written in one atomic step: enough to be fast, few enough not to block Redis. */
const WRITTEN_AT_ONCE = 500

/** Writes comments to the thread store, all of one thread's in a batch together. */
export function comments(deps: {
  threads: ThreadStore
  rules: ThreadRules
  erase: EraseComments
  clock: Clock
}): Intake<CommentMessage> {
  const { threads, rules, clock } = deps
  const erase = laterErasures(deps.erase)
  return {
    schema: commentMessage,
    clocked: true,
    subjectOf,
    postOf: () => null,
    async take(read, heartbeat, later) {
      const outcomes = new Map<ReadOk<CommentMessage>, Outcome>()
      const byThread = Map.groupBy(read, ({ message }) => `${message.tenant}:${message.postId}`)
      await Promise.all(
        [...byThread.values()].map(async (group) => {
          for (let start = 0; start < group.length; start += WRITTEN_AT_ONCE) {
            const chunk = group.slice(start, start + WRITTEN_AT_ONCE)
            const [first] = chunk
            if (first === undefined) return
            const ref = subjectOf(first.message)
            const changes = chunk.map(({ message, from }) => changeOf(message, from, rules))
            const given = await threads.putComments(ref, changes, clock(), rules)
            const deleted = changes.flatMap((change) => (change.kind === 'deleted' ? [change.id] : []))
            // Also for a repeated deletion: the first may have been interrupted between the two steps.
            if (deleted.length > 0) await erase(ref, new Set(deleted), heartbeat, later)
            await heartbeat()
            for (const [index, one] of chunk.entries()) outcomes.set(one, requireOutcome(given[index]))
          }
        }),
      )
      return read.map((one) => requireOutcome(outcomes.get(one)))
    },
  }
}

function subjectOf({ tenant, postId }: CommentMessage): ThreadRef {
  return { tenant, postId, kind: 'post' }
}

function requireOutcome(outcome: Outcome | undefined): Outcome {
  if (outcome === undefined) throw new Error('the thread store returned no outcome for a comment')
  return outcome
}

function changeOf(
  message: CommentMessage,
  from: Incoming,
  { maxTextChars: textChars, isPlaceholder }: ThreadRules,
): CommentChange {
  const { id, createdAt, parentId, text, author, authorSince, odd } = message
  const place = placeOf(from)
  if (message.deleted === true) return { kind: 'deleted', id, createdAt, place }
  const comment: Comment = {
    id,
    ...(parentId === undefined ? {} : { parentId }),
    ...shortened(text ?? '', textChars),
    ...(author === undefined || isPlaceholder(author) ? {} : { author }),
    ...(authorSince === undefined ? {} : { authorSince }),
    createdAt,
    ...(odd === undefined ? {} : { odd }),
  }
  return {
    kind: 'said',
    comment,
    origin: () => ({
      topic: from.topic,
      ...place,
      // What its dead letter would have of it, should its post never come.
      raw: from.value?.subarray(0, MAX_RAW_BYTES).toString('base64') ?? '',
      bytes: from.value?.length ?? 0,
    }),
    place,
  }
}
