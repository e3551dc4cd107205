import { z } from 'zod'
import { atLeastPaperTokenCap, preset } from '../preset.ts'

/** Every switch of the hate protocol. `config/gavel.yaml` says what each is for. */
export const hateSettings = z.strictObject({
  preset,
  decide: z.enum(['debate', 'majority', 'zero-shot']),
  perspectives: z
    .array(z.string())
    .refine((names) => new Set(names).size === names.length, 'a perspective is listed twice'),
  show: z.enum(['both', 'criteria', 'examples']),
  examples: z.int().min(1).max(50),
  rounds: z.int().min(1).max(2),
  history: z.enum(['algorithm', 'code']),
  abstentions: z.enum(['apart', 'else']),
  partlyRead: z.enum(['undecided', 'judged']),
  unheard: z.enum(['undecided', 'judged']),
  minPerspectives: z.number().min(0).max(0.99),
  temperature: z.number().min(0).max(2),
  answerTokens: z.int().min(16),
})
export type HateSettings = z.infer<typeof hateSettings>

/** The perspectives of the paper, its data sets A to E. */
const PAPER_PERSPECTIVES = ['k-haters', 'k-mhas', 'kold', 'kodoli', 'unsmile'] as const

/**
 * `preset: paper` turns off every departure from the paper: an abstention is filed as in Algorithm 1, a text that was
 * read only in part is judged by that part, lost perspectives and turns withhold no label, and unless perspectives are listed, the paper's five are asked and no
 * others. The paper gives no temperature: that of its code is set. The switches of its ablations stay as they are, and
 * so does `history`.
 */
export function applyPreset(settings: HateSettings): HateSettings {
  if (settings.preset === 'none') return settings
  const perspectives = settings.perspectives.length === 0 ? [...PAPER_PERSPECTIVES] : settings.perspectives
  const answerTokens = atLeastPaperTokenCap(settings.answerTokens)
  return {
    ...settings,
    abstentions: 'else',
    partlyRead: 'judged',
    unheard: 'judged',
    perspectives,
    temperature: 0,
    answerTokens,
  }
}
