import { loadFiles } from '../../../config/load.ts'
import type { Settings } from '../../../config/schema.ts'
import { fences } from '../domain/fence.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Clock } from '../ports/clock.ts'
import { readPrompts } from '../protocols/prompts.ts'
import { SCORE_PROMPTS, type Scorer, scorer } from '../scoring/score-text.ts'

/** Scores of single texts through this process's gateway, and the hash of the prompts that they are asked by. */
export function scoringPart(
  settings: Settings,
  { gateway, secret, clock }: { gateway: Pick<Gateway, 'ask'>; secret: string; clock: Clock },
): { readonly scorer: Scorer; readonly promptsHash: string } {
  const files = [...loadFiles('prompts/score')].map(([name, text]) => [name.replace(/\.md$/, ''), text] as const)
  const prompts = readPrompts(new Map(files), SCORE_PROMPTS)
  const fence = fences(secret, settings.fences)
  return {
    scorer: scorer({
      ...{ gateway, prompts, fence, settings: settings.door.scores, clock },
      maxChars: settings.fences.maxChars,
    }),
    promptsHash: prompts.hash,
  }
}
