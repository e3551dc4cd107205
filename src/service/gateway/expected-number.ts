import type { Ask } from '../domain/ask.ts'
import { entryOf } from '../domain/entry-of.ts'
import type { NumberProbabilities } from '../ports/model.ts'

/**
 * The answer with `expected`, the mean of the numbers that the model might have given on the scale, by their probabilities (G-Eval,
 * equation 1): Σ p·n ÷ Σ p. Unchanged where the ask does not want it, or the endpoint gave no probabilities of it.
 */
export function withExpected<Answer>(
  { expected: wanted }: Pick<Ask, 'expected'>,
  answer: Answer,
  probabilities: NumberProbabilities | undefined,
): Answer {
  if (wanted === undefined || probabilities === undefined) return answer
  const { field, lowest, highest } = wanted
  const onScale = (entryOf(probabilities, field) ?? []).filter(([number]) => number >= lowest && number <= highest)
  const mass = onScale.reduce((sum, [, probability]) => sum + probability, 0)
  if (!(mass > 0)) return answer
  const mean = onScale.reduce((sum, [number, probability]) => sum + number * probability, 0) / mass
  return { ...answer, expected: mean }
}
