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
  textArbiter: z.enum(['by-role', 'small']),
  imageArbiter: z.enum(['by-role', 'small-first']),
  furtherRounds: z.enum(['held', 'straddling']),
  order: z.enum(['lot', 'fixed']),
  scoreFallback: z.enum(['none', 'paper']),
  partlyRead: z.enum(['undecided', 'judged']),
  unseen: z.enum(['undecided', 'judged']),
  answerTokens: z.int().min(16),
})
export type SafetySettings = z.infer<typeof safetySettings>

/** What `preset: thrifty` sets: each a switch of its own, and a row of `gavel eval --rows thrifty`. */
export const SAFETY_SAVINGS = {
  'small arbiter for posts without images': { textArbiter: 'small' },
  'small arbiter first for posts with images': { imageArbiter: 'small-first' },
  'second round only where the first straddles 0.5': { furtherRounds: 'straddling' },
} as const

/**
 * `preset: paper` turns off every departure from the paper; the switches of its ablations stay as they are set. The
 * paper gives no temperature: that of its code is set.
 */
export function applyPreset(settings: SafetySettings): SafetySettings {
  if (settings.preset === 'thrifty') return Object.assign({ ...settings }, ...Object.values(SAFETY_SAVINGS))
  if (settings.preset === 'none') return settings
  return {
    ...settings,
    textArbiter: 'by-role',
    imageArbiter: 'by-role',
    furtherRounds: 'held',
    order: 'fixed',
    scoreFallback: 'paper',
    partlyRead: 'judged',
    unseen: 'judged',
    temperature: 0,
    answerTokens: atLeastPaperTokenCap(settings.answerTokens),
  }
}
