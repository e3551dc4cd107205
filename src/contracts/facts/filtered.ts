import { z } from 'zod'

/** The categories that an endpoint's filter reports for a question or an answer; lower case, in the endpoint's own words. */
export const filtered = z.object({
  /** `hate`, `sexual`, `violence`, `self_harm`, `jailbreak`, … */
  category: z.string(),
  /** Absent if the endpoint gives none. */
  severity: z.string().optional(),
})
export type FilterRefusal = z.infer<typeof filtered>

/** The closed list of categories for metrics: what several endpoints name, all others, and what was not named. */
export const FILTER_CATEGORIES = [
  'hate',
  'harassment',
  'sexual',
  'violence',
  'self_harm',
  'jailbreak',
  'other',
  'unnamed',
] as const
export type FilterCategory = (typeof FILTER_CATEGORIES)[number]

/** Each category of the closed list that a filter found, once; `unnamed` if it named none. */
export function filterCategories(found: readonly FilterRefusal[]): FilterCategory[] {
  if (found.length === 0) return ['unnamed']
  return [...new Set(found.map(({ category }) => FILTER_CATEGORIES.find((known) => known === category) ?? 'other'))]
}

/** What endpoints' filters refused of one subject, by stage and model, as its verdict tells it. */
export const filteredQuestions = z.object({
  stage: z.string(),
  /** The model's name in the settings. */
  model: z.string(),
  /** How many calls it refused. */
  calls: z.number().int(),
  found: z.array(filtered),
  /** The comments that were refused alone, of a protocol that asks about comments. */
  comments: z.array(z.string()).optional(),
})
export type FilteredQuestions = z.infer<typeof filteredQuestions>
