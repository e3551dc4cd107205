/** What a reply to hate speech is scored on (section 3.2), in the order in which it is asked and reported. */
export const ASPECTS = ['relevance', 'aggressiveness', 'coherence', 'suitableness'] as const
export type Aspect = (typeof ASPECTS)[number]

/** The highest score of each aspect; the lowest is 1. Aggressiveness is better the lower it is, the others the higher. */
export const HIGHEST: Readonly<Record<Aspect, number>> = {
  relevance: 5,
  aggressiveness: 5,
  coherence: 5,
  suitableness: 3,
}

/** Scores of one reply, as far as they exist. Means over several raters may be fractions. */
export type Scores = Readonly<Partial<Record<Aspect, number>>>

/**
 * Equation 2: the mean of the four, each on a scale of 1 to 5 on which higher is better: aggressiveness is inverted,
 * suitableness stretched. Null unless all four exist.
 */
export function unified({ relevance, aggressiveness, coherence, suitableness }: Scores): number | null {
  if (relevance === undefined || aggressiveness === undefined) return null
  if (coherence === undefined || suitableness === undefined) return null
  return (relevance + (6 - aggressiveness) + coherence) / 4 + (((suitableness - 1) / 2) * 4 + 1) / 4
}
