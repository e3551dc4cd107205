import { z } from 'zod'
import { asSet, atLeastPaperTokenCap, defineSettings, departure, saving } from '../preset.ts'

/** Every switch of the rumor protocol. `config/gavel.yaml` explains each. */
export const rumorSettings = defineSettings({
  k: asSet(z.int().min(1).max(200)),
  rounds: asSet(z.int().min(0).max(10)),
  temperature: departure(z.number().min(0).max(2), 0.2),
  batchSize: departure(z.int().min(1).max(50), 1),
  stopAtConsensus: departure(z.boolean(), false),
  reuseScores: departure(z.boolean(), false),
  keepUnlessEvidenceChanged: departure(z.boolean(), false),
  materialChange: saving(z.number().min(0).max(1), {
    name: 'new debate only on material change',
    off: 0,
    on: 0.25,
  }),
  stance: asSet(z.boolean()),
  sampleSize: asSet(z.int().min(1).max(400)),
  stanceReasons: saving(z.enum(['given', 'none']), { name: 'stances without reasons', off: 'given', on: 'none' }),
  subjectivity: saving(z.enum(['apart', 'with-stances']), {
    name: 'subjectivity asked with the first stances',
    off: 'apart',
    on: 'with-stances',
  }),
  promptKind: asSet(z.enum(['auto', 'subjective', 'objective'])),
  debate: asSet(z.boolean()),
  undisputed: saving(z.enum(['debated', 'alone']), {
    name: 'one opinion where no comment takes a side',
    off: 'debated',
    on: 'alone',
  }),
  oneSided: saving(z.enum(['debated', 'alone']), {
    name: 'one opinion where all comments take one side',
    off: 'debated',
    on: 'alone',
  }),
  decide: asSet(z.enum(['debate', 'vanilla'])),
  foldNearIdentical: departure(z.boolean(), false),
  perAuthor: departure(z.int().min(1).nullable(), null),
  unnamed: departure(z.int().min(1).nullable(), null),
  ties: departure(z.enum(['lot', 'time']), 'time'),
  order: departure(z.enum(['lot', 'fixed']), 'fixed'),
  parents: departure(z.boolean(), false),
  counts: departure(z.boolean(), false),
  times: departure(z.boolean(), false),
  judgeComments: departure(z.int().min(0).max(20), 0),
  oneScorer: departure(z.boolean(), false),
  splitQuestions: asSet(z.int().min(0).max(10_000)),
  minScored: asSet(z.number().min(0).max(1)),
  overloadedRounds: departure(z.int().min(0).max(10).nullable(), null),
  overloadedK: departure(z.int().min(1).max(200).nullable(), null),
  overloadedComments: departure(z.int().min(1).nullable(), null),
  answerTokens: departure(z.int().min(16), atLeastPaperTokenCap),
})
export type RumorSettings = ReturnType<typeof rumorSettings.parse>
