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

/** Works of one name go one after another, in the order in which they came; those of different names side by side. */
export function inOrder(): <Result>(name: string, work: () => Promise<Result>) => Promise<Result> {
  const last = new Map<string, Promise<unknown>>()
  return async (name, work) => {
    const before = last.get(name)
    const own = before === undefined ? work() : before.then(work, work)
    last.set(name, own)
    try {
      return await own
    } finally {
      if (last.get(name) === own) last.delete(name)
    }
  }
}
