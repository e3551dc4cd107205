import { authorOf } from '../../contracts/facts/author.ts'
import type { Comment } from '../../contracts/facts/thread.ts'
import type { DebateReason } from '../../contracts/facts/verdict-fields.ts'
import type { WeighedComments } from './comment-weights.ts'
import type { RumorContext } from './context.ts'

// This decides, before anybody is asked for an opinion, whether the comments leave anything to debate.

/** What the sides of a thread call for. */
export interface Gate {
  /** `always` and `contested` bring a debate; the others spare it. */
  readonly why: Extract<DebateReason, 'always' | 'contested' | 'off' | 'one-sided' | 'no-sides'>
  /** Comments without a score could not make another side of it. */
  readonly isSure: boolean
}

/**
 * A side is there if `minSideAuthors` authors of comments that count take it: one author can neither fill a side nor contest
 * one. Copies of one text count once, and so do all unnamed comments of a side in a thread in which anybody is named; in one
 * in which nobody is, each comment stands for an author. `unscored`: a comment of each utterance that has no score; they may
 * be of either side.
 */
export function gateOf(
  { settings, thread }: Pick<RumorContext, 'settings' | 'thread'>,
  { comments }: Pick<WeighedComments, 'comments'>,
  unscored: readonly Comment[],
): Gate {
  if (!settings.debate) return { why: 'off', isSure: true }
  // Without stances, sides are drawn and not found.
  if (settings.debateWhen === 'always' || !settings.stance) return { why: 'always', isSure: true }
  const isNamed = thread.comments.some(({ author }) => author !== undefined)
  const authorsOf = (some: readonly Comment[]) => (isNamed ? new Set(some.map(authorOf)).size : some.length)
  const sides = ([1, -1] as const).map((sign) =>
    comments.filter(({ score }) => Math.sign(score ?? 0) === sign).map(({ comment }) => comment),
  )
  const isThere = (side: readonly Comment[]) => authorsOf(side) >= settings.minSideAuthors
  const isSure = sides.every((side) => isThere(side) || !isThere([...side, ...unscored]))
  const found = sides.filter(isThere).length
  // The comments that say whether somebody contradicts are not all read.
  if (found === 2 || (found === 1 && !isSure)) return { why: 'contested', isSure }
  return { why: found === 1 ? 'one-sided' : 'no-sides', isSure }
}

/** Whether a thread in which nobody takes a side is judged without an opinion. */
export function sparesOpinions({ settings, isControl }: Pick<RumorContext, 'settings' | 'isControl'>): boolean {
  const { debate, debateWhen, stance, unverified } = settings
  return debate && debateWhen === 'contested' && stance && unverified && !isControl
}
