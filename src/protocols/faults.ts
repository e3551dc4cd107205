/** Both results, or one error with the faults of both, one per line. */
export function both<First, Second>(first: () => First, second: () => Second): [First, Second] {
  const faults: string[] = []
  const attempt = <Read>(read: () => Read): Read | undefined => {
    try {
      return read()
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error))
      return undefined
    }
  }
  const [one, two] = [attempt(first), attempt(second)]
  if (one === undefined || two === undefined) throw new Error(faults.join('\n'))
  return [one, two]
}
