import { failure, lookup } from '../../contracts/facts/ask.ts'
import { problemsOf, type SearchResult, withdrawnIn } from '../../contracts/facts/library.ts'
import { round, type SubScript } from '../../judging/engine/script.ts'
import { cutIn } from '../truncation.ts'
import type { HateContext } from './context.ts'
import type { Perspective } from './perspectives.ts'
import type { Example } from './questions.ts'
import { type HateSettings, rulesAlone } from './settings.ts'

/** The shelves to search; none if no examples are shown. */
export function shelvesOf(perspectives: readonly Perspective[], settings: HateSettings): string[] {
  if (settings.decide === 'zero-shot' || settings.show === 'criteria' || rulesAlone(settings)) return []
  return [...new Set(perspectives.flatMap(({ shelf }) => shelf ?? []))]
}

/**
 * Throws an error, a line a file, where perspectives would be asked by their examples alone and have no shelf: all of them would be sent the
 * same question, without criteria and without examples.
 */
export function checkExamplesAlone(perspectives: readonly Perspective[], settings: HateSettings): void {
  if (settings.show !== 'examples' || settings.decide === 'zero-shot' || rulesAlone(settings)) return
  const bare = perspectives.filter(({ shelf }) => shelf === undefined)
  if (bare.length > 0)
    throw new Error(
      bare
        .map(
          ({ name }) =>
            `config/perspectives/${name}.yaml: has no shelf, and show: examples leaves it nothing to judge by`,
        )
        .join('\n'),
    )
}

/** For all perspectives in one lookup: the nearest examples on each one's shelf. */
export function* similarContexts(context: HateContext): SubScript<ReadonlyMap<Perspective, readonly Example[]>> {
  const { text, post, perspectives, settings, degraded } = context
  const { lang } = post
  const shelves = shelvesOf(perspectives, settings)
  if (shelves.length === 0) return new Map()
  const wanted = { text, shelves, k: settings.examples, lang, ...cutIn(post) }
  const [found] = yield* round([lookup('retrieve', wanted)])
  if (!found.ok) {
    degraded.push(`retrieve failed: ${failure(found)}; judged without examples`)
    return new Map()
  }
  degraded.push(...troubles(found.answer, shelves))
  const similar = new Map(perspectives.map((one) => [one, examplesFor(one, found.answer, degraded)]))
  const foreign = perspectives.filter((one) => (similar.get(one) ?? []).length > 0 && differs(lang, one.lang))
  if (foreign.length > 0)
    degraded.push(
      `the text is said to be in ${lang}, the examples are not: ${foreign.map((one) => `${one.name} (${one.lang})`).join(', ')}`,
    )
  return similar
}

function examplesFor(perspective: Perspective, { shelves }: SearchResult, degraded: string[]): Example[] {
  const neighbours = shelves.find(({ shelf }) => shelf === perspective.shelf)?.neighbours ?? []
  const shown = neighbours.flatMap(({ id, text, label }) => {
    const own = perspective.ownLabel(label)
    return own === undefined ? [] : [{ id, text, label: own }]
  })
  const unknown = neighbours.length - shown.length
  if (unknown > 0)
    degraded.push(`perspective ${perspective.name}: ${unknown} examples left out, their labels are not its own`)
  return shown
}

/** The library's failure, in words. */
function troubles({ shelves, weak }: SearchResult, wanted: readonly string[]): string[] {
  const bare = wanted.flatMap((name) => {
    const shelf = shelves.find((one) => one.shelf === name)
    if (shelf === undefined) return [`shelf ${name}: was not searched`]
    // Said below, once for all that have the same.
    if (shelf.problem !== null) return []
    const withdrawn = withdrawnIn(shelf)
    if (withdrawn !== null) return [`examples left out: ${withdrawn}`]
    return shelf.neighbours.length === 0 ? [`shelf ${name}: no example was found`] : []
  })
  const without = problemsOf(shelves.filter(({ shelf }) => wanted.includes(shelf))).map((why) => `no examples: ${why}`)
  return [...without, ...bare, ...(weak === null ? [] : [`weak examples: ${weak}`])]
}

/** Whether two languages are known to differ, regions and scripts aside. */
function differs(given: string | undefined, other: string | undefined): boolean {
  const primary = (tag: string) => tag.toLowerCase().split(/[-_]/, 1)[0]
  return given !== undefined && other !== undefined && primary(given) !== primary(other)
}
