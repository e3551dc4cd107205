import type { ItemOutcome } from './outcomes.ts'
import { type Confusion, confusionOf, macroF1Of, resampledSums } from './statistics/confusion.ts'
import { FEWEST_UNITS, quantileOf, RESAMPLES } from './statistics/intervals.ts'
import { matchedRecallInterval } from './statistics/matched-recall.ts'
import { seededRandom } from './statistics/random.ts'

/** The macro-F1 of one row less that of another, on the same items. */
export interface MacroF1Difference {
  readonly difference: number
  readonly low: number
  readonly high: number
}

type Labelled = ItemOutcome & { readonly gold: string }

/**
 * Compares rows on the same items. The bounds are the wider of two: of a bootstrap over what was sampled together, and of the
 * recalls of matched items; each leaves `tail` beyond it. Fewer than twenty units show nothing.
 */
export function pairedMacroF1(labels: readonly string[], seed: string, tail: number) {
  const drawn = new Map<readonly ItemOutcome[], readonly Confusion[]>()
  /** The same draws for each row, since its items are in the same order: so differences of two are paired. */
  function sumsOf(outcomes: readonly ItemOutcome[]): readonly Confusion[] {
    const known = drawn.get(outcomes)
    if (known !== undefined) return known
    const groups = [...Map.groupBy(labelled(outcomes), ({ unit }) => unit).values()]
    const sums =
      groups.length < FEWEST_UNITS
        ? []
        : resampledSums(
            labels,
            groups.map((group) => confusionIn(labels, group)),
            { random: seededRandom(seed), resamples: RESAMPLES },
          )
    drawn.set(outcomes, sums)
    return sums
  }

  return function differenceOf(row: readonly ItemOutcome[], other: readonly ItemOutcome[]): MacroF1Difference {
    const [f1, otherF1] = [row, other].map((of) => macroF1Of(confusionIn(labels, labelled(of))) ?? 0) as [
      number,
      number,
    ]
    const difference = f1 - otherF1
    const others = sumsOf(other)
    const differences = sumsOf(row)
      .map((sum, at) => (macroF1Of(sum) ?? 0) - (macroF1Of(others[at] as Confusion) ?? 0))
      .sort((one, two) => one - two)
    if (differences.length === 0) return { difference, low: -1, high: 1 }
    const recall = matchedRecallInterval(matched(other, row, labels), tail)
    return {
      difference,
      low: Math.min(difference, quantileOf(differences, tail), recall.low),
      high: Math.max(difference, quantileOf(differences, 1 - tail), recall.high),
    }
  }
}

function labelled(outcomes: readonly ItemOutcome[]): Labelled[] {
  return outcomes.flatMap((outcome) => (outcome.gold === null ? [] : [{ ...outcome, gold: outcome.gold }]))
}

function confusionIn(labels: readonly string[], outcomes: readonly Labelled[]): Confusion {
  return confusionOf(
    labels,
    outcomes.map(({ gold, label }) => ({ gold, predicted: label })),
  )
}

/** By class, how often only the first was right, and only the second. */
function matched(first: readonly ItemOutcome[], second: readonly ItemOutcome[], labels: readonly string[]) {
  const said = new Map(labelled(second).map((outcome) => [keyOf(outcome), outcome.label]))
  return labels.flatMap((label) => {
    const items = labelled(first).filter(({ gold }) => gold === label)
    const pairs = items.map((outcome) => [outcome.label === label, said.get(keyOf(outcome)) === label])
    if (items.length === 0) return []
    return [
      {
        items: items.length,
        onlyFirst: pairs.filter(([one, two]) => one && !two).length,
        onlySecond: pairs.filter(([one, two]) => two && !one).length,
      },
    ]
  })
}

/** One judging of an item. */
export function keyOf({ id, repeat = 1 }: ItemOutcome): string {
  return `${repeat} ${id}`
}
