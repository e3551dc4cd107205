import { z } from 'zod'
import { asSet, atLeastPaperTokenCap, defineSettings, departure, saving } from '../preset.ts'

/** Every switch of the safety protocol. `config/gavel.yaml` explains each. */
export const safetySettings = defineSettings({
  as: asSet(z.enum(['paper', 'code'])),
  rounds: asSet(z.int().min(1).max(3)),
  shelf: asSet(z.string().min(1)),
  k: asSet(z.int().min(1).max(10)),
  // The paper gives none: that of its code.
  temperature: departure(z.number().min(0).max(2), 0),
  policies: departure(z.array(z.string()), []),
  cites: departure(z.boolean(), false),
  images: asSet(z.boolean()),
  maxImages: asSet(z.int().min(1).max(20)),
  supporter: asSet(z.boolean()),
  retrieval: asSet(z.boolean()),
  strict: asSet(z.boolean()),
  loose: asSet(z.boolean()),
  models: asSet(z.enum(['by-role', 'all-large', 'all-small'])),
  textArbiter: saving(z.enum(['by-role', 'small']), {
    name: 'small arbiter for posts without images',
    off: 'by-role',
    on: 'small',
  }),
  imageArbiter: saving(z.enum(['by-role', 'small-first']), {
    name: 'small arbiter first for posts with images',
    off: 'by-role',
    on: 'small-first',
  }),
  debateWhen: departure(z.enum(['never', 'contested', 'always']), 'always'),
  controlShare: departure(z.number().min(0).max(1), 0),
  brief: departure(z.enum(['with-precedents', 'always']), 'always'),
  order: departure(z.enum(['lot', 'fixed']), 'fixed'),
  scoreFallback: departure(z.enum(['none', 'paper']), 'paper'),
  partlyRead: departure(z.enum(['undecided', 'judged']), 'judged'),
  unseen: departure(z.enum(['undecided', 'judged']), 'judged'),
  answerTokens: departure(z.int().min(16), atLeastPaperTokenCap),
})
export type SafetySettings = ReturnType<typeof safetySettings.parse>

/** Whether the questions are those of the published code; only under the preset `paper`. */
export function isByCode({ preset, as }: SafetySettings): boolean {
  return preset === 'paper' && as === 'code'
}

/** The policy where none is named. */
export const SHIPPED_POLICY = 'safety'

/** Settings that were given, as their preset has them, by the shipped policy if none is named; without debaters if they never debate. */
export function readSafetySettings(given: unknown): SafetySettings {
  const settings = safetySettings.parse(given)
  const isByPolicy = settings.preset !== 'paper' && settings.policies.length === 0
  const policies = isByPolicy ? [SHIPPED_POLICY] : settings.policies
  const isAlone = settings.debateWhen === 'never'
  return { ...settings, policies, ...(isAlone ? { strict: false, loose: false } : {}) }
}
