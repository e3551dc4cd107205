/** One verdict's confidence, in [0, 1], and whether it was right. */
export interface ConfidentVerdict {
  readonly confidence: number
  readonly right: boolean
}

/** One bin of a reliability curve. */
export interface ReliabilityBin {
  /** From this confidence, … */
  readonly from: number
  /** … up to this one. The first bin holds 0 as well; each other begins just above `from`. */
  readonly to: number
  readonly items: number
  readonly meanConfidence: number
  /** Share of right ones. */
  readonly accuracy: number
}

/** The reliability curve over bins of equal width; empty bins are left out. */
export function reliability(items: readonly ConfidentVerdict[], bins = 10): ReliabilityBin[] {
  const binOf = ({ confidence }: ConfidentVerdict) => Math.min(bins - 1, Math.max(0, Math.ceil(confidence * bins) - 1))
  return [...Map.groupBy(items, binOf)]
    .sort(([one], [other]) => one - other)
    .map(([bin, inside]) => ({
      from: bin / bins,
      to: (bin + 1) / bins,
      items: inside.length,
      meanConfidence: inside.reduce((sum, { confidence }) => sum + confidence, 0) / inside.length,
      accuracy: inside.filter(({ right }) => right).length / inside.length,
    }))
}

/**
 * Expected calibration error (Naeini et al. 2015; Guo et al. 2017): the mean distance between confidence and accuracy over
 * bins of equal width, each by its share of items. Null without items.
 */
export function calibrationError(items: readonly ConfidentVerdict[], bins = 10): number | null {
  if (items.length === 0) return null
  return reliability(items, bins).reduce(
    (sum, bin) => sum + (bin.items / items.length) * Math.abs(bin.accuracy - bin.meanConfidence),
    0,
  )
}

/** One point of a risk–coverage curve. */
export interface CoveragePoint {
  /** Share of items that are decided without a person, the most confident first. */
  readonly coverage: number
  /** Share of wrong ones among them. */
  readonly risk: number
}

/**
 * The risk–coverage curve (El-Yaniv and Wiener 2010): a point at each confidence that occurs. Items of equal confidence come
 * together, since nothing tells which of them a person would see.
 */
export function riskCoverage(items: readonly ConfidentVerdict[]): CoveragePoint[] {
  const groups = [...Map.groupBy(items, ({ confidence }) => confidence)].sort(([one], [other]) => other - one)
  let decided = 0
  let wrong = 0
  return groups.map(([, alike]) => {
    decided += alike.length
    wrong += alike.filter(({ right }) => !right).length
    return { coverage: decided / items.length, risk: wrong / decided }
  })
}

/**
 * Share of wrong ones among what is left when people review `budget` (a share of all items), the least confident first; of
 * items of equal confidence the average. Null without items, or where people review all.
 */
export function riskAtBudget(items: readonly ConfidentVerdict[], budget: number): number | null {
  const kept = items.length * (1 - budget)
  if (items.length === 0 || kept <= 0) return null
  const groups = [...Map.groupBy(items, ({ confidence }) => confidence)].sort(([one], [other]) => other - one)
  let left = kept
  let wrong = 0
  for (const [, alike] of groups) {
    const taken = Math.min(left, alike.length)
    wrong += (alike.filter(({ right }) => !right).length * taken) / alike.length
    left -= taken
    if (left <= 0) break
  }
  return wrong / kept
}
