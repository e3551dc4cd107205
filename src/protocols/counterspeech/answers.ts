import { z } from 'zod'
import { said } from '../said.ts'
import { wholeScore } from '../score.ts'
import { type Aspect, HIGHEST } from './aspects.ts'

/** A whole number on the aspect's own scale. A number outside it was meant for another scale, and is not an answer. */
function scoreOf(aspect: Aspect) {
  return z.object({ reasoning: said, score: wholeScore(1, HIGHEST[aspect]) })
}

export type Score = z.infer<ReturnType<typeof scoreOf>>

export const SCORE_ANSWERS: Readonly<Record<Aspect, z.ZodType<Score>>> = {
  relevance: scoreOf('relevance'),
  aggressiveness: scoreOf('aggressiveness'),
  coherence: scoreOf('coherence'),
  suitableness: scoreOf('suitableness'),
}

/** Evaluation steps as a model writes them, in order. */
export const stepsAnswer = z.object({ steps: z.array(said.max(1_000)).min(1).max(12) })
export type WrittenSteps = z.infer<typeof stepsAnswer>
