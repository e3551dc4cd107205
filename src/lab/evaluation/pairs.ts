import type { ItemOutcome } from './outcomes.ts'
import type { Estimate } from './statistics/intervals.ts'
import { mcNemar, pairedDifference } from './statistics/paired-tests.ts'
import type { Random } from './statistics/random.ts'

/** One labelled item as two rows, or two runs, judged it. */
export interface OutcomePair {
  /** As the second has it: its unit and its slices. */
  readonly item: ItemOutcome
  /** Share of its judgings that were right: 0 or 1 where it was judged once. */
  readonly first: number
  readonly second: number
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
    return [{ item, first: shareRight(others), second: shareRight(judgings), sameGold: item.gold === other?.gold }]
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
 * The two-sided p-value that neither is right more often: McNemar's exact test. Repeats are no further items: of an item that was
 * judged several times it counts which of the two was right more often (the sign test, which McNemar's is for single judgings).
 */
export function pairedTest(pairs: readonly OutcomePair[]): number {
  return mcNemar({
    onlyFirst: pairs.filter(({ first, second }) => first > second).length,
    onlySecond: pairs.filter(({ first, second }) => first < second).length,
  })
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
