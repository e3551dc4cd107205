import { createHash } from 'node:crypto'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { laneLanguage } from '../../contracts/facts/lane-mark.ts'
import type { Library } from '../../contracts/ports/library.ts'
import { sameWordsKey } from '../../protocols/same-words.ts'
import type { GoldItem } from '../evaluation/gold-item.ts'
import { seededRandom } from '../evaluation/statistics/random.ts'
import type { DecidedItem } from './fit-lane.ts'
import type { DeciderAnswers } from './read-answers.ts'

/** Throws an `OperatorError` where people gave all items one label, or none. */
export function mustHaveBoth(file: string, items: readonly Pick<GoldItem, 'label'>[]): void {
  const labels = new Set(items.map(({ label }) => label))
  if (labels.size > 1) return
  const has = labels.size === 0 ? 'no labelled item' : `the label ${[...labels].join()} alone`
  throw new OperatorError(`${file} has ${has}: a lane needs items of each label.`)
}

/**
 * The items of which each is as likely to be there as any other. Where some say by which chance they were drawn, those without one
 * were chosen by people, and are left out; of those with a greater chance than the least some are, by the seed alone. What a lane
 * settled is drawn more often than the rest, and is more often right: it would make errors look rarer than they are.
 */
export function equallyDrawn<Item extends Pick<GoldItem, 'id' | 'chance'>>(
  items: readonly Item[],
  seed: string,
): readonly Item[] {
  const least = items.reduce((lowest, { chance = 1 }) => Math.min(lowest, chance), 1)
  if (items.every(({ chance }) => chance === undefined)) return items
  const random = seededRandom(`chances ${seed}`)
  return items
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .filter(({ chance }) => chance !== undefined && random.unit() * chance < least)
}

/**
 * Throws an `OperatorError` where all that was drawn is what a first lane settled: of what it did not settle these say nothing, and a
 * lane is asked about that, too.
 */
export function mustHaveUnsettled(file: string, items: readonly Pick<GoldItem, 'chance' | 'slices'>[]): void {
  if (items.length === 0 || items.some(({ chance, slices }) => chance === undefined || slices.settled !== 'lane'))
    return
  throw new OperatorError(
    `${file} has only what a first lane settled (settled: lane): of all else nobody has decided on what was drawn. Decide on that in Review, with review.auditShare above 0, and export again.`,
  )
}

/** The items with what the decider said of them. Throws an `OperatorError` where it said nothing of any. */
export function decidedItems(
  file: string,
  gold: readonly GoldItem[],
  { said }: Pick<DeciderAnswers, 'said'>,
): DecidedItem[] {
  const items = gold.flatMap(({ id, label, text, unit, slices }): DecidedItem[] => {
    if (label === null) return []
    const lang = laneLanguage(slices.language)
    const words = text === undefined ? [] : [`words ${sameWordsKey(text)}`]
    return [{ id, lang, gold: label, said: said.get(id) ?? null, keys: [`id ${id}`, `unit ${unit}`, ...words] }]
  })
  if (items.every((item) => item.said === null))
    throw new OperatorError(`No answer is about an item of ${file}: ids must be the same.`)
  return items
}

/** The hash of what people say of which words, whatever the order, the ids and the copies in a file. */
export function dataHash(items: readonly Pick<GoldItem, 'label' | 'text'>[]): string {
  return hashOf(items.map(({ label, text = '' }) => [sameWordsKey(text), label]))
}

/** The hash of what the decider said. */
export function answersHash({ said }: Pick<DeciderAnswers, 'said'>): string {
  return hashOf([...said].map(([id, { label, confidence }]) => [id, label, confidence]))
}

function hashOf(rows: readonly (readonly unknown[])[]): string {
  const lines = [...new Set(rows.map((row) => JSON.stringify(row)))].sort()
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

/**
 * The ids of items whose text stands on a shelf that the tenant is shown, or nearly so. A decider that is shown shelves, or was
 * trained on them, knows their labels.
 */
export async function onShelves(
  library: Pick<Library, 'find' | 'shelves'>,
  items: readonly Pick<GoldItem, 'id' | 'text'>[],
  { tenant, sourceIdOf, signal }: { tenant: string; sourceIdOf: (id: string) => string; signal: AbortSignal },
): Promise<ReadonlySet<string>> {
  const shelves = [...new Set((await library.shelves()).map(({ name }) => name))]
  const found = new Set<string>()
  if (shelves.length === 0) return found
  for (const { id, text } of items) {
    if (text === undefined) continue
    signal.throwIfAborted()
    const wanted = { text, shelves, k: 1, sourceId: sourceIdOf(id), holdOutNearDuplicates: true }
    const { shelves: looked } = await library.find(wanted, { tenant, id, kind: 'post' }, signal)
    if (looked.some(({ excluded }) => (excluded?.own ?? 0) + (excluded?.nearDuplicates ?? 0) > 0)) found.add(id)
  }
  return found
}
