import type { ItemOutcome } from './outcomes.ts'
import type { Estimate } from './statistics/intervals.ts'
import { pairedDifference, pairedPermutation } from './statistics/paired-tests.ts'
import type { Random } from './statistics/random.ts'

/** One labelled item as two rows, or two runs, judged it. */
export interface OutcomePair {
  /** As the second has it: its unit and its slices. */
  readonly item: ItemOutcome
  /** Share of its judgings that were right: 0 or 1 where it was judged once. */
  readonly first: number
  readonly second: number
  /** Both shares are of whole numbers of so many parts; 1 where both judged once. */
  readonly parts: number
  /** Whether both have the same gold label. */
  readonly sameGold: boolean
}

/** The labelled items that both have, and how many only one has. An item that was judged several times is one pair. */
export function pairsOf(first: readonly ItemOutcome[], second: readonly ItemOutcome[]) {
  const [earlier, later] = [byItem(first), byItem(second)]
  const pairs = [...later].flatMap(([id, judgings]): OutcomePair[] => {
    const others = earlier.get(id)
    const [item, other] = [judgings[0], others?.[0]]
    if (item === undefined || others === undefined) return []
    const parts = others.length * judgings.length
    const shares = { first: shareRight(others), second: shareRight(judgings) }
    return [{ item, ...shares, parts, sameGold: item.gold === other?.gold }]
  })
  return { pairs, onlyFirst: earlier.size - pairs.length, onlySecond: later.size - pairs.length }
}

function byItem(outcomes: readonly ItemOutcome[]): Map<string, ItemOutcome[]> {
  return Map.groupBy(
    outcomes.filter(({ gold }) => gold !== null),
    ({ id }) => id,
  )
}

function shareRight(judgings: readonly ItemOutcome[]): number {
  return judgings.filter(({ gold, label }) => gold === label).length / judgings.length
}

/**
 * The two-sided p-value that neither is right more often, by the exact paired permutation test over the items' shares; where each was judged
 * once this is McNemar's. Repeats are no further items: one right answer of one is to four of five as it is in the accuracy.
 */
export function pairedTest(pairs: readonly OutcomePair[]): number {
  const scale = pairs.reduce((scale, { parts }) => (scale * parts) / greatestDivisor(scale, parts), 1)
  return pairedPermutation(pairs.map(({ first, second }) => Math.round((second - first) * scale)))
}

function greatestDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestDivisor(other, one % other)
}

/** The accuracy of both over all pairs, and the second's less the first's with its bootstrap interval over the sampled units. */
export function pairedChange(
  pairs: readonly OutcomePair[],
  random: Random,
): { readonly first: number; readonly second: number; readonly change: Estimate } {
  const units = [...Map.groupBy(pairs, ({ item }) => item.unit).values()].map((inside) => ({
    items: inside.length,
    first: inside.reduce((sum, { first }) => sum + first, 0),
    second: inside.reduce((sum, { second }) => sum + second, 0),
  }))
  const share = (of: 'first' | 'second') => (sample: readonly (typeof units)[number][]) => {
    const items = sample.reduce((sum, unit) => sum + unit.items, 0)
    return items === 0 ? null : sample.reduce((sum, unit) => sum + unit[of], 0) / items
  }
  const [first, second] = [share('first'), share('second')]
  const change = pairedDifference(units, { first, second }, { random, absent: 'no items in common' })
  return { first: first(units) ?? 0, second: second(units) ?? 0, change }
}
