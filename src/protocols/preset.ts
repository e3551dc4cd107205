import { z } from 'zod'

/** `paper` turns off a protocol's departures from its paper, in its settings and in the wording of its prompts. */
export const preset = z.enum(['none', 'paper'])
export type Preset = z.infer<typeof preset>

/**
 * Longest answer under `paper`, in tokens. The papers set no limit, so this is the longest that gpt-3.5-turbo writes,
 * which two of them used.
 */
const PAPER_TOKEN_CAP = 4_096

/** A longer cap from the settings is kept. */
export function atLeastPaperTokenCap(answerTokens: number): number {
  return Math.max(answerTokens, PAPER_TOKEN_CAP)
}
