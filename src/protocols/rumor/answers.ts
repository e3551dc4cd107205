import { z } from 'zod'

/** Equation 1: the range of a stance score; 0 means that the comment contradicts common knowledge. */
const score = z.number().min(-1).max(1)

export const stanceAnswer = z.object({ reason: z.string(), score })

/** Scores for the comments numbered 1 to `count`: at least one, each number at most once. */
export function stanceBatchAnswer(count: number): StanceBatchAnswer {
  const known = batchAnswers.get(count)
  if (known !== undefined) return known
  const made = batchAnswerOf(count)
  batchAnswers.set(count, made)
  return made
}

type StanceBatchAnswer = ReturnType<typeof batchAnswerOf>
const batchAnswers = new Map<number, StanceBatchAnswer>()

function batchAnswerOf(count: number) {
  return z.object({
    scores: z
      .array(z.object({ comment: z.int().min(1).max(count), reason: z.string(), score }))
      .min(1)
      .refine((items) => new Set(items.map((item) => item.comment)).size === items.length, 'a comment is scored twice'),
  })
}

export const subjectivityAnswer = z.object({ reason: z.string(), answer: z.enum(['Yes', 'No']) })

/** A debater's or the judge's view of the claim. */
export const view = z.object({ reasoning: z.string(), answer: z.enum(['Fake', 'Real']) })
export type View = z.infer<typeof view>
