/** What holds connections, timers or files until it is closed. */
export interface Closable {
  close(): Promise<unknown>
}

/** Remembers that this is to be closed, and returns it. */
export type Keep = <Part extends Closable>(part: Part) => Part

/**
 * Builds one part out of several: its `close` closes what was kept, last opened first, also what comes after one that can't be
 * closed, and then rejects with the first error. If the building fails, what was opened by then is closed.
 */
export async function closable<Parts extends object>(
  build: (keep: Keep) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  const opened: Closable[] = []
  const keep: Keep = (part) => {
    opened.push(part)
    return part
  }
  const close = async () => {
    const failures: unknown[] = []
    for (const part of opened.splice(0).reverse())
      try {
        await part.close()
      } catch (error) {
        failures.push(error)
      }
    if (failures.length > 0) throw failures[0]
  }
  try {
    return Object.assign(await build(keep), { close })
  } catch (error) {
    // Why it could not be built says more than why some of it could not be closed.
    await close().catch(() => undefined)
    throw error
  }
}
