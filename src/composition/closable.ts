/** What holds connections, timers or files until it is closed. */
export interface Closable {
  close(): Promise<unknown>
}

/** Remembers that this is to be closed, and returns it. */
export type Keep = <Part extends Closable>(part: Part) => Part

/**
 * Builds one part out of several: its `close` closes what was kept, last opened first. If the building fails, what was opened
 * by then is closed.
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
    for (const part of opened.splice(0).reverse()) await part.close()
  }
  try {
    return Object.assign(await build(keep), { close })
  } catch (error) {
    await close()
    throw error
  }
}
