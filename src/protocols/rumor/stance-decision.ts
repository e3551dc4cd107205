import type { Ask } from '../../contracts/facts/ask.ts'
import type { DecisionPrompt } from '../decision-prompt.ts'
import { inOrder } from '../order.ts'
import { keptStances, type StanceBatchAnswer } from './answers.ts'

/** What a comment may say of the claim, and its score: a sure answer has the end of the scale. */
const SIDES = [
  { value: 'affirms', description: 'It says or means that the claim, or a main point of it, is true.' },
  { value: 'denies', description: 'It says or means that the claim, or a main point of it, is false or made up.' },
] as const
const NEITHER = { value: 'neither', description: 'It says neither.' } as const

/**
 * A batch of stances as the role `decider` is asked it: a choice for each comment, answered by position, and its score is how much
 * likelier one side is than the other. A chat model is asked as the scorer is.
 */
export function decidedStances(
  { batch, ...asked }: Ask<StanceBatchAnswer>,
  { prompt, input, turned }: { readonly prompt: DecisionPrompt; readonly input: string; readonly turned: boolean },
): Ask<StanceBatchAnswer> {
  if (batch === undefined) throw new Error('a question about several comments is a batch')
  return {
    ...asked,
    role: 'decider',
    kept: keptStances,
    batch: { ...batch, single: keptStances },
    decision: {
      field: 'stance',
      instructions: prompt.instructions(),
      input,
      options: [...inOrder(SIDES, turned), NEITHER],
      each: Array.from({ length: batch.count }, (_, at) => `Comment ${at + 1}.`),
    },
    fromDecided: (likely) => ({
      scores: likely.map(({ affirms = 0, denies = 0 }, at) => ({ comment: at + 1, score: affirms - denies })),
    }),
  }
}
