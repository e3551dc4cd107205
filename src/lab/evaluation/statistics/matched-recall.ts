import jstat from 'jstat'

/** Of the items of one class: how many there are, and how many only one of two judges got right. */
export interface MatchedClass {
  readonly items: number
  readonly onlyFirst: number
  readonly onlySecond: number
}

/**
 * An interval of the second judge's mean recall over classes less the first's, with `tail` beyond each end: 0.025 for one of 95 %. In each class it is Agresti and Min's adjusted
 * Wald interval for matched pairs (2005: half an item more in each of the four cells): where no item distinguishes two judges, it
 * shows how many might in a larger sample, which no resampling of these items can.
 */
export function matchedRecallInterval(
  classes: readonly MatchedClass[],
  tail: number,
): { readonly low: number; readonly high: number } {
  const each = classes.map(({ items, onlyFirst, onlySecond }) => {
    const [lost, won, all] = [onlyFirst + 0.5, onlySecond + 0.5, items + 2]
    const difference = (won - lost) / all
    return { difference, variance: (lost + won - (won - lost) ** 2 / all) / all ** 2 }
  })
  const middle = each.reduce((sum, { difference }) => sum + difference, 0) / each.length
  const deviation = Math.sqrt(each.reduce((sum, { variance }) => sum + variance, 0)) / each.length
  const reach = jstat.jStat.normal.inv(1 - tail, 0, 1) * deviation
  return { low: middle - reach, high: middle + reach }
}
