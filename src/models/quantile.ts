/** The latest `size` values: a new one replaces the oldest. */
export function lastOnes(size: number) {
  const values: number[] = []
  let next = 0
  let sorted: readonly number[] | null = null
  let unsorted = 0
  return {
    /** How many values there are, at most `size`. */
    get count() {
      return values.length
    },
    add(value: number): void {
      values[next] = value
      next = (next + 1) % size
      unsorted++
    },
    /** In ascending order. Sorting is costly: up to a sixteenth of the values may be newer than the returned order. */
    sorted(): readonly number[] {
      if (sorted === null || unsorted * 16 >= values.length) {
        sorted = values.toSorted((a, b) => a - b)
        unsorted = 0
      }
      return sorted
    },
  }
}

/** The quantile at `share` (0 to 1) of ascending values, by the nearest rank; 0 if there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}
