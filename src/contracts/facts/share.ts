import { hash } from 'node:crypto'
import { authorOf } from './author.ts'
import type { Post, ThreadRef } from './thread.ts'
import { idsInCommentKey } from './verdict-id.ts'

/**
 * Whose share of the service the judging of a subject uses, so that a flood of one account keeps nobody else waiting: its
 * author's; without one, that of the text that a reply answers; else its own. Comments on one post share one share, whoever wrote
 * them: thousands of accounts under one post are one flood. A hash within its tenant, and no content.
 */
export function shareOf({ tenant, kind, postId }: ThreadRef, { id, author: name, hateSpeech }: Post): string {
  const author = authorOf({ author: name })
  const whose =
    kind === 'comment'
      ? ['comments', idsInCommentKey(postId).postId]
      : author !== undefined
        ? ['author', author]
        : hateSpeech !== undefined
          ? ['text', hateSpeech]
          : [kind, id]
  return hash('sha256', [tenant, ...whose].join('\0'), 'base64url').slice(0, 12)
}
