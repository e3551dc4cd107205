import { z } from 'zod'
import { asSet, atLeastPaperTokenCap, defineSettings, departure, saving } from '../preset.ts'

/** Of a setting that is read as long as it is set, with a warning. */
function replacedBy(name: string) {
  return { description: `(departure) Replaced by cases.overload.${name}; it is still read.`, deprecated: true }
}

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
  stancesBy: departure(z.enum(['scorer', 'decider']), 'scorer'),
  stanceReasons: saving(z.enum(['given', 'none']), { name: 'stances without reasons', off: 'given', on: 'none' }),
  subjectivity: saving(z.enum(['apart', 'with-stances']), {
    name: 'subjectivity asked with the first stances',
    off: 'apart',
    on: 'with-stances',
  }),
  promptKind: asSet(z.enum(['auto', 'subjective', 'objective'])),
  debate: asSet(z.boolean()),
  debateWhen: departure(z.enum(['contested', 'always']), 'always'),
  minSideAuthors: asSet(z.int().min(1).max(50)),
  unverified: departure(z.boolean(), false),
  controlShare: departure(z.number().min(0).max(1), 0),
  endsAtEcho: departure(z.boolean(), false),
  decide: asSet(z.enum(['debate', 'vanilla'])),
  foldNearIdentical: departure(z.boolean(), false),
  perAuthor: departure(z.int().min(1).nullable(), null),
  unnamed: departure(z.int().min(1).nullable(), null),
  ties: departure(z.enum(['lot', 'time']), 'time'),
  order: departure(z.enum(['lot', 'fixed']), 'fixed'),
  parents: departure(z.boolean(), false),
  counts: departure(z.boolean(), false),
  elsewhere: departure(z.boolean(), false),
  times: departure(z.boolean(), false),
  judgeComments: departure(z.int().min(0).max(20), 0),
  oneScorer: departure(z.boolean(), false),
  splitQuestions: asSet(z.int().min(0).max(10_000)),
  minScored: asSet(z.number().min(0).max(1)),
  // Where these are not set, cases.overload says what is spared under load (src/app/composition/overload.ts).
  overloadedRounds: departure(z.int().min(0).max(10).nullable().optional().meta(replacedBy('single.rounds')), null),
  overloadedK: departure(z.int().min(1).max(200).nullable().optional().meta(replacedBy('sample.perSide')), null),
  overloadedComments: departure(z.int().min(1).nullable().optional().meta(replacedBy('sample.comments')), null),
  answerTokens: departure(z.int().min(16), atLeastPaperTokenCap),
})
export type RumorSettings = ReturnType<typeof rumorSettings.parse>
