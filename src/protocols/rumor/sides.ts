import type { Lot } from '../../domain/lot.ts'
import { byTimeThenId, type Comment } from '../../domain/thread.ts'
import type { RumorSettings } from './settings.ts'

/** The comments that each debater is given: P and N of the paper. */
export interface Sides {
  readonly support: readonly Comment[]
  readonly oppose: readonly Comment[]
}

/** The order of comments of which one is as strong as the other. */
export type Tie = (a: Comment, b: Comment) => number

/** How this thread's ties are broken: in order of time, as in the paper, or by a draw that nobody can foresee or be early for. */
export function tieOf({ ties }: Pick<RumorSettings, 'ties'>, lotOf: (comment: Comment) => number): Tie {
  return ties === 'time' ? byTimeThenId : (a, b) => lotOf(a) - lotOf(b) || byTimeThenId(a, b)
}

/** A thread's draw. */
export function lotIn(lot: Lot, tenant: string, postId: string): (comment: Comment) => number {
  const known = new Map<string, number>()
  return ({ id }) => {
    const drawn = known.get(id) ?? lot(`rumor ${tenant}/${postId}`, id)
    known.set(id, drawn)
    return drawn
  }
}

/**
 * Equation 2: by the sign of their scores, at most `k` comments a side, the strongest first, equal ones by `tie`. Comments
 * scored 0 and comments without a score are on neither side.
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
export function halve(comments: readonly Comment[], size: number, lotOf: (comment: Comment) => number): Sides {
  const drawn = byLot(comments, (comment) => comment, lotOf).slice(0, size)
  const middle = Math.ceil(drawn.length / 2)
  return { support: drawn.slice(0, middle), oppose: drawn.slice(middle) }
}

/** At most `size` items, drawn at random by one comment of each, in the order in which they are given. */
export function draw<Item>(
  items: readonly Item[],
  size: number,
  commentOf: (item: Item) => Comment,
  lotOf: (comment: Comment) => number,
): readonly Item[] {
  if (items.length <= size) return items
  const drawn = new Set(byLot(items, commentOf, lotOf).slice(0, size))
  return items.filter((item) => drawn.has(item))
}

function byLot<Item>(
  items: readonly Item[],
  commentOf: (item: Item) => Comment,
  lotOf: (comment: Comment) => number,
): Item[] {
  return items
    .map((item) => ({ item, comment: commentOf(item) }))
    .sort((a, b) => lotOf(a.comment) - lotOf(b.comment) || byTimeThenId(a.comment, b.comment))
    .map(({ item }) => item)
}
