import { z } from 'zod'

/** What a perspective or the base agent answers where it can't tell: no stance, and no label. */
export const ABSTAIN = "I don't know"

/** A sentence that is there: an empty one would be an empty entry in a reference or in the debate. */
const sentence = z.string().refine((text) => text.trim() !== '', 'is empty')

/** A perspective's reason and stance, the stance under its own label names. */
export function stanceAnswer(labels: readonly string[]) {
  return z.object({ reason: sentence, label: z.enum([...labels, ABSTAIN]) })
}

/** What the base agent of Table 1 answers. */
export const zeroShotAnswer = z.object({ reason: sentence, label: z.enum(['non-hate', 'hate', ABSTAIN]) })

/** One turn of the debate. */
export const turnAnswer = z.object({ argument: sentence })

/** The outcome of Algorithm 2, line 20. */
export const judgeAnswer = z.object({ reason: sentence, label: z.enum(['non-hate', 'hate']) })
