/** How long each of so many times takes, one after the other, in ms. */
export async function timed(times: number, work: () => Promise<unknown>): Promise<number[]> {
  const all: number[] = []
  for (let n = 0; n < times; n++) {
    const before = performance.now()
    await work()
    all.push(performance.now() - before)
  }
  return all
}

/** The time within which this share of them lies; 0 of none. */
export function quantile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1] ?? 0
}
