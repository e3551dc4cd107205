import type { SamplingRank } from '../contracts/facts/sampling-rank.ts'

/**
 * Whether the second of two things comes first in all questions about this text: so for half of all texts, by a keyed
 * hash, since small models take what is offered first. A text's copies and later revisions are asked the same, and find
 * its remembered answers; nobody who lacks the key can foresee it.
 */
export function isTurned(rank: SamplingRank, text: string): boolean {
  return rank('what comes first', text) % 2 === 1
}

/** The items in their own order, or in the reverse of it. */
export function inOrder<Item>(items: readonly Item[], turned: boolean): readonly Item[] {
  return turned ? items.toReversed() : items
}
