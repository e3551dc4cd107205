import { hash } from 'node:crypto'
import { authorOf } from './author.ts'
import type { Post, SubjectKind } from './thread.ts'

/**
 * Whose share of the service the judging of a subject uses, so that a flood of one account keeps nobody else waiting: its
 * author's; without one, that of the text that a reply answers; else its own. A hash within its tenant, and no content.
 */
export function shareOf(tenant: string, kind: SubjectKind, { id, author: name, hateSpeech }: Post): string {
  const author = authorOf({ author: name })
  const whose = author !== undefined ? ['author', author] : hateSpeech !== undefined ? ['text', hateSpeech] : [kind, id]
  return hash('sha256', [tenant, ...whose].join('\0'), 'base64url').slice(0, 12)
}
