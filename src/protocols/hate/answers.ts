import { z } from 'zod'
import { said } from '../said.ts'

/** What a perspective or the base agent answers if it can't tell: no stance, and no label. */
export const ABSTAIN = "I don't know"

/** A perspective's reason and stance, the stance under its own label names. */
export function stanceAnswer(labels: readonly string[]) {
  return z.object({ reason: said, label: z.enum([...labels, ABSTAIN]) })
}

/** What the base agent of Table 1 answers. */
export const zeroShotAnswer = z.object({ reason: said, label: z.enum(['non-hate', 'hate', ABSTAIN]) })

/** One turn of the debate. */
export const turnAnswer = z.object({ argument: said })

/** The outcome of Algorithm 2, line 20. */
export const judgeAnswer = z.object({ reason: said, label: z.enum(['non-hate', 'hate']) })
