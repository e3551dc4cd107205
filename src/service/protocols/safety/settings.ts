import { z } from 'zod'
import { atLeastPaperTokenCap, preset } from '../preset.ts'

/** Every switch of the safety protocol. `config/gavel.yaml` says what each is for. */
export const safetySettings = z.strictObject({
  preset,
  rounds: z.int().min(1).max(3),
  shelf: z.string().min(1),
  k: z.int().min(1).max(10),
  temperature: z.number().min(0).max(2),
  images: z.boolean(),
  maxImages: z.int().min(1).max(20),
  supporter: z.boolean(),
  retrieval: z.boolean(),
  strict: z.boolean(),
  loose: z.boolean(),
  models: z.enum(['by-role', 'all-large', 'all-small']),
  order: z.enum(['lot', 'fixed']),
  scoreFallback: z.enum(['none', 'paper']),
  partlyRead: z.enum(['undecided', 'judged']),
  unseen: z.enum(['undecided', 'judged']),
  answerTokens: z.int().min(16),
})
export type SafetySettings = z.infer<typeof safetySettings>

/**
 * `preset: paper` turns off every departure from the paper; the switches of its ablations stay as they are set. The
 * paper gives no temperature: that of its code is set.
 */
export function applyPreset(settings: SafetySettings): SafetySettings {
  if (settings.preset === 'none') return settings
  return {
    ...settings,
    order: 'fixed',
    scoreFallback: 'paper',
    partlyRead: 'judged',
    unseen: 'judged',
    temperature: 0,
    answerTokens: atLeastPaperTokenCap(settings.answerTokens),
  }
}
