import { z } from 'zod'

/** An item of a shelf as a neighbour of a text. */
export const neighbour = z.object({
  id: z.string(),
  text: z.string(),
  label: z.string(),
  /** Cosine similarity, -1 to 1. */
  similarity: z.number(),
  /** More fields stored with it: key cues of a precedent, where it came from, … */
  metadata: z.record(z.string(), z.string()),
})
export type Neighbour = z.infer<typeof neighbour>

/** What a lookup found, shelf by shelf in the order asked. */
export const found = z.object({
  shelves: z.array(
    z.object({
      shelf: z.string(),
      /** The nearest first. */
      neighbours: z.array(neighbour),
      /** Why there are none, in words: the shelf is missing, empty, or built with a different embedder. */
      problem: z.string().nullable(),
      /** Items that were nearer than the last of these and were left out; absent if there were none. */
      excluded: z
        .object({
          /** The case itself: its item, its text, or what was learnt from it. */
          own: z.int(),
          /** Near-duplicates, in an evaluation that holds them out. */
          nearDuplicates: z.int(),
        })
        .optional(),
      /** Items that were found and are not shown, because a subject that one of them was learnt from was deleted since. */
      withdrawn: z.int().optional(),
    }),
  ),
  /** Why the neighbours are weak, in words, if the embedder does not know the text's language. */
  weak: z.string().nullable(),
})
export type SearchResult = z.infer<typeof found>

/** An item that was found, and the owner whose content it is: it goes when its owner is deleted. */
export const shownItem = z.object({ shelf: z.string(), id: z.string(), owner: z.string() })
export type ShownItem = z.infer<typeof shownItem>

/** What was found, without these items. */
export function withoutItems(answer: unknown, items: readonly ShownItem[]): SearchResult {
  const { shelves, ...rest } = found.parse(answer)
  const left = shelves.map((looked) => {
    const gone = new Set(items.filter(({ shelf }) => shelf === looked.shelf).map(({ id }) => id))
    const neighbours = looked.neighbours.filter(({ id }) => !gone.has(id))
    // Of the others that were found nothing is kept either, so that no later deletion concerns the case.
    const withdrawn = (looked.withdrawn ?? 0) + looked.neighbours.length - neighbours.length
    if (withdrawn === 0) return looked
    const problem = neighbours.length > 0 ? looked.problem : withdrawnIn({ ...looked, withdrawn })
    return { ...looked, neighbours, withdrawn, problem }
  })
  return { ...rest, shelves: left }
}

/** Names of shelves that a sentence holds. */
const MOST_NAMED = 8

/** Why shelves had nothing to show, in words: what is wrong with several of them alike is said once. */
export function problemsOf(shelves: SearchResult['shelves']): string[] {
  const troubled = shelves.flatMap(({ shelf, problem }) => (problem === null ? [] : [{ shelf, problem }]))
  const alike = Map.groupBy(troubled, ({ shelf, problem }) => problem.replaceAll(`"${shelf}"`, ''))
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return []
    if (others.length === 0) return [first.problem]
    const named = others.slice(0, MOST_NAMED).map(({ shelf }) => `"${shelf}"`)
    const more = others.length - named.length
    return [`${first.problem}, and likewise ${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`]
  })
}

/** That some of what was found is not shown, in words; null if all of it is. */
export function withdrawnIn({ shelf, withdrawn = 0 }: SearchResult['shelves'][number]): string | null {
  if (withdrawn === 0) return null
  return `${withdrawn} found on the shelf "${shelf}", learnt from subjects one of which has been deleted since`
}
