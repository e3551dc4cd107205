import { OperatorError } from '../../contracts/facts/errors.ts'
import type { GoldItem } from './gold-item.ts'
import { seededRandom } from './statistics/random.ts'

/** Which of a data set's items are measured. */
export interface SampleOptions {
  readonly seed: string | number
  /** So many; all that there are if it is left out. */
  readonly size?: number
  /** The same number of each label; without `size` as many as the rarest label has. */
  readonly balanced?: boolean
  /** The data set's own split of this name. Where it has none, `dev` or `test`, drawn by unit. */
  readonly split?: string
  /** Of the sample, this part of so many: each has as much of every label as the others. */
  readonly batch?: { readonly nth: number; readonly of: number }
  /** The share of all items that a drawn `dev` split has at most; 0.2 if it is left out. */
  readonly devShare?: number
}

/** What is sampled, for messages, and the protocol's labels. */
interface Sampled {
  readonly name: string
  readonly labels: readonly string[]
}

/**
 * The items of a sample, in random order; those that are left out for a reason are never in it. For the same seed it is the
 * same on every machine, whatever the file's order: each item's rank is a random number seeded with the seed and its id, and
 * the lowest ranks are taken. So a larger sample contains a smaller one. Throws an `OperatorError` with the numbers where there
 * are too few.
 */
export function sampleOf(items: readonly GoldItem[], sampled: Sampled, options: SampleOptions): GoldItem[] {
  const { seed, size, balanced = false } = options
  const usable = splitOf(items, sampled, options).filter(({ why }) => why === undefined)
  const ranked = byUrgency(usable, ({ id }) => id, seed)
  if (balanced) return batchOf(balancedOf(ranked, sampled, size), options.batch)
  if (size !== undefined && size > ranked.length)
    throw new OperatorError(`${sampled.name} has ${counted(ranked.length)}; ${size} were asked for.`)
  return batchOf(ranked.slice(0, size), options.batch)
}

/** Every label's items are dealt out in turn. */
function batchOf(items: GoldItem[], batch: SampleOptions['batch']): GoldItem[] {
  if (batch === undefined) return items
  const dealt = new Map<string | null, number>()
  return items.filter(({ label }) => {
    const nth = dealt.get(label) ?? 0
    dealt.set(label, nth + 1)
    return nth % batch.of === batch.nth - 1
  })
}

function balancedOf(ranked: readonly GoldItem[], { name, labels }: Sampled, size: number | undefined): GoldItem[] {
  if (labels.length === 0) throw new OperatorError(`${name} cannot be balanced: its items have no labels.`)
  if (size !== undefined && size % labels.length !== 0)
    throw new OperatorError(`${size} items can’t be divided equally among ${labels.length} labels.`)
  const counts = countsOf(ranked, labels)
  const each = size === undefined ? Math.min(...counts.map(({ count }) => count)) : size / labels.length
  const tooFew = counts.filter(({ count }) => count < Math.max(each, 1))
  if (tooFew.length > 0)
    throw new OperatorError(`${name} has ${countsText(tooFew)}; ${Math.max(each, 1)} a class were asked for.`)
  const taken = new Map(labels.map((label) => [label, 0]))
  return ranked.filter(({ label }) => {
    const so = label === null ? undefined : taken.get(label)
    if (label === null || so === undefined || so >= each) return false
    return taken.set(label, so + 1)
  })
}

/** The default share of `dev`. */
const DEV_SHARE = 0.2

function splitOf(items: readonly GoldItem[], { name }: Sampled, options: SampleOptions): readonly GoldItem[] {
  const { split, seed, devShare = DEV_SHARE } = options
  if (split === undefined) return items
  const own = Map.groupBy(items, (item) => item.split)
  if (own.has(split)) return own.get(split) ?? []
  const names = [...own.keys()].filter((one) => one !== undefined)
  if (names.length > 0) throw new OperatorError(`${name} has no split "${split}", but: ${names.toSorted().join(', ')}.`)
  if (split !== 'dev' && split !== 'test')
    throw new OperatorError(`${name} has no splits; "dev" and "test" can be drawn from it.`)
  const parts = drawSplit(items, seed, devShare)
  if (parts[split].length === 0)
    throw new OperatorError(
      `${name} has too few units for a "${split}" split: ${parts.units} with ${counted(items.length)}.`,
    )
  return parts[split]
}

/** Units in random order go to `dev` as long as they fit into its share, so that no unit is in both. */
function drawSplit(items: readonly GoldItem[], seed: string | number, devShare: number) {
  const units = [...Map.groupBy(items, ({ unit }) => unit)]
  const dev: GoldItem[] = []
  const test: GoldItem[] = []
  for (const [, of] of byUrgency(units, ([unit]) => unit, `split ${seed}`))
    (dev.length + of.length <= items.length * devShare ? dev : test).push(...of)
  return { dev, test, units: units.length }
}

/** The elements by a random number that is seeded with the seed and the element's name. */
function byUrgency<Element>(
  elements: readonly Element[],
  nameOf: (one: Element) => string,
  seed: string | number,
): Element[] {
  return elements
    .map((element) => ({ element, name: nameOf(element) }))
    .map(({ element, name }) => ({ element, name, rank: seededRandom(JSON.stringify([String(seed), name])).unit() }))
    .sort((one, other) => one.rank - other.rank || (one.name < other.name ? -1 : 1))
    .map(({ element }) => element)
}

function countsOf(items: readonly GoldItem[], labels: readonly string[]) {
  return labels.map((label) => ({ label, count: items.filter((item) => item.label === label).length }))
}

function countsText(counts: ReturnType<typeof countsOf>): string {
  return counts.map(({ label, count }) => `${count} ${label}`).join(' and ')
}

function counted(items: number): string {
  return items === 1 ? '1 item' : `${items} items`
}
