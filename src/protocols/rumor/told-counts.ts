/** How many comments take which side, as prompts tell it. */
export interface ToldCounts {
  readonly support: number
  readonly oppose: number
  readonly neither: number
}

/** From which ratio of the larger side to the smaller one on a lead has which name. */
const LEADS = [
  ['far ahead', 4],
  ['clearly ahead', 1.5],
  ['just ahead', 1],
] as const

/** 1 if more comments are for the claim, -1 if more are against it, 0 if neither. */
export function leadIn({ support, oppose }: ToldCounts): -1 | 0 | 1 {
  return support > oppose ? 1 : support < oppose ? -1 : 0
}

/**
 * The band of counts within which they tell the same: which side leads, by how much, and how many comments there are, to a power
 * of ten. One comment more seldom changes it, so that a thread is not debated again at each.
 */
export function bandOf(counts: ToldCounts): string {
  const { support, oppose, neither } = counts
  const [more, fewer] = [Math.max(support, oppose), Math.min(support, oppose)]
  const lead = { 1: 'support', [-1]: 'oppose', 0: 'even' }[leadIn(counts)]
  const by = fewer === 0 ? 'unopposed' : LEADS.find(([, ratio]) => more >= fewer * ratio)?.[0]
  return `${lead}, ${by}, ${String(support + oppose + neither).length} digits`
}
