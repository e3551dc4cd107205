/**
 * Fleiss' kappa (Fleiss 1971): agreement of raters beyond chance. `ratings[i][c]` is how many raters put item `i` into
 * category `c`. Its P is the observed agreement and its Pe that expected by chance. Null where chance alone agrees wholly
 * (all ratings in one category). Throws a `RangeError` unless every item has the same number of raters, two at least.
 */
export function fleissKappa(ratings: readonly (readonly number[])[]): number | null {
  const raters = sum(ratings[0] ?? [])
  if (raters < 2) throw new RangeError('Fleiss’ kappa needs two ratings an item at least')
  if (ratings.some((row) => sum(row) !== raters))
    throw new RangeError('Fleiss’ kappa needs as many ratings of each item; take Krippendorff’s alpha')
  const observed =
    sum(ratings.map((row) => (sum(row.map((count) => count * count)) - raters) / (raters * (raters - 1)))) /
    ratings.length
  const categories = ratings[0]?.length ?? 0
  const shares = Array.from(
    { length: categories },
    (_, at) => sum(ratings.map((row) => row[at] ?? 0)) / (ratings.length * raters),
  )
  const expected = sum(shares.map((share) => share * share))
  return expected === 1 ? null : (observed - expected) / (1 - expected)
}

/** How far two values are apart: all alike, by rank, or by their difference. */
export type Level = 'nominal' | 'ordinal' | 'interval'

/**
 * Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"): 1 is full agreement, 0 what chance
 * gives, below 0 less than chance. `units` are the ratings of each item, as many as it has; those of an item rated once pair
 * with nothing and don't count. Null where nothing pairs or no two values differ.
 */
export function krippendorffAlpha(units: readonly (readonly number[])[], level: Level): number | null {
  const paired = units.filter(({ length }) => length > 1)
  const values = [...new Set(paired.flat())].sort((one, other) => one - other)
  const place = new Map(values.map((value, at) => [value, at]))
  const coincidences = values.map(() => new Array<number>(values.length).fill(0))
  for (const ratings of paired)
    for (const [one, from] of ratings.entries())
      for (const [other, to] of ratings.entries())
        if (one !== other) {
          const row = coincidences[place.get(from) ?? 0] as number[]
          const column = place.get(to) ?? 0
          row[column] = (row[column] ?? 0) + 1 / (ratings.length - 1)
        }
  const totals = coincidences.map(sum)
  const n = sum(totals)
  let observed = 0
  let expected = 0
  for (let one = 0; one < values.length; one++)
    for (let other = 0; other < values.length; other++) {
      const apart = squaredDistance(level, values, totals, one, other)
      observed += (coincidences[one]?.[other] ?? 0) * apart
      expected += (totals[one] ?? 0) * (totals[other] ?? 0) * apart
    }
  return expected === 0 ? null : 1 - ((n - 1) * observed) / expected
}

function squaredDistance(
  level: Level,
  values: readonly number[],
  totals: readonly number[],
  one: number,
  other: number,
): number {
  if (one === other) return 0
  if (level === 'nominal') return 1
  if (level === 'interval') return ((values[one] ?? 0) - (values[other] ?? 0)) ** 2
  const [low, high] = one < other ? [one, other] : [other, one]
  return (sum(totals.slice(low, high + 1)) - ((totals[low] ?? 0) + (totals[high] ?? 0)) / 2) ** 2
}

/** What people themselves reach on labels on which they disagree. */
export interface HumanCeiling {
  /** How often one annotator agrees with most of the others, ties of the others counted by their share. */
  readonly oneAgainstOthers: number
  /** The greatest mean share of annotators that any single label an item can have on its side. */
  readonly bestShare: number
  /** Items with two annotators at least, on which both rest. */
  readonly items: number
}

/** The human ceiling over items' annotations, null where no item has two. */
export function humanCeiling(annotations: readonly (readonly string[])[]): HumanCeiling | null {
  const items = annotations.filter(({ length }) => length > 1)
  if (items.length === 0) return null
  const each = items.map((labels) => {
    const counts = new Map([...Map.groupBy(labels, (label) => label)].map(([label, of]) => [label, of.length]))
    const agreed = labels.map((own) => {
      const others = [...counts].map(([label, count]) => ({ label, count: label === own ? count - 1 : count }))
      const most = Math.max(...others.map(({ count }) => count))
      const leading = others.filter(({ count }) => count === most)
      return leading.some(({ label }) => label === own) ? 1 / leading.length : 0
    })
    return { agreed: sum(agreed) / labels.length, best: Math.max(...counts.values()) / labels.length }
  })
  return {
    oneAgainstOthers: sum(each.map(({ agreed }) => agreed)) / each.length,
    bestShare: sum(each.map(({ best }) => best)) / each.length,
    items: items.length,
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

/** What an agreement is called up to this κ, in hundredths (Landis and Koch 1977; PREDICT, Table 5). */
const KAPPA_WORDS = [
  [20, 'slight'],
  [40, 'fair'],
  [60, 'moderate'],
  [80, 'substantial'],
] as const

/** A κ in words. Table 5 leaves no place between its rows: κ is taken in hundredths. */
export function kappaInWords(kappa: number): string {
  const hundredths = Math.round(kappa * 100)
  if (hundredths < 0) return 'poor'
  return KAPPA_WORDS.find(([most]) => hundredths <= most)?.[1] ?? 'almost perfect'
}
