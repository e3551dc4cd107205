import { createHash } from 'node:crypto'
import type { Comment } from '../../domain/thread.ts'

/** The comments that each debater is given: P and N of the paper. */
export interface Sides {
  readonly support: readonly Comment[]
  readonly oppose: readonly Comment[]
}

/**
 * Equation 2: by the sign of their scores, at most `k` comments a side, the strongest first; equal scores in the order
 * of `comments`, which is time, then id. Comments scored 0 and comments without a score are on neither side.
 */
export function separate(comments: readonly Comment[], scores: ReadonlyMap<string, number>, k: number): Sides {
  const scored = comments.flatMap((comment) => {
    const score = scores.get(comment.id)
    return score === undefined ? [] : [{ comment, score }]
  })
  const strongest = (sign: 1 | -1) =>
    scored
      .filter(({ score }) => score * sign > 0)
      .sort((a, b) => (b.score - a.score) * sign)
      .slice(0, k)
      .map(({ comment }) => comment)
  return { support: strongest(1), oppose: strongest(-1) }
}

/** Table 2, "w/o Stance": at most `size` comments, drawn at random under `seed`, cut into two halves. */
export function halve(comments: readonly Comment[], size: number, seed: string): Sides {
  const drawn = byLot(comments, seed).slice(0, size)
  const middle = Math.ceil(drawn.length / 2)
  return { support: drawn.slice(0, middle), oppose: drawn.slice(middle) }
}

/** At most `size` comments, drawn at random under `seed`, in the order in which they are given. */
export function draw(comments: readonly Comment[], size: number, seed: string): readonly Comment[] {
  if (comments.length <= size) return comments
  const drawn = new Set(byLot(comments, seed).slice(0, size))
  return comments.filter((comment) => drawn.has(comment))
}

function byLot(comments: readonly Comment[], seed: string): Comment[] {
  return comments
    .map((comment) => ({ comment, lot: createHash('sha256').update(`${seed}\0${comment.id}`).digest('hex') }))
    .sort((a, b) => (a.lot < b.lot ? -1 : 1))
    .map(({ comment }) => comment)
}
