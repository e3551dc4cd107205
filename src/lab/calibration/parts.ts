import { OperatorError } from '../../contracts/facts/errors.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import type { RatedItem } from './rated-item.ts'

/** Ratings in three parts, by what belongs together: no statement is in two of them. */
export interface RatingParts {
  /** Examples for drafts come from here. */
  readonly development: readonly RatedItem[]
  /** Candidates are chosen, and the worst cases taken, from here. */
  readonly selection: readonly RatedItem[]
  /** The gain is reported on this part alone: no choice ever rests on it. */
  readonly test: readonly RatedItem[]
}

/** Shares of the units in development and selection; the rest is for the test. */
const SHARES = { development: 0.25, selection: 0.4 }
/** Fewer items than this tell no correlation apart from chance. */
const FEWEST = 10

/**
 * Parts the ratings by unit and seed. With `paper` all of them serve for drafts and selection alike, as in the paper, and none is
 * left for a test. Throws an `OperatorError` where a part would be too small, all its ratings are alike, or one reply stands in two
 * lines.
 */
export function partsOf(items: readonly RatedItem[], how: { seed: string; paper: boolean }): RatingParts {
  overlap(items)
  if (how.paper) return checked({ development: items, selection: items, test: [] })
  const units = seededRandom(`parts ${how.seed}`).shuffled([...Map.groupBy(sorted(items), ({ unit }) => unit).values()])
  const parts = { development: [] as RatedItem[], selection: [] as RatedItem[], test: [] as RatedItem[] }
  for (const unit of units) {
    const next =
      parts.development.length < items.length * SHARES.development
        ? parts.development
        : parts.selection.length < items.length * SHARES.selection
          ? parts.selection
          : parts.test
    next.push(...unit)
  }
  return checked(parts)
}

/** The same reply to the same statement in two units would be chosen by and then tested on; in one it would count twice. */
function overlap(items: readonly RatedItem[]): void {
  const seen = new Map<string, RatedItem>()
  for (const item of items) {
    const key = JSON.stringify([sameText(item.hateSpeech), sameText(item.counterspeech)])
    const other = seen.get(key)
    if (other !== undefined)
      throw new OperatorError(
        `The ratings overlap: ${other.id} and ${item.id} are the same reply to the same statement${other.unit === item.unit ? '' : `, in two units (${other.unit}, ${item.unit})`}. Put all raters of a reply into one line.`,
      )
    seen.set(key, item)
  }
}

function sameText(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim()
}

/** By id, so that the file's order does not matter. */
function sorted(items: readonly RatedItem[]): RatedItem[] {
  return items.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}

function checked(parts: RatingParts): RatingParts {
  for (const [name, items] of Object.entries(parts)) {
    if (name === 'test' && items.length === 0 && parts.development === parts.selection) continue
    if (items.length < FEWEST)
      throw new OperatorError(
        `The ratings are too few: the ${name} part has ${items.length} items, and needs ${FEWEST}. All replies to one hateful statement stay in one part; at least some ${FEWEST * 4} items are needed.`,
      )
    if (items.every(({ rating }: RatedItem) => rating === items[0]?.rating))
      throw new OperatorError(
        `All ${items.length} ratings of the ${name} part are alike: nothing can be learnt from them.`,
      )
  }
  return parts
}
