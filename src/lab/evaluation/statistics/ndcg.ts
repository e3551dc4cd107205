/**
 * Normalised discounted cumulative gain of a ranking by `scores`, highest first, where each item is worth `gains` (0 or
 * more): Σ gain ÷ log₂(rank + 1), over that of the best order (Järvelin and Kekäläinen 2002). Items of equal scores share the
 * gain that all their orders have on average. Null where nothing is worth anything.
 */
export function ndcg(gains: readonly number[], scores: readonly number[]): number | null {
  if (gains.length !== scores.length)
    throw new RangeError(`a ranking needs a score for each gain, and has ${scores.length} for ${gains.length}`)
  const best = dcg([...gains].sort((one, other) => other - one))
  if (best === 0) return null
  const groups = [...Map.groupBy(gains.keys(), (at) => scores[at] ?? 0)].sort(([one], [other]) => other - one)
  const averaged = groups.flatMap(([, places]) => {
    const mean = places.reduce((sum, at) => sum + (gains[at] ?? 0), 0) / places.length
    return places.map(() => mean)
  })
  return dcg(averaged) / best
}

/** What a random order has of NDCG on average: each place is worth the mean gain. Null where nothing is worth anything. */
export function randomNdcg(gains: readonly number[]): number | null {
  return ndcg(
    gains,
    gains.map(() => 0),
  )
}

function dcg(gains: readonly number[]): number {
  return gains.reduce((sum, gain, at) => sum + gain / Math.log2(at + 2), 0)
}
