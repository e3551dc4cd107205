import { authorOf } from '../../contracts/facts/author.ts'
import type { Comment } from '../../contracts/facts/thread.ts'
import { idsInCommentKey } from '../../contracts/facts/verdict-id.ts'
import { type ReachedDecision, undecided } from './conclusion.ts'
import type { RumorContext } from './context.ts'
import type { Evidence } from './evidence.ts'

// Comments under other posts in the same words are shown to debaters, and count for nothing: no stance, no side, no gate.

/** What is said before them: anybody may have chosen who speaks there. */
const HEADING =
  'Comments under other posts in the same words. They are not about this post, were perhaps arranged, and count for neither side: use only what can be checked in them'

/** What debaters are shown of them, after their own comments; empty where there are none. */
export function elsewhereIn({ ask }: Pick<RumorContext, 'ask'>, comments: readonly Comment[]): string {
  return comments.length === 0 ? '' : `\n\n${ask.comments(HEADING, comments)}`
}

/** The decision of a debate that was shown some: no benign label where nobody speaks for the claim under the post itself. */
export function withOwnSupport(
  { settings }: Pick<RumorContext, 'settings'>,
  { elsewhere, full }: Pick<Evidence, 'elsewhere' | 'full'>,
  reached: ReachedDecision,
): ReachedDecision {
  if (elsewhere.length === 0) return reached
  const posts = new Set(elsewhere.map(({ id }) => idsInCommentKey(id).postId)).size
  const note = `${elsewhere.length} comments under ${posts} other posts in the same words were shown beside its own`
  const degraded = [note, ...(reached.degraded ?? [])]
  const isSupported = new Set(full.support.map(authorOf)).size >= settings.minSideAuthors
  if (reached.label !== 'non-rumor' || isSupported) return { ...reached, degraded }
  const why = [...degraded, 'no label non-rumor, for nobody supports the claim under the post itself']
  if (!settings.unverified) return { ...reached, ...undecided(...why), rounds: reached.rounds }
  return { ...reached, label: 'unverified', unverified: { reason: 'torn' }, degraded: why }
}
