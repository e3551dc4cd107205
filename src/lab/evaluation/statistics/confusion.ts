import type { Random } from './random.ts'

/**
 * How often each label was given for each true one. `counts[t][p]` are items of true label `labels[t]` that were called
 * `labels[p]`; the last column, `p = labels.length`, are those that got no label. Counts may be fractions where items have
 * weights.
 */
export interface Confusion {
  readonly labels: readonly string[]
  readonly counts: readonly (readonly number[])[]
}

export interface ClassScores {
  /** Share of items called so that are so; null where nothing was called so. */
  readonly precision: number | null
  /** Share of items that are so that were called so; null where nothing is so. */
  readonly recall: number | null
  /** 2·TP ÷ (2·TP + FP + FN); null where nothing is so or was called so. */
  readonly f1: number | null
  /** Items that are so. */
  readonly support: number
}

/**
 * The confusion matrix of pairs of a true and a predicted label; `null` is a verdict without a label. Throws a `RangeError`
 * on a label that is not among `labels`.
 */
export function confusionOf(
  labels: readonly string[],
  pairs: Iterable<{ readonly gold: string; readonly predicted: string | null }>,
): Confusion {
  const place = new Map(labels.map((label, at) => [label, at]))
  const counts = emptyCounts(labels)
  for (const { gold, predicted } of pairs) {
    const row = counts[placeOf(place, gold)] as number[]
    const column = predicted === null ? labels.length : placeOf(place, predicted)
    row[column] = (row[column] ?? 0) + 1
  }
  return { labels, counts }
}

/** The sum of matrices over the same labels. */
export function sumOf(labels: readonly string[], matrices: Iterable<Confusion>): Confusion {
  const counts = emptyCounts(labels)
  for (const matrix of matrices)
    for (const [t, row] of matrix.counts.entries())
      for (const [p, count] of row.entries()) (counts[t] as number[])[p] = ((counts[t] as number[])[p] ?? 0) + count
  return { labels, counts }
}

/** Number of items, those without a label among them. */
function totalOf({ counts }: Confusion): number {
  return counts.flat().reduce((sum, count) => sum + count, 0)
}

/** Share of all items that were called what they are; an item without a label counts as wrong. Null without items. */
export function accuracyOf(confusion: Confusion): number | null {
  return ratio(
    confusion.labels.reduce((sum, _, at) => sum + (confusion.counts[at]?.[at] ?? 0), 0),
    totalOf(confusion),
  )
}

/** Share of items that got a label at all. Null without items. */
export function coverageOf(confusion: Confusion): number | null {
  const none = confusion.counts.reduce((sum, row) => sum + (row[confusion.labels.length] ?? 0), 0)
  const total = totalOf(confusion)
  return ratio(total - none, total)
}

/** Precision, recall and F1 of one label. An item without a label is missed, and is nobody's false positive. */
export function classScores({ labels, counts }: Confusion, label: string): ClassScores {
  const at = labels.indexOf(label)
  const hits = counts[at]?.[at] ?? 0
  const support = (counts[at] ?? []).reduce((sum, count) => sum + count, 0)
  const called = counts.reduce((sum, row) => sum + (row[at] ?? 0), 0)
  return {
    precision: ratio(hits, called),
    recall: ratio(hits, support),
    f1: ratio(2 * hits, support + called),
    support,
  }
}

/** The plain mean of the labels' F1, over the labels that some item has; null without items. */
export function macroF1Of(confusion: Confusion): number | null {
  const scores = confusion.labels.map((label) => classScores(confusion, label)).filter(({ support }) => support > 0)
  return ratio(
    scores.reduce((sum, { f1 }) => sum + (f1 ?? 0), 0),
    scores.length,
  )
}

function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

function emptyCounts(labels: readonly string[]): number[][] {
  return labels.map(() => new Array<number>(labels.length + 1).fill(0))
}

function placeOf(places: ReadonlyMap<string, number>, label: string): number {
  const place = places.get(label)
  if (place === undefined) throw new RangeError(`"${label}" is none of the labels ${[...places.keys()].join(', ')}`)
  return place
}

/** The sums of `resamples` samples, each of as many matrices as there are, drawn with replacement. */
export function resampledSums(
  labels: readonly string[],
  matrices: readonly Confusion[],
  { random, resamples }: { random: Random; resamples: number },
): Confusion[] {
  const width = labels.length + 1
  const flat = matrices.map(({ counts }) => counts.flat())
  return Array.from({ length: resamples }, () => {
    const sum = new Array<number>(labels.length * width).fill(0)
    for (let drawn = 0; drawn < flat.length; drawn++) {
      const matrix = flat[random.below(flat.length)] ?? []
      for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) + (matrix[at] ?? 0)
    }
    return { labels, counts: labels.map((_, at) => sum.slice(at * width, (at + 1) * width)) }
  })
}
