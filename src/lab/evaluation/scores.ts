import { entryOf } from '../../contracts/facts/entry-of.ts'
import { weightedShare } from '../../record/drawn-rates.ts'
import { correctnessOf, isDecided } from './decided.ts'
import type { ItemOutcome } from './outcomes.ts'
import { humanCeiling, krippendorffAlpha } from './statistics/agreement.ts'
import {
  type ConfidentVerdict,
  type CoveragePoint,
  calibrationError,
  type ReliabilityBin,
  reliability,
  riskAtBudget,
  riskCoverage,
} from './statistics/confidence.ts'
import {
  accuracyOf,
  type Confusion,
  classScores,
  confusionOf,
  coverageOf,
  macroF1Of,
  resampledSums,
  sumOf,
} from './statistics/confusion.ts'
import {
  type Estimate,
  estimateFrom,
  FEWEST_UNITS,
  type Interval,
  RESAMPLES,
  reachOf,
  wilson,
} from './statistics/intervals.ts'
import { seededRandom } from './statistics/random.ts'

/** Share of all items that people are taken to review, the least confident first. */
const REVIEW_BUDGET = 0.2
/** Slices with fewer items are counted and not scored. */
const LEAST_IN_SLICE = 20

/**
 * How good the labels of one row are. Every share is of all items: one without a label counts as wrong, never as absent. Where
 * items were judged several times, shares and the confusion matrix are of all their verdicts.
 */
export interface LabelScores {
  readonly items: number
  /** What was resampled for the intervals, and how many of them there are. */
  readonly units: { readonly count: number; readonly are: 'items' | 'groups' }
  /** Half the width that the interval of a share has at least with so many items: what the sample can show. Null without items. */
  readonly reach: number | null
  readonly accuracy: Estimate
  readonly macroF1: Estimate
  /** Share of items that got a label, and of those whose label decides: `unverified` does not. */
  readonly coverage: number | null
  readonly decided: number | null
  readonly classes: readonly ClassEstimates[]
  readonly confusion: Confusion
  /** The only label that items have; null where they have several. */
  readonly oneClass: string | null
  /** Null where verdicts don't say how sure they are. */
  readonly confidence: ConfidenceScores | null
  /** Null where no item has several annotators. */
  readonly people: PeopleScores | null
  readonly slices: readonly SliceScores[]
  /** Null where no item says by which chance it was drawn. */
  readonly drawn: DrawnAccuracy | null
}

/**
 * The accuracy over what chance drew, each item weighted by the inverse of its own: that of all from which it was drawn, whatever
 * else people looked at. An item that was judged several times counts by its first judging.
 */
export interface DrawnAccuracy {
  readonly items: number
  readonly accuracy: number
  /** 95 %, for shares with unequal weights (Korn and Graubard 1998). */
  readonly interval: { readonly low: number; readonly high: number }
  /** How many equally likely items would say as much. */
  readonly effective: number
}

export interface ClassEstimates {
  readonly label: string
  readonly support: number
  readonly precision: Estimate
  readonly recall: Estimate
  readonly f1: Estimate
}

export interface ConfidenceScores {
  /** Items with a confidence whose label can be right or wrong, on which the rest of this rests. */
  readonly items: number
  readonly calibrationError: number | null
  readonly reliability: readonly ReliabilityBin[]
  readonly riskCoverage: readonly CoveragePoint[]
  /** Share of wrong labels that remain when people review `budget` of the items. */
  readonly review: { readonly budget: number; readonly risk: number | null }
}

export interface PeopleScores {
  /** Items with two annotators at least. */
  readonly items: number
  /** Krippendorff's alpha over labels; null where all agree on one. */
  readonly alpha: number | null
  /** How often one annotator agrees with most of the others. */
  readonly oneAgainstOthers: number
  /** The greatest share of annotators that any labels could agree with on average. */
  readonly best: number
  /** The share that the verdicts agree with on average. */
  readonly verdicts: number
}

export interface SliceScores {
  /** The property by which the items are grouped: `language`, `event`, … */
  readonly by: string
  readonly value: string
  readonly items: number
  /** Null where the slice has too few items. */
  readonly accuracy: number | null
  readonly interval: Interval | null
}

/** The scores of outcomes that have a gold label. `seed` fixes the resamples. Throws a `RangeError` on a label not in `labels`. */
export function labelScores(outcomes: readonly ItemOutcome[], labels: readonly string[], seed: string): LabelScores {
  const judged = outcomes.flatMap(({ gold, label, ...rest }) => (gold === null ? [] : [{ ...rest, gold, label }]))
  const items = itemsIn(judged)
  const groups = [...Map.groupBy(judged, ({ unit }) => unit).values()]
  const said = new Set(judged.map(({ gold }) => gold))
  const oneClass = said.size === 1 ? (judged[0]?.gold ?? null) : null
  const matrices = groups.map((group) => confusionOf(labels, group.map(pairOf)))
  const confusion = sumOf(labels, matrices)
  const resamples = groups.length < FEWEST_UNITS ? 0 : RESAMPLES
  const sums = resampledSums(labels, matrices, { random: seededRandom(seed), resamples })
  const estimate = (
    absent: string,
    statistic: (of: Confusion) => number | null,
    tells: (unit: Confusion) => boolean = () => true,
    answers?: number,
  ): Estimate => {
    const values = sums.map(statistic).filter((value) => value !== null)
    const counts = {
      units: groups.length,
      telling: matrices.filter(tells).length,
      resamples,
      ...(answers === undefined ? {} : { answers }),
    }
    return estimateFrom(statistic(confusion), values, { ...counts, absent, kind: 'share' })
  }
  return {
    items,
    units: { count: groups.length, are: groups.length === items ? 'items' : 'groups' },
    reach: reachOf(items),
    accuracy: estimate('no items', accuracyOf, undefined, judged.length),
    macroF1: oneClass === null ? estimate('no items', macroF1Of) : noMacroF1(oneClass),
    coverage: coverageOf(confusion),
    decided: items === 0 ? null : judged.filter(({ label }) => isDecided(label)).length / judged.length,
    classes: labels.map((label) => ({
      label,
      support: classScores(confusion, label).support,
      precision: estimate(
        `nothing was called ${label}`,
        (of) => classScores(of, label).precision,
        (unit) => classScores(unit, label).precision !== null,
      ),
      recall: estimate(
        `no item is ${label}`,
        (of) => classScores(of, label).recall,
        (unit) => classScores(unit, label).recall !== null,
      ),
      f1: estimate(
        `no item has the label ${label}, in the data or in a verdict`,
        (of) => classScores(of, label).f1,
        (unit) => classScores(unit, label).f1 !== null,
      ),
    })),
    confusion,
    oneClass,
    confidence: confidenceScores(judged),
    people: peopleScores(judged, labels),
    slices: sliceScores(judged),
    drawn: drawnAccuracy(judged),
  }
}

function drawnAccuracy(judged: readonly Judged[]): DrawnAccuracy | null {
  const drawn = judged.flatMap(({ chance, repeat, gold, label }) =>
    chance === undefined || repeat !== undefined ? [] : [{ weight: 1 / chance, isHit: gold === label }],
  )
  const { share, interval, effective } = weightedShare(drawn)
  return share === null ? null : { items: drawn.length, accuracy: share, interval, effective }
}

/** A mean over classes that nobody was found in would read as a judge's fault. */
function noMacroF1(label: string): Estimate {
  return { value: null, interval: null, why: `all items are ${label}` }
}

/** How many items these are: one that was judged several times is one. */
export function itemsIn(outcomes: readonly Pick<ItemOutcome, 'id'>[]): number {
  return new Set(outcomes.map(({ id }) => id)).size
}

type Judged = ItemOutcome & { readonly gold: string }

function pairOf({ gold, label }: Judged) {
  return { gold, predicted: label }
}

function confidenceScores(judged: readonly Judged[]): ConfidenceScores | null {
  const items = judged.flatMap(({ gold, label, confidence }): ConfidentVerdict[] =>
    confidence === null || correctnessOf(label, gold) === 'undecided' ? [] : [{ confidence, right: label === gold }],
  )
  if (items.length === 0) return null
  return {
    items: items.length,
    calibrationError: calibrationError(items),
    reliability: reliability(items),
    riskCoverage: riskCoverage(items),
    review: { budget: REVIEW_BUDGET, risk: riskAtBudget(items, REVIEW_BUDGET) },
  }
}

function peopleScores(judged: readonly Judged[], labels: readonly string[]): PeopleScores | null {
  const several = judged.filter(({ annotations = [] }) => annotations.length > 1)
  const ceiling = humanCeiling(several.map(({ annotations = [] }) => annotations))
  if (ceiling === null) return null
  const shares = several.map(({ annotations = [], label }) => shareOf(annotations, label))
  return {
    items: ceiling.items,
    alpha: krippendorffAlpha(
      several.map(({ annotations = [] }) => annotations.map((label) => labels.indexOf(label))),
      'nominal',
    ),
    oneAgainstOthers: ceiling.oneAgainstOthers,
    best: ceiling.bestShare,
    verdicts: shares.reduce((sum, share) => sum + share, 0) / shares.length,
  }
}

function shareOf(annotations: readonly string[], label: string | null): number {
  return annotations.filter((given) => given === label).length / annotations.length
}

/** Every value of every slice, in order; of slices by which all items are alike none. */
function sliceScores(judged: readonly Judged[]): SliceScores[] {
  const names = [...new Set(judged.flatMap(({ slices }) => Object.keys(slices)))].sort()
  return names.flatMap((by) => {
    const groups = [...Map.groupBy(judged, ({ slices }) => entryOf(slices, by) ?? '(none)')].sort(byName)
    return groups.length < 2 ? [] : groups.map(([value, inside]) => sliceScore(by, value, inside))
  })
}

function sliceScore(by: string, value: string, judged: readonly Judged[]): SliceScores {
  const items = itemsIn(judged)
  if (items < LEAST_IN_SLICE) return { by, value, items, accuracy: null, interval: null }
  const right = judged.filter(({ gold, label }) => gold === label).length
  const single = new Set(judged.map(({ unit }) => unit)).size === judged.length
  return { by, value, items, accuracy: right / judged.length, interval: single ? wilson(right, items) : null }
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : one > other ? 1 : 0
}
