import { z } from 'zod'
import { atLeastPaperTokenCap, preset } from '../preset.ts'

/** Every switch of the counterspeech protocol. `config/gavel.yaml` says what each is for. */
export const counterspeechSettings = z.strictObject({
  preset,
  aspects: z.array(z.string().min(1)).min(1, 'names no aspect'),
  steps: z.enum(['zero-shot', 'model-written', 'shipped', 'calibrated']),
  stepsFor: z
    .string()
    .regex(
      /^([A-Za-z0-9][A-Za-z0-9._-]*|[^\0]*\/[^\0]*)$/,
      'the name of a folder under config/steps/ (letters, digits, dots, dashes and underscores, the first a letter or digit), or a path with a slash in it',
    ),
  score: z.enum(['answered', 'weighted']),
  batchSize: z.int().min(1).max(10),
  temperature: z.number().min(0).max(2),
  answerTokens: z.int().min(16),
})
export type CounterspeechSettings = z.infer<typeof counterspeechSettings>

/** What `preset: thrifty` sets: each a switch of its own, and a row of `gavel eval --rows thrifty`. */
export const COUNTERSPEECH_SAVINGS = { 'aspects in one call': { batchSize: 4 } } as const

/**
 * `preset: paper` turns off steps that nobody calibrated; the other two rows of Table 1, zero-shot and model-written
 * (G-EVAL), stay as they are set. The paper gives no temperature for scoring: 0 is set, so that a table can be
 * reproduced.
 */
export function applyPreset(settings: CounterspeechSettings): CounterspeechSettings {
  if (settings.preset === 'thrifty') return Object.assign({ ...settings }, ...Object.values(COUNTERSPEECH_SAVINGS))
  if (settings.preset === 'none') return settings
  const steps = settings.steps === 'shipped' ? 'calibrated' : settings.steps
  return {
    ...settings,
    steps,
    score: 'answered',
    batchSize: 1,
    temperature: 0,
    answerTokens: atLeastPaperTokenCap(settings.answerTokens),
  }
}
