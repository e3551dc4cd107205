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
  batchSize: z.int().min(1).max(10),
  unanimous: z.enum(['debated', 'decided']),
  rounds: z.int().min(1).max(2),
  history: z.enum(['algorithm', 'code']),
  order: z.enum(['lot', 'fixed']),
  opens: z.enum(['non-hate', 'lot']),
  abstentions: z.enum(['apart', 'else']),
  partlyRead: z.enum(['undecided', 'judged']),
  unheard: z.enum(['undecided', 'judged']),
  minPerspectives: z.number().min(0).max(0.99),
  temperature: z.number().min(0).max(2),
  answerTokens: z.int().min(16),
})
export type HateSettings = z.infer<typeof hateSettings>

/** The set for platforms: attacks on people for what they are, and nothing else. */
const PLATFORM_PERSPECTIVES: readonly string[] = ['council-of-europe', 'platform-rules', 'un-strategy']
/** The perspectives of the paper, its data sets A to E. */
const PAPER_PERSPECTIVES = ['k-haters', 'k-mhas', 'kold', 'kodoli', 'unsmile'] as const

/** What `preset: thrifty` sets: each a switch of its own, and a row of `gavel eval --rows thrifty`. */
export const HATE_SAVINGS = {
  'no debate where all perspectives agree': { unanimous: 'decided' },
  'perspectives in one call': { batchSize: 5 },
} as const

/**
 * Where no perspectives are listed the set for platforms is asked. `preset: paper` turns off every departure from the paper: an
 * abstention is filed as in Algorithm 1, a text that was read only in part is judged by that part, lost perspectives and turns
 * withhold no label, every perspective is asked alone, with three similar contexts (section 3.1), and every text debated; and
 * unless perspectives are listed, the paper's five are asked and no others. The paper gives no temperature: that of its code is
 * set. The switches of its ablations stay as they are, and so does `history`.
 */
export function applyPreset(settings: HateSettings): HateSettings {
  const listed = (others: readonly string[]) =>
    settings.perspectives.length === 0 ? [...others] : settings.perspectives
  if (settings.preset !== 'paper') {
    const saved = settings.preset === 'thrifty' ? Object.assign({}, ...Object.values(HATE_SAVINGS)) : {}
    return { ...settings, ...saved, perspectives: listed(PLATFORM_PERSPECTIVES) }
  }
  const perspectives = listed(PAPER_PERSPECTIVES)
  const answerTokens = atLeastPaperTokenCap(settings.answerTokens)
  return {
    ...settings,
    examples: 3,
    abstentions: 'else',
    partlyRead: 'judged',
    unheard: 'judged',
    order: 'fixed',
    opens: 'non-hate',
    batchSize: 1,
    unanimous: 'debated',
    perspectives,
    temperature: 0,
    answerTokens,
  }
}

/** Whether the set for platforms is asked, or some of it. Other perspectives may mean something else by hateful. */
export function asksForPlatforms({ perspectives }: HateSettings): boolean {
  return perspectives.every((name) => PLATFORM_PERSPECTIVES.includes(name))
}
