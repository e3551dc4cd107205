/** Something with connections, timers or files that must be closed. */
export interface Closable {
  close(): Promise<unknown>
}

/** Registers a part to be closed, and returns it. */
export type ClosableRegistrar = <Part extends Closable>(part: Part) => Part

/**
 * Builds one part out of several. Its `close` closes the registered parts, last opened first; if one fails, the rest are
 * still closed, and then it rejects with the first error. If building fails, what was opened so far is closed.
 */
export async function closable<Parts extends object>(
  build: (keep: ClosableRegistrar) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  const opened: Closable[] = []
  const keep: ClosableRegistrar = (part) => {
    // As it is now: whoever returns a part from here has its `close` replaced.
    opened.push({ close: part.close.bind(part) })
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
    // The reason why building failed matters more than an error from closing.
    await close().catch(() => undefined)
    throw error
  }
}

/** Registers parts that are closed side by side, in the place of the first of them. */
export function sideBySide(keep: ClosableRegistrar): ClosableRegistrar {
  const closings: (() => Promise<unknown>)[] = []
  keep({
    async close() {
      const ended = await Promise.allSettled(closings.splice(0).map((close) => close()))
      const failed = ended.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    },
  })
  return (part) => {
    closings.push(part.close.bind(part))
    return part
  }
}

/** How a stop's time, `drain` in ms, is divided. Each part leaves the rest to what closes after it. */

/** Of it, requests to the door and the console that are being answered. */
export function requestsDrain(drain: number): number {
  return 0.8 * drain
}

/**
 * Of it, calls in flight, where closing what is closed before them took so long already, in ms. After they have been cut off, their
 * cases are recorded and closed.
 */
export function callsDrain(drain: number, tookMs: number): number {
  return Math.max(0, drain - Math.min(3_000, drain / 3) - tookMs)
}
