import { z } from 'zod'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import { said, wholeScore } from '../answer-fields.ts'

/** A whole number on an aspect's own scale. A number outside it was meant for another scale, and is not an answer. */
export function scoreOn(lowest: number, highest: number) {
  return z.object({ reasoning: said, score: wholeScore(lowest, highest) })
}

/** The same with the mean by probabilities, which the gateway adds and no model sees. */
export function keptScoreOn(lowest: number, highest: number) {
  return scoreOn(lowest, highest).extend({ expected: z.number().min(lowest).max(highest).optional() })
}

/** What is answered of several aspects in one call: of each, by its name, in the form in which it is answered alone. */
export function aspectsAnswer(
  aspects: readonly { readonly name: string; readonly answer: z.ZodType<AspectScore> }[],
): z.ZodType<Readonly<Record<string, AspectScore>>> {
  return z.object(Object.fromEntries(aspects.map(({ name, answer }) => [name, answer])))
}

const scored = z.object({ score: z.number() })

/** The score in an answer, as text; undefined where there is none. */
export function scoreIn(answer: unknown): string | undefined {
  return scored.safeParse(answer).data?.score.toString()
}

/** What is answered of one aspect in an answer of several. */
export function aspectAnswerIn(answer: unknown, aspect: string): unknown {
  return entryOf(z.record(z.string(), z.unknown()).safeParse(answer).data ?? {}, aspect)
}

export type AspectScore = z.infer<ReturnType<typeof keptScoreOn>>

/** Evaluation steps as a model writes them, in order. */
export const stepsAnswer = z.object({ steps: z.array(said.max(1_000)).min(1).max(12) })
/** The same after a look at cases, with what was found in them first, so that a model reasons before it writes. */
export const refinedSteps = z.object({ findings: said, ...stepsAnswer.shape })
export type WrittenSteps = z.infer<typeof stepsAnswer>
