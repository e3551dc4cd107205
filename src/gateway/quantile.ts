/** The latest values, the oldest given up for a new one when there are `size`. */
export function lastOnes(size: number) {
  const values: number[] = []
  let next = 0
  let sorted: readonly number[] | null = null
  let unsorted = 0
  return {
    /** How many there are, at most `size`. */
    get count() {
      return values.length
    },
    add(value: number): void {
      values[next] = value
      next = (next + 1) % size
      unsorted++
    },
    /** In rising order; of many, a sixteenth of them may have come since. */
    sorted(): readonly number[] {
      if (sorted === null || unsorted * 16 >= values.length) {
        sorted = values.toSorted((a, b) => a - b)
        unsorted = 0
      }
      return sorted
    },
  }
}

/** The value below which this share of them lies, by the nearest rank; 0 of none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}
