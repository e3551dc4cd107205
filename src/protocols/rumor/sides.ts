import type { SamplingRank } from '../../contracts/facts/sampling-rank.ts'
import { byTimeThenId, type Comment } from '../../contracts/facts/thread.ts'
import type { RumorSettings } from './settings.ts'

/** The comments that each debater is given: P and N of the paper. */
export interface Sides {
  readonly support: readonly Comment[]
  readonly oppose: readonly Comment[]
}

/** The order of comments that are equally strong. */
export type Tie = (a: Comment, b: Comment) => number

/**
 * How this thread's ties are broken: by time, as in the paper, or by sampling ranks, which nobody can predict, or gain
 * by posting early.
 */
export function tieOf({ ties }: Pick<RumorSettings, 'ties'>, rankOf: (comment: Comment) => number): Tie {
  return ties === 'time' ? byTimeThenId : (a, b) => rankOf(a) - rankOf(b) || byTimeThenId(a, b)
}

/** The sampling ranks of a thread's comments. */
export function rankIn(samplingRank: SamplingRank, tenant: string, postId: string): (comment: Comment) => number {
  const known = new Map<string, number>()
  return ({ id }) => {
    const rank = known.get(id) ?? samplingRank(`rumor ${tenant}/${postId}`, id)
    known.set(id, rank)
    return rank
  }
}

/**
 * Equation 2: by the sign of their scores, at most `k` comments on each side, the strongest first, equal ones by `tie`.
 * Comments with score 0 or no score are on neither side.
 */
export function separate(
  scored: readonly { readonly comment: Comment; readonly score: number | null }[],
  k: number,
  tie: Tie,
): Sides {
  const strongest = (sign: 1 | -1) =>
    scored
      .map(({ comment, score }) => ({ comment, strength: (score ?? 0) * sign }))
      .filter(({ strength }) => strength > 0)
      .sort((a, b) => b.strength - a.strength || tie(a.comment, b.comment))
      .slice(0, k)
      .map(({ comment }) => comment)
  return { support: strongest(1), oppose: strongest(-1) }
}

/** Table 2, "w/o Stance": at most `size` comments, drawn at random, cut into two halves. */
export function halve(comments: readonly Comment[], size: number, rankOf: (comment: Comment) => number): Sides {
  const drawn = byUrgency(comments, (comment) => comment, rankOf).slice(0, size)
  const middle = Math.ceil(drawn.length / 2)
  return { support: drawn.slice(0, middle), oppose: drawn.slice(middle) }
}

/** At most `size` items, drawn at random by one comment of each, in their given order. */
export function sample<Item>(
  items: readonly Item[],
  size: number,
  commentOf: (item: Item) => Comment,
  rankOf: (comment: Comment) => number,
): readonly Item[] {
  if (items.length <= size) return items
  const sampled = new Set(byUrgency(items, commentOf, rankOf).slice(0, size))
  return items.filter((item) => sampled.has(item))
}

function byUrgency<Item>(
  items: readonly Item[],
  commentOf: (item: Item) => Comment,
  rankOf: (comment: Comment) => number,
): Item[] {
  return items
    .map((item) => ({ item, comment: commentOf(item) }))
    .sort((a, b) => rankOf(a.comment) - rankOf(b.comment) || byTimeThenId(a.comment, b.comment))
    .map(({ item }) => item)
}
