/** One answer of a decider: the probability of the label that it chose, and whether people say the same. */
export interface AnswerTried {
  readonly confidence: number
  readonly right: boolean
}

/** From a decider's probability how often it is right: steps, or a curve. */
export type CalibrationMap =
  /** From each `from` on the share of right answers, both rising. */
  | { readonly method: 'isotonic'; readonly steps: readonly { readonly from: number; readonly right: number }[] }
  /** `1 / (1 + exp(-(slope · logit(confidence) + offset)))`. */
  | { readonly method: 'platt'; readonly slope: number; readonly offset: number }

/** From so many answers on the map has steps: with fewer it would repeat chance (Niculescu-Mizil and Caruana 2005). */
const LEAST_ISOTONIC = 200

/**
 * The map of these answers. It never falls, so that it changes no order of answers: only what their confidence is worth. Without
 * answers it gives one half.
 */
export function calibrationMap(answers: readonly AnswerTried[]): CalibrationMap {
  return answers.length < LEAST_ISOTONIC ? platt(answers) : isotonic(answers)
}

/** What a confidence is worth by the map, from 0 to 1. */
export function calibrated(map: CalibrationMap, confidence: number): number {
  if (map.method === 'platt') return logistic(map.slope * logit(confidence) + map.offset)
  const { steps } = map
  let [low, high] = [0, steps.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((steps[middle]?.from ?? 0) <= confidence) low = middle + 1
    else high = middle
  }
  // Below the first step nothing was seen.
  return steps[low - 1]?.right ?? 0
}

/** Isotonic regression by pooling adjacent violators (Ayer et al. 1955; Zadrozny and Elkan 2002). */
function isotonic(answers: readonly AnswerTried[]): CalibrationMap {
  const pools: { from: number; right: number; of: number }[] = []
  for (const { confidence, right } of answers.toSorted((one, other) => one.confidence - other.confidence)) {
    const last = pools.at(-1)
    // Equal confidences have one worth.
    if (last !== undefined && last.from === confidence) {
      last.right += Number(right)
      last.of++
    } else pools.push({ from: confidence, right: Number(right), of: 1 })
  }
  const risen: typeof pools = []
  for (const pool of pools) {
    let now = pool
    for (
      let last = risen.at(-1);
      last !== undefined && last.right * now.of >= now.right * last.of;
      last = risen.at(-1)
    ) {
      risen.pop()
      now = { from: last.from, right: last.right + now.right, of: last.of + now.of }
    }
    risen.push(now)
  }
  return { method: 'isotonic', steps: risen.map(({ from, right, of }) => ({ from, right: right / of })) }
}

/** Newton's steps of Platt's fit; it converges in fewer than ten. */
const STEPS = 30
/** Pulls the slope to 0, as much as half an answer does: else it has no bound where the confidence tells all. */
const RIDGE = 0.5

/** Platt's curve over log-odds, with his targets for few answers (Platt 1999; Lin, Lin and Weng 2007). */
function platt(answers: readonly AnswerTried[]): CalibrationMap {
  const right = answers.filter((one) => one.right).length
  const targets = { right: (right + 1) / (right + 2), wrong: 1 / (answers.length - right + 2) }
  const points = answers.map((one) => ({ x: logit(one.confidence), y: one.right ? targets.right : targets.wrong }))
  const flat = (right + 1) / (answers.length + 2)
  let [slope, offset] = [0, Math.log(flat / (1 - flat))]
  for (let step = 0; step < STEPS; step++) {
    let [bySlope, byOffset, xx, x1, one] = [-RIDGE * slope, 0, RIDGE, 0, 1e-9]
    for (const { x, y } of points) {
      const p = logistic(slope * x + offset)
      const weight = Math.max(p * (1 - p), 1e-9)
      bySlope += (y - p) * x
      byOffset += y - p
      xx += weight * x * x
      x1 += weight * x
      one += weight
    }
    const determinant = xx * one - x1 * x1
    slope += (one * bySlope - x1 * byOffset) / determinant
    offset += (xx * byOffset - x1 * bySlope) / determinant
  }
  // A surer answer that is less often right is no order to decide by.
  if (!(slope > 0) || !Number.isFinite(offset))
    return { method: 'platt', slope: 0, offset: Math.log(flat / (1 - flat)) }
  return { method: 'platt', slope, offset }
}

const logistic = (x: number) => 1 / (1 + Math.exp(-x))

/** Log-odds; certainty is taken for a chance of one in a million. */
function logit(p: number): number {
  const inside = Math.min(1 - 1e-6, Math.max(1e-6, p))
  return Math.log(inside / (1 - inside))
}
