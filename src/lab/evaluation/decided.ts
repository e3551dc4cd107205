import { UNVERIFIED } from '../../contracts/facts/verdict-fields.ts'

/** What a data set's unverified claims count as. `unverified`: they are labelled so, which takes a protocol that has this label. */
export const UNVERIFIED_READINGS = ['leave-out', 'rumor', 'non-rumor', UNVERIFIED] as const
export type UnverifiedReading = (typeof UNVERIFIED_READINGS)[number]

/** Whether a verdict with this label says which of the two it is. */
export function isDecided(label: string | null): label is string {
  return label !== null && label !== UNVERIFIED
}

/** How an answer stands to what people say; one that decides nothing is wrong of nothing. */
export type Correctness = 'right' | 'wrong' | 'undecided'

/** `unverified` is right where people say so too, and else undecided. */
export function correctnessOf(label: string | null, gold: string): Correctness {
  if (label === gold) return 'right'
  return isDecided(label) ? 'wrong' : 'undecided'
}
