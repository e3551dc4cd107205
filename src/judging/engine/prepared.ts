import { setImmediate as others } from 'node:timers/promises'
import type { Protocol } from './script.ts'

/** Characters of a subject's texts that are prepared before other work has its turn: a few milliseconds. */
const AT_ONCE = 10_000

/** Ends when the last of the long subjects is prepared. */
let long: Promise<void> = Promise.resolve()

/**
 * Has the protocol prepare what a script over this subject will read, in steps between which other work goes on. Long
 * subjects are prepared one after the other: of many at a time each would put what is remembered of the others out, and
 * their scripts would read all of it again in one piece. Short ones wait for nobody.
 */
export async function prepared(protocol: Protocol, subject: unknown): Promise<void> {
  let characters = 0
  let ended: (() => void) | undefined
  try {
    for (const step of protocol.prepare?.(subject) ?? []) {
      characters += step
      if (characters < AT_ONCE) continue
      characters = 0
      if (ended === undefined) {
        const before = long
        const own = Promise.withResolvers<void>()
        long = own.promise
        ended = own.resolve
        await before
      }
      await others()
    }
  } catch {
    // A subject that is not this protocol's own: its script fails on it, and is reported there.
  } finally {
    ended?.()
  }
}
