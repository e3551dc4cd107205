import type { z } from 'zod'
import type { Ask } from '../../contracts/facts/ask.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { DecisionPrompt } from '../../protocols/decision-prompt.ts'
import type { categoriesAnswer } from './attributes.ts'

type Categories = z.infer<typeof categoriesAnswer>

/**
 * The categories of one text as the role `decider` is asked for them: a choice for each, yes or no, and the score is how likely yes is.
 * A chat model is asked as the moderator is. `input`: the text, fenced.
 */
export function categoriesDecision(
  prompt: DecisionPrompt,
  input: string,
): Pick<Ask<Categories>, 'role' | 'decision' | 'fromDecided'> {
  const told = prompt.instructions().split('\n')
  const named = told.flatMap((line) => {
    const [, name, meaning] = /^- (\w+): (.+)$/.exec(line) ?? []
    return name === undefined || meaning === undefined ? [] : [{ name, meaning }]
  })
  const instructions = told
    .filter((line) => !line.startsWith('- '))
    .join('\n')
    .trim()
  return {
    role: 'decider',
    decision: {
      field: 'category',
      instructions,
      input,
      options: [{ value: 'yes' }, { value: 'no' }],
      each: named.map(({ meaning }) => meaning),
    },
    // Whole ones, as the form asks for them.
    fromDecided: (likely) =>
      Object.fromEntries(
        named.map(({ name }, at) => [name, Math.round(100 * (entryOf(likely[at] ?? {}, 'yes') ?? 0))]),
      ) as Categories, // The file names each of them, which a test finds.
  }
}
