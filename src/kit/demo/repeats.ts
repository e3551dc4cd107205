/** A record of the verdicts topic: the verdict's id, and the whole value as it was read. */
export interface PublishedRecord {
  readonly id: string
  readonly value: string
}

/** How many verdicts the records are, and what the further records of their ids hold. */
export interface Repeats {
  /** Different ids. */
  readonly verdicts: number
  /** Records that repeat the first one of their id byte for byte: legal, since verdicts are published at least once. */
  readonly identical: number
  /** Records that differ from the first one of their id: never legal. */
  readonly conflicting: number
}

/** Compares each record with the first one of its id. */
export function repeatsIn(records: readonly PublishedRecord[]): Repeats {
  const first = new Map<string, string>()
  let [identical, conflicting] = [0, 0]
  for (const { id, value } of records) {
    const before = first.get(id)
    if (before === undefined) first.set(id, value)
    else if (before === value) identical++
    else conflicting++
  }
  return { verdicts: first.size, identical, conflicting }
}
