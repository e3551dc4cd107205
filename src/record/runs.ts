import type { RecordBatch } from '../contracts/ports/record.ts'

/** An entry of a batch, at its place in the topic. */
export type PlacedEntry = RecordBatch['entries'][number]

/** What people reported, which is taken together. */
export function isFeedback({ entry }: PlacedEntry): boolean {
  return entry.what === 'said' && entry.said === 'feedback'
}

/** Neighbours of one kind, which are taken together; feedback apart from what else was said. */
export function runsOf(entries: readonly PlacedEntry[]): PlacedEntry[][] {
  const runs: PlacedEntry[][] = []
  for (const one of entries) {
    const last = runs.at(-1)
    const [first] = last ?? []
    if (first !== undefined && first.entry.what === one.entry.what && isFeedback(first) === isFeedback(one))
      last?.push(one)
    else runs.push([one])
  }
  return runs
}
