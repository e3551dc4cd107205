import { authorOf } from '../../contracts/facts/author.ts'
import type { Comment } from '../../contracts/facts/thread.ts'
import type { DebateReason } from '../../contracts/facts/verdict-fields.ts'
import type { WeighedComments } from './comment-weights.ts'
import type { RumorContext } from './context.ts'

// This decides, before anybody is asked for an opinion, whether the comments leave anything to debate.

const SURE = { isSure: true, mayTurn: false, lacksNames: false } as const

/** What the sides of a thread call for. */
export interface Gate {
  /** `always` and `contested` bring a debate; the others spare it. */
  readonly why: Extract<DebateReason, 'always' | 'contested' | 'off' | 'one-sided' | 'no-sides'>
  /** No comment without a score could make another side of it. */
  readonly isSure: boolean
  /** One that was asked about in vain could. What load left out brings no debate, which would cost more. */
  readonly mayTurn: boolean
  /** A side that is not there would be, if each comment without an author stood for an author. */
  readonly lacksNames: boolean
}

/**
 * A side is there if `minSideAuthors` authors of comments that count take it: one author can neither fill a side nor contest
 * one. Copies of one text count once, and so do all unnamed comments of a side in a thread in which anybody is named; in one
 * in which nobody is, each comment stands for an author. A comment of each utterance that has no score, because it was asked about
 * in vain (`failed`) or load left it out (`unasked`), may be of either side.
 */
export function gateOf(
  { settings, thread }: Pick<RumorContext, 'settings' | 'thread'>,
  { comments }: Pick<WeighedComments, 'comments'>,
  { failed, unasked }: { readonly failed: readonly Comment[]; readonly unasked: readonly Comment[] },
): Gate {
  if (!settings.debate) return { why: 'off', ...SURE }
  // Without stances, sides are drawn and not found.
  if (settings.debateWhen === 'always' || !settings.stance) return { why: 'always', ...SURE }
  const isNamed = thread.comments.some(({ author }) => author !== undefined)
  const authorsOf = (some: readonly Comment[]) => (isNamed ? new Set(some.map(authorOf)).size : some.length)
  const sides = ([1, -1] as const).map((sign) =>
    comments.filter(({ score }) => Math.sign(score ?? 0) === sign).map(({ comment }) => comment),
  )
  const isThere = (side: readonly Comment[]) => authorsOf(side) >= settings.minSideAuthors
  const couldTurnBy = (others: readonly Comment[]) =>
    sides.some((side) => !isThere(side) && isThere([...side, ...others]))
  const isSure = !couldTurnBy([...failed, ...unasked])
  const mayTurn = couldTurnBy(failed)
  const lacksNames = sides.some((side) => !isThere(side) && voicesOf(side) >= settings.minSideAuthors)
  const found = sides.filter(isThere).length
  // The comments that say whether somebody contradicts are not all read.
  const why = found === 2 || (found === 1 && mayTurn) ? 'contested' : found === 1 ? 'one-sided' : 'no-sides'
  return { why, isSure, mayTurn, lacksNames }
}

/** How many there are if each comment without an author is somebody else's. */
function voicesOf(comments: readonly Comment[]): number {
  const authors = comments.map(authorOf)
  return (
    new Set(authors.filter((author) => author !== undefined)).size +
    authors.filter((author) => author === undefined).length
  )
}

/** Whether a thread in which nobody takes a side is judged without an opinion. */
export function sparesOpinions({ settings, isControl }: Pick<RumorContext, 'settings' | 'isControl'>): boolean {
  const { debate, debateWhen, stance, unverified } = settings
  return debate && debateWhen === 'contested' && stance && unverified && !isControl
}
