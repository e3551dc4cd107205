import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { ItemOutcome } from './outcomes.ts'
import { type OutcomePair, pairedChange, pairedTest, pairsOf } from './pairs.ts'
import type { Estimate } from './statistics/intervals.ts'
import { holm } from './statistics/paired-tests.ts'
import { seededRandom } from './statistics/random.ts'

/** Slices with fewer items in common are not compared. */
const LEAST_IN_SLICE = 20
/** A difference counts as more than chance below this p-value, after Holm's correction over all that was compared. */
const ALPHA = 0.05

/** One group of items, before and now. */
export interface Difference {
  /** `all`, or a slice and its value: `language: ko`. */
  readonly of: string
  readonly items: number
  readonly before: number
  readonly now: number
  /** Now less before, with its interval where there are enough units. */
  readonly change: Estimate
  /** McNemar's, adjusted over all groups. */
  readonly pValue: number
  /** Beyond chance and beyond the margin, to the better or to the worse. */
  readonly alarm: boolean
}

/** What changed between two runs over the same items. */
export interface Comparison {
  readonly margin: number
  /** Items that only one run has: nothing is said of them. */
  readonly onlyBefore: number
  readonly onlyNow: number
  readonly differences: readonly Difference[]
  /** What else differs, in words: comments that went missing, lines that were not read, gold labels that were changed. */
  readonly shown: readonly string[]
  readonly alarm: boolean
}

/** Outcomes of one run, and how much of its data reached it. */
export interface EvaluationRun {
  readonly outcomes: readonly ItemOutcome[]
  /** Counts of what was read and shown, by name. */
  readonly counts: Readonly<Record<string, number>>
}

/**
 * Compares accuracy over the items that both runs have, in all and by slice: McNemar's exact test, Holm's correction, and
 * the paired bootstrap over the sampled units for how much. A gain past the margin alarms as a loss does: nobody gains
 * by chance what a leak would give. Other counts of what was shown, and other gold labels, alarm by themselves.
 */
export function compare(
  before: EvaluationRun,
  now: EvaluationRun,
  { margin, seed }: { margin: number; seed: string },
): Comparison {
  const { pairs, onlyFirst, onlySecond } = pairsOf(before.outcomes, now.outcomes)
  const compared = groupsOf(pairs).map((group) => ({ ...group, pValue: pairedTest(group.pairs) }))
  const adjusted = holm(compared.map(({ pValue }) => pValue))
  const differences = compared.map((group, at) => differenceOf(group, adjusted[at] ?? 1, { margin, seed }))
  const relabelled = pairs.filter(({ sameGold }) => !sameGold).length
  const shown = [
    ...countsChanged(before.counts, now.counts),
    ...(relabelled > 0 ? [`gold labels: ${relabelled} of ${pairs.length} items have another than before`] : []),
  ]
  return {
    margin,
    onlyBefore: onlyFirst,
    onlyNow: onlySecond,
    differences,
    shown,
    alarm: shown.length > 0 || differences.some(({ alarm }) => alarm),
  }
}

function groupsOf(pairs: readonly OutcomePair[]): { of: string; pairs: readonly OutcomePair[] }[] {
  const names = [...new Set(pairs.flatMap(({ item }) => Object.keys(item.slices)))].sort()
  const slices = names.flatMap((by) => {
    const groups = [...Map.groupBy(pairs, ({ item }) => entryOf(item.slices, by) ?? '(none)')]
    return groups.length < 2 ? [] : groups.map(([value, inside]) => ({ of: `${by}: ${value}`, pairs: inside }))
  })
  return [{ of: 'all', pairs }, ...slices.filter((slice) => slice.pairs.length >= LEAST_IN_SLICE)]
}

function differenceOf(
  { of, pairs }: { of: string; pairs: readonly OutcomePair[] },
  pValue: number,
  { margin, seed }: { margin: number; seed: string },
): Difference {
  const { first, second, change } = pairedChange(pairs, seededRandom(`${seed} ${of}`))
  const alarm = pValue < ALPHA && Math.abs(change.value ?? 0) > margin
  return { of, items: pairs.length, before: first, now: second, change, pValue, alarm }
}

function countsChanged(before: EvaluationRun['counts'], now: EvaluationRun['counts']): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort()
  return names.flatMap((name) => {
    const [was, is] = [entryOf(before, name) ?? 0, entryOf(now, name) ?? 0]
    return was === is ? [] : [`${name}: ${was} before, ${is} now`]
  })
}
