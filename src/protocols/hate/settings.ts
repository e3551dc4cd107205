import { z } from 'zod'
import { asSet, atLeastPaperTokenCap, defineSettings, departure, saving } from '../preset.ts'

/** Three readings of one question: does it attack people for what they are, and nothing else? */
const READINGS: readonly string[] = ['as-worded', 'as-meant', 'as-received']
/** The same question by the words of three published rules. */
const PUBLISHED_RULES: readonly string[] = ['council-of-europe', 'platform-rules', 'un-strategy']
/** The sets for platforms: those that mean this by hateful. */
const PLATFORM_PERSPECTIVES: readonly string[] = [...READINGS, ...PUBLISHED_RULES]
/** The perspectives of the paper, its data sets A to E. */
const PAPER_PERSPECTIVES: readonly string[] = ['k-haters', 'k-mhas', 'kold', 'kodoli', 'unsmile']

/** Every switch of the hate protocol. `config/gavel.yaml` explains each. */
export const hateSettings = defineSettings({
  decide: asSet(z.enum(['debate', 'majority', 'zero-shot'])),
  perspectives: departure(
    z.array(z.string()).refine((names) => new Set(names).size === names.length, 'a perspective is listed twice'),
    (listed) => orElse(listed, PAPER_PERSPECTIVES),
  ),
  policies: departure(z.array(z.string()), []),
  cites: departure(z.boolean(), false),
  show: asSet(z.enum(['both', 'criteria', 'examples'])),
  // Three similar contexts (section 3.1).
  examples: departure(z.int().min(1).max(50), 3),
  batchSize: saving(z.int().min(1).max(10), { name: 'perspectives in one call', off: 1, on: 5 }),
  debateWhen: departure(z.enum(['never', 'contested', 'always']), 'always'),
  controlShare: departure(z.number().min(0).max(1), 0),
  exits: departure(z.boolean(), false),
  endsAtEcho: departure(z.boolean(), false),
  rounds: asSet(z.int().min(1).max(2)),
  history: asSet(z.enum(['algorithm', 'code'])),
  order: departure(z.enum(['lot', 'fixed']), 'fixed'),
  opens: departure(z.enum(['non-hate', 'lot']), 'non-hate'),
  // As in Algorithm 1; under `paper` with `history: code` apart (readHateSettings).
  abstentions: departure(z.enum(['apart', 'else']), 'else'),
  partlyRead: departure(z.enum(['undecided', 'judged']), 'judged'),
  unheard: departure(z.enum(['undecided', 'judged']), 'judged'),
  minPerspectives: asSet(z.number().min(0).max(0.99)),
  // The paper gives none: that of its code.
  temperature: departure(z.number().min(0).max(2), 0),
  answerTokens: departure(z.int().min(16), atLeastPaperTokenCap),
})
export type HateSettings = ReturnType<typeof hateSettings.parse>

/** The policy where none is named. */
export const SHIPPED_POLICY = 'hate'

const NOT_ASKED =
  'are not asked with debateWhen: never, by which the judge decides alone: list none, or set debateWhen to contested or always'

/**
 * Settings that were given, as their preset has them. Where no perspectives are listed, the three readings are asked, by the shipped
 * policy if none is named; perspectives that are listed judge by their own criteria, unless a policy is named. Throws if some are
 * listed and none is asked.
 */
export function readHateSettings(given: unknown): HateSettings {
  const settings = hateSettings.parse(given)
  const { decide, perspectives, policies, preset } = settings
  if (rulesAlone(settings) && perspectives.length > 0)
    throw new z.ZodError([{ code: 'custom', path: ['perspectives'], message: NOT_ASKED, input: perspectives }])
  const byPolicy = preset !== 'paper' && decide !== 'zero-shot'
  const shipped = perspectives.length === 0 ? [SHIPPED_POLICY] : []
  // PREDICT's code puts an answer that is neither label in neither reference.
  const byCode = preset === 'paper' && settings.history === 'code'
  return {
    ...settings,
    abstentions: byCode ? 'apart' : settings.abstentions,
    perspectives: orElse(perspectives, READINGS),
    policies: byPolicy ? orElse(policies, shipped) : [],
  }
}

/** Whether the judge decides alone, by the policy: no perspective is asked, and nobody debates. */
export function rulesAlone({ decide, debateWhen }: Pick<HateSettings, 'decide' | 'debateWhen'>): boolean {
  return decide === 'debate' && debateWhen === 'never'
}

function orElse(listed: string[], others: readonly string[]): string[] {
  return listed.length === 0 ? [...others] : listed
}

/** Whether sets for platforms are asked, or some of them. Other perspectives may mean something else by hateful. */
export function asksForPlatforms({ perspectives }: HateSettings): boolean {
  return perspectives.every((name) => PLATFORM_PERSPECTIVES.includes(name))
}
