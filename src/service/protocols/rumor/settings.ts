import { z } from 'zod'
import { atLeastPaperTokenCap, preset } from '../preset.ts'

/** Every switch of the rumor protocol. `config/gavel.yaml` says what each is for. */
export const rumorSettings = z.strictObject({
  preset,
  k: z.int().min(1).max(200),
  rounds: z.int().min(0).max(10),
  temperature: z.number().min(0).max(2),
  batchSize: z.int().min(1).max(50),
  stopAtConsensus: z.boolean(),
  reuseScores: z.boolean(),
  keepUnlessEvidenceChanged: z.boolean(),
  stance: z.boolean(),
  sampleSize: z.int().min(1).max(400),
  promptKind: z.enum(['auto', 'subjective', 'objective']),
  debate: z.boolean(),
  decide: z.enum(['debate', 'vanilla']),
  foldNearIdentical: z.boolean(),
  perAuthor: z.int().min(1).nullable(),
  unnamed: z.int().min(1).nullable(),
  ties: z.enum(['lot', 'time']),
  order: z.enum(['lot', 'fixed']),
  parents: z.boolean(),
  counts: z.boolean(),
  times: z.boolean(),
  judgeComments: z.int().min(0).max(20),
  oneScorer: z.boolean(),
  splitQuestions: z.int().min(0).max(10_000),
  minScored: z.number().min(0).max(1),
  pressedRounds: z.int().min(0).max(10).nullable(),
  pressedK: z.int().min(1).max(200).nullable(),
  pressedComments: z.int().min(1).nullable(),
  answerTokens: z.int().min(16),
})
export type RumorSettings = z.infer<typeof rumorSettings>

/**
 * `preset: paper` turns off every departure from the paper, and sets the paper's temperature; the switches of its
 * ablations stay as they are.
 */
export function applyPreset(settings: RumorSettings): RumorSettings {
  if (settings.preset === 'none') return settings
  return {
    ...settings,
    temperature: 0.2,
    answerTokens: atLeastPaperTokenCap(settings.answerTokens),
    batchSize: 1,
    stopAtConsensus: false,
    reuseScores: false,
    keepUnlessEvidenceChanged: false,
    foldNearIdentical: false,
    perAuthor: null,
    unnamed: null,
    ties: 'time',
    order: 'fixed',
    parents: false,
    counts: false,
    times: false,
    judgeComments: 0,
    oneScorer: false,
    pressedRounds: null,
    pressedK: null,
    pressedComments: null,
  }
}
