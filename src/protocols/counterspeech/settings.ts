import { z } from 'zod'
import { asSet, atLeastPaperTokenCap, defineSettings, departure, saving } from '../preset.ts'

/** Every switch of the counterspeech protocol. `config/gavel.yaml` explains each. */
export const counterspeechSettings = defineSettings({
  aspects: asSet(z.array(z.string().min(1)).min(1, 'names no aspect')),
  // Steps that nobody calibrated are no row of the paper; zero-shot and model-written (G-EVAL) are rows of Table 1.
  steps: departure(z.enum(['zero-shot', 'model-written', 'shipped', 'calibrated']), (steps) =>
    steps === 'shipped' ? 'calibrated' : steps,
  ),
  stepsFor: asSet(
    z
      .string()
      .regex(
        /^([A-Za-z0-9][A-Za-z0-9._-]*|[^\0]*\/[^\0]*)$/,
        'the name of a folder under config/steps/ (letters, digits, dots, dashes and underscores, the first a letter or digit), or a path with a slash in it',
      ),
  ),
  scoresBy: departure(z.enum(['scorer', 'decider']), 'scorer'),
  score: departure(z.enum(['answered', 'weighted']), 'answered'),
  batchSize: saving(z.int().min(1).max(10), { name: 'aspects in one call', off: 1, on: 4 }),
  // The paper gives none for scoring: 0, so that a table can be reproduced.
  temperature: departure(z.number().min(0).max(2), 0),
  answerTokens: departure(z.int().min(16), atLeastPaperTokenCap),
})
export type CounterspeechSettings = ReturnType<typeof counterspeechSettings.parse>
