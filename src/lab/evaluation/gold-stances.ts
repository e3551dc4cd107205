import type { GoldItem } from './gold-item.ts'
import { type ItemOutcome, unjudged } from './outcomes.ts'

/**
 * What people's own stances say of each claim: a rumor where more comments deny it than support it, a non-rumor where fewer
 * do, nothing where they are as many. No model is asked, so this is what the crowd alone is worth. Null where the data set has no
 * stances.
 */
export function byGoldStances(items: readonly GoldItem[]): ItemOutcome[] | null {
  if (items.every(({ stances }) => stances === undefined)) return null
  return items.map((item) => {
    const { support = 0, deny = 0 } = item.stances ?? {}
    const label = deny > support ? 'rumor' : support > deny ? 'non-rumor' : null
    const counts = `${deny} comments deny it, ${support} support it`
    const { degraded: _, ...rest } = unjudged(item)
    return { ...rest, label, rationale: counts, degraded: label === null ? ['as many deny as support'] : [] }
  })
}
