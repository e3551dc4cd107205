import { authorOf } from '../../contracts/facts/author.ts'
import type { Ruling } from '../../contracts/facts/verdict.ts'
import type { WeighedComments } from './comment-weights.ts'
import type { RumorContext } from './context.ts'

/** Of the comments that take a side, one in so many has to oppose the claim: two of a thousand people dispute nothing. */
const SHARE = 10

/**
 * Whether people dispute the claim, and since when: `minSideAuthors` authors of comments that count oppose it, and a tenth of those
 * that take a side. Whatever was decided: of a claim that all oppose, too.
 */
export function opposedIn(
  { settings, thread }: Pick<RumorContext, 'settings' | 'thread'>,
  { comments }: Pick<WeighedComments, 'comments'>,
): Pick<Ruling, 'opposed'> {
  const sided = comments.filter(({ score }) => score !== null && score !== 0)
  const against = sided.flatMap(({ comment, score }) => ((score ?? 0) < 0 ? [comment] : []))
  const isNamed = thread.comments.some(({ author }) => author !== undefined)
  const authors = isNamed ? new Set(against.map(authorOf)).size : against.length
  if (authors < settings.minSideAuthors || against.length * SHARE < sided.length) return {}
  // Its sender says when a comment was written.
  const first = Math.max(thread.post.createdAt, Math.min(...against.map(({ createdAt }) => createdAt)))
  return { opposed: { since: new Date(first).toISOString() } }
}
