import { entryOf } from '../domain/entry-of.ts'
import type { Outcome } from './outcomes.ts'
import { holm, mcNemar, pairedDifference } from './statistics/compare.ts'
import type { Estimate } from './statistics/intervals.ts'
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
  /** What else was shown to the judges than before, in words: comments that went missing, lines that were not read. */
  readonly shown: readonly string[]
  readonly alarm: boolean
}

/** Outcomes of one run, and how much of its data reached it. */
export interface Run {
  readonly outcomes: readonly Outcome[]
  /** Counts of what was read and shown, by name. */
  readonly counts: Readonly<Record<string, number>>
}

/**
 * Compares accuracy over the items that both runs have, in all and by slice: McNemar's exact test, Holm's correction, and
 * the paired bootstrap over the sampled units for how much. A gain past the margin alarms as a loss does: nobody gains
 * by chance what a leak would give. Other counts of what was shown alarm by themselves.
 */
export function compare(before: Run, now: Run, { margin, seed }: { margin: number; seed: string }): Comparison {
  const earlier = new Map(labelled(before.outcomes).map((outcome) => [outcome.id, outcome]))
  const pairs = labelled(now.outcomes).flatMap((outcome) => {
    const other = earlier.get(outcome.id)
    return other === undefined ? [] : [{ now: outcome, wasRight: isRight(other), isRight: isRight(outcome) }]
  })
  const compared = groupsOf(pairs).map((group) => ({ ...group, pValue: mcNemar(discordance(group.pairs)) }))
  const adjusted = holm(compared.map(({ pValue }) => pValue))
  const differences = compared.map((group, at) => differenceOf(group, adjusted[at] ?? 1, { margin, seed }))
  const shown = countsChanged(before.counts, now.counts)
  return {
    margin,
    onlyBefore: earlier.size - pairs.length,
    onlyNow: labelled(now.outcomes).length - pairs.length,
    differences,
    shown,
    alarm: shown.length > 0 || differences.some(({ alarm }) => alarm),
  }
}

interface Pair {
  readonly now: Outcome
  readonly wasRight: boolean
  readonly isRight: boolean
}

function labelled(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.filter(({ gold }) => gold !== null)
}

function isRight({ gold, label }: Outcome): boolean {
  return gold === label
}

function groupsOf(pairs: readonly Pair[]): { of: string; pairs: readonly Pair[] }[] {
  const names = [...new Set(pairs.flatMap(({ now }) => Object.keys(now.slices)))].sort()
  const slices = names.flatMap((by) => {
    const groups = [...Map.groupBy(pairs, ({ now }) => entryOf(now.slices, by) ?? '(none)')]
    return groups.length < 2 ? [] : groups.map(([value, inside]) => ({ of: `${by}: ${value}`, pairs: inside }))
  })
  return [{ of: 'all', pairs }, ...slices.filter((slice) => slice.pairs.length >= LEAST_IN_SLICE)]
}

function discordance(pairs: readonly Pair[]) {
  return {
    onlyFirst: pairs.filter((pair) => pair.wasRight && !pair.isRight).length,
    onlySecond: pairs.filter((pair) => !pair.wasRight && pair.isRight).length,
  }
}

function differenceOf(
  { of, pairs }: { of: string; pairs: readonly Pair[] },
  pValue: number,
  { margin, seed }: { margin: number; seed: string },
): Difference {
  const share = (right: (pair: Pair) => boolean) => (sample: readonly (readonly Pair[])[]) => {
    const all = sample.flat()
    return all.length === 0 ? null : all.filter(right).length / all.length
  }
  const [before, now] = [share((pair) => pair.wasRight), share((pair) => pair.isRight)]
  const units = [...Map.groupBy(pairs, (pair) => pair.now.unit).values()]
  const change = pairedDifference(
    units,
    { first: before, second: now },
    { random: seededRandom(`${seed} ${of}`), absent: 'no items in common' },
  )
  const alarm = pValue < ALPHA && Math.abs(change.value ?? 0) > margin
  return { of, items: pairs.length, before: before(units) ?? 0, now: now(units) ?? 0, change, pValue, alarm }
}

function countsChanged(before: Run['counts'], now: Run['counts']): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort()
  return names.flatMap((name) => {
    const [was, is] = [entryOf(before, name) ?? 0, entryOf(now, name) ?? 0]
    return was === is ? [] : [`${name}: ${was} before, ${is} now`]
  })
}
