import { counted } from '../../../commands/terminal.ts'
import { entryOf } from '../../../service/domain/entry-of.ts'
import { type Price, usdFor } from '../../../service/gateway/cost.ts'
import type { Recording } from '../../evaluation/recordings.ts'

/** Characters that a token of a prompt has on average. */
const CHARACTERS_PER_TOKEN = 4

/** What other settings would have asked that is not recorded, and about what it costs. */
export function whatWouldBeAsked(
  { missing, meanCompletionTokens }: Pick<Recording, 'missing' | 'meanCompletionTokens'>,
  prices: Readonly<Record<string, Price>>,
  yes: boolean,
): string {
  if (missing.size === 0) return 'Every question is answered already: nothing would be asked.'
  const questions = [...missing.values()]
  const usd = questions.reduce((sum, { model, characters }) => {
    const tokens = { prompt: characters / CHARACTERS_PER_TOKEN, completion: meanCompletionTokens() }
    return sum + usdFor(tokens, entryOf(prices, model))
  }, 0)
  const kinds = [...Map.groupBy(questions, ({ what }) => what)].map(([what, of]) => `  ${of.length} times ${what}`)
  return [
    `${counted(missing.size, 'question')} would be asked, for about $${usd.toFixed(4)}; their answers may lead to more:`,
    ...kinds,
    ...(yes ? [] : ['Run it again with --yes to ask them.']),
  ].join('\n')
}
