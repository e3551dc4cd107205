import { setImmediate } from 'node:timers/promises'

/** So many bytes are read without a pause: the densest of them take some milliseconds. */
const BYTES_AT_A_TIME = 32 * 1024

/** Counts bytes that are read; resolves at once, or after other work has had its turn. */
export function pauses(): (bytes: number) => Promise<void> | undefined {
  let since = 0
  return (bytes) => {
    since += bytes
    if (since < BYTES_AT_A_TIME) return undefined
    since = 0
    return setImmediate()
  }
}

/** Makes something of each entry of a list; other work has its turn between so many bytes of them. */
export async function madeInPauses<Entry, Made>(
  entries: readonly Entry[],
  bytesOf: (entry: Entry) => number,
  make: (entry: Entry) => Made,
): Promise<Made[]> {
  const pause = pauses()
  const made: Made[] = []
  for (const entry of entries) {
    await pause(bytesOf(entry))
    made.push(make(entry))
  }
  return made
}
