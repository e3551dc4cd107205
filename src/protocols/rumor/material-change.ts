import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Comment } from '../../contracts/facts/thread.ts'
import type { ParentOf } from './parents.ts'
import type { Sides } from './sides.ts'

/** A comment's id, and a hash of its words and of those that it answers. */
const shown = z.tuple([z.string(), z.string()])

/** The evidence of a debate, without its words. */
export const debated = z.object({
  kind: z.enum(['subjective', 'objective']),
  /** By what there was a debate, or why none. */
  gate: z.string(),
  support: z.array(shown),
  oppose: z.array(shown),
  /** Which side more comments took, of all that count: 1 for the claim, -1 against it, 0 neither. */
  lead: z.int().min(-1).max(1),
})
export type DebatedComments = z.infer<typeof debated>

export function debatedOf(
  { support, oppose }: Sides,
  { kind, gate, lead, parentOf }: Omit<DebatedComments, 'support' | 'oppose'> & { readonly parentOf: ParentOf },
): DebatedComments {
  const named = (side: readonly Comment[]) =>
    side.map((comment): [string, string] => {
      const words = JSON.stringify([comment.text, parentOf(comment)?.text ?? null])
      return [comment.id, hash('sha256', words, 'base64url').slice(0, 16)]
    })
  return { kind, gate, support: named(support), oppose: named(oppose), lead }
}

/**
 * How much of the evidence has changed, 0 to 1: of all comments that either debate shows, the share that not both show on the
 * same side (Jaccard's distance). It is 1, whatever the share, where the claim's kind is another, where a side had comments and has
 * none, or the other way round, where another side leads of all comments that count, and where the gate says something else.
 */
export function changeOf(before: DebatedComments, now: DebatedComments): number {
  const sides = [
    [before.support, now.support],
    [before.oppose, now.oppose],
  ] as const
  const turned = before.kind !== now.kind || before.gate !== now.gate || before.lead !== now.lead
  if (turned || sides.some(([one, other]) => (one.length === 0) !== (other.length === 0))) return 1
  let [both, either] = [0, 0]
  for (const [one, other] of sides) {
    const [earlier, later] = [one, other].map((side) => new Set(side.map(([, words]) => words)))
    const common = [...(later ?? [])].filter((words) => earlier?.has(words)).length
    both += common
    either += (earlier?.size ?? 0) + (later?.size ?? 0) - common
  }
  return either === 0 ? 0 : 1 - both / either
}
