/** A text that people have labelled, with the old score, where there is one, and ours; from 0 to 1. */
export interface TextWithScores {
  readonly isPositive: boolean
  readonly old: number | null
  readonly ours: number
}

/** What a threshold does: whatever scores as much or more is flagged. */
export interface ThresholdEffect {
  readonly threshold: number
  readonly flagged: number
  /** Of all texts. */
  readonly share: number
  /** Of the flagged ones: positive; null where none is flagged. */
  readonly precision: number | null
  /** Of the positive ones: flagged. */
  readonly recall: number
}

/** An old threshold, and ours by which it may be carried over. */
export interface ThresholdMatch {
  readonly old: ThresholdEffect
  /** Flags as many, as nearly as it can; of two as near the stricter one. */
  readonly sameShare: ThresholdEffect
  /** The strictest that misses no more. */
  readonly sameRecall: ThresholdEffect
  /** The least strict that is right as often; null where none is. */
  readonly samePrecision: ThresholdEffect | null
}

/** What every threshold of ours does that makes a difference, the strictest first. At least one text is needed. */
export function ourThresholds(texts: readonly TextWithScores[]): ThresholdEffect[] {
  return thresholds(texts.map(({ isPositive, ours }) => ({ isPositive, score: ours })))
}

/** How old thresholds are carried over, over the texts that have an old score. */
export function carriedOver(texts: readonly TextWithScores[], old: readonly number[]): ThresholdMatch[] {
  const both = texts.flatMap(({ isPositive, old: score, ours }) =>
    score === null ? [] : [{ isPositive, score, ours }],
  )
  const ours = ourThresholds(both.map(({ isPositive, ours: own }) => ({ isPositive, old: null, ours: own })))
  const [strictest] = ours
  if (strictest === undefined) return []
  return old.map((threshold) => {
    const was = atThreshold(both, threshold)
    const nearest = ours.reduce((best, one) =>
      Math.abs(one.flagged - was.flagged) < Math.abs(best.flagged - was.flagged) ? one : best,
    )
    return {
      old: was,
      sameShare: nearest,
      sameRecall: ours.find(({ recall }) => recall >= was.recall) ?? ours.at(-1) ?? strictest,
      samePrecision: ours.findLast(({ precision }) => (precision ?? 0) >= (was.precision ?? 2)) ?? null,
    }
  })
}

interface Labelled {
  readonly isPositive: boolean
  readonly score: number
}

function thresholds(texts: readonly Labelled[]): ThresholdEffect[] {
  const positive = texts.filter(({ isPositive }) => isPositive).length
  const sorted = texts.toSorted((one, other) => other.score - one.score)
  const all: ThresholdEffect[] = []
  let right = 0
  for (const [at, { score, isPositive }] of sorted.entries()) {
    if (isPositive) right++
    // All of one score are flagged together.
    if (sorted[at + 1]?.score !== score) all.push(countsAt(score, at + 1, right, { all: texts.length, positive }))
  }
  return all
}

function atThreshold(texts: readonly Labelled[], threshold: number): ThresholdEffect {
  const flagged = texts.filter(({ score }) => score >= threshold)
  const [right, positive] = [flagged, texts].map((some) => some.filter(({ isPositive }) => isPositive).length)
  return countsAt(threshold, flagged.length, right ?? 0, { all: texts.length, positive: positive ?? 0 })
}

function countsAt(
  threshold: number,
  flagged: number,
  right: number,
  of: { readonly all: number; readonly positive: number },
): ThresholdEffect {
  return {
    threshold,
    flagged,
    share: flagged / of.all,
    precision: flagged === 0 ? null : right / flagged,
    recall: of.positive === 0 ? 0 : right / of.positive,
  }
}
