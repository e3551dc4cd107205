import type { GoldItem } from './gold-item.ts'
import { type ItemOutcome, unjudged } from './outcomes.ts'
import { type Overlap, overlapOf } from './statistics/overlap.ts'

/**
 * How similar each reply is to its reference, as its score on every aspect that people rated (Auto-CSEval, Table 1). No model is
 * asked. Null where the data set has no references.
 */
export function byOverlap(items: readonly GoldItem[], metric: Overlap): ItemOutcome[] | null {
  if (items.every(({ pair }) => pair === undefined)) return null
  return items.map((item) => {
    const { degraded: _, ...rest } = unjudged(item)
    const { pair, ratings = {} } = item
    if (pair === undefined) return { ...rest, degraded: ['no reference'] }
    const score = overlapOf(metric, pair.reply, pair.reference)
    const scores = Object.fromEntries(Object.keys(ratings).map((aspect) => [aspect, score]))
    return { ...rest, scores, rationale: `${metric} ${score.toFixed(4)}`, degraded: [] }
  })
}
