import { setImmediate as others } from 'node:timers/promises'
import type { Protocol } from './script.ts'

/** Characters of a subject's texts that are prepared before other work has its turn: a few milliseconds. */
const AT_ONCE = 10_000

/** Has the protocol prepare what a script over this subject will read, in steps between which other work goes on. */
export async function prepared(protocol: Protocol, subject: unknown): Promise<void> {
  let characters = 0
  try {
    for (const step of protocol.prepare?.(subject) ?? []) {
      characters += step
      if (characters < AT_ONCE) continue
      characters = 0
      await others()
    }
  } catch {
    // A subject that is not this protocol's own: its script fails on it, and is reported there.
  }
}
