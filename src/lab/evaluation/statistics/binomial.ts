import jstat from 'jstat'

/**
 * The chance of at most `most` hits of `items`, each with the chance `share`. Summed from the likeliest term on, since jstat's own
 * distribution ends at ten digits behind the point, and calls what is smaller 0.
 */
export function binomialTail(most: number, items: number, share: number): number {
  if (most >= items) return 1
  const odds = share / (1 - share)
  const first = Math.min(most, Math.floor((items + 1) * share))
  const ways = jstat.jStat.combinationln(items, first)
  const likeliest = Math.exp(ways + first * Math.log(share) + (items - first) * Math.log1p(-share))
  let sum = likeliest
  for (let [few, term] = [first, likeliest]; few > 0; few--) {
    term *= few / (items - few + 1) / odds
    sum += term
  }
  for (let [many, term] = [first, likeliest]; many < most; many++) {
    term *= ((items - many) / (many + 1)) * odds
    sum += term
  }
  return Math.min(1, sum)
}
