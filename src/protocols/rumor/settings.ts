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
  materialChange: z.number().min(0).max(1),
  stance: z.boolean(),
  sampleSize: z.int().min(1).max(400),
  stanceReasons: z.enum(['given', 'none']),
  subjectivity: z.enum(['apart', 'with-stances']),
  promptKind: z.enum(['auto', 'subjective', 'objective']),
  debate: z.boolean(),
  undisputed: z.enum(['debated', 'alone']),
  oneSided: z.enum(['debated', 'alone']),
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
  overloadedRounds: z.int().min(0).max(10).nullable(),
  overloadedK: z.int().min(1).max(200).nullable(),
  overloadedComments: z.int().min(1).nullable(),
  answerTokens: z.int().min(16),
})
export type RumorSettings = z.infer<typeof rumorSettings>

/** What `preset: thrifty` sets: each a switch of its own, and a row of `gavel eval --rows thrifty`. */
export const RUMOR_SAVINGS = {
  'subjectivity asked with the first stances': { subjectivity: 'with-stances' },
  'stances without reasons': { stanceReasons: 'none' },
  'one opinion where no comment takes a side': { undisputed: 'alone' },
  'one opinion where all comments take one side': { oneSided: 'alone' },
  'new debate only on material change': { materialChange: 0.25 },
} as const

/**
 * `preset: paper` turns off every departure from the paper, and sets the paper's temperature; the switches of its
 * ablations stay as they are.
 */
export function applyPreset(settings: RumorSettings): RumorSettings {
  if (settings.preset === 'thrifty') return Object.assign({ ...settings }, ...Object.values(RUMOR_SAVINGS))
  if (settings.preset === 'none') return settings
  return {
    ...settings,
    temperature: 0.2,
    answerTokens: atLeastPaperTokenCap(settings.answerTokens),
    batchSize: 1,
    stopAtConsensus: false,
    reuseScores: false,
    keepUnlessEvidenceChanged: false,
    materialChange: 0,
    stanceReasons: 'given',
    subjectivity: 'apart',
    undisputed: 'debated',
    oneSided: 'debated',
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
    overloadedRounds: null,
    overloadedK: null,
    overloadedComments: null,
  }
}
