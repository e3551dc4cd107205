import { createHmac } from 'node:crypto'

/**
 * A fixed lot by which one is drawn out of many: a whole number below 2^48, the same on every machine that has the key. Ids are
 * of their senders' choosing; without the key nobody can tell which of them win, and what won in one scope wins in no other.
 */
export type Lot = (scope: string, id: string) => number

/** Raised when lots come to fall another way: samples that were drawn before it differ from those after. */
const VERSION = 1

export function lots(key: string): Lot {
  return (scope, id) => createHmac('sha256', key).update(`lot/${VERSION}\0${scope}\0${id}`).digest().readUIntBE(0, 6)
}
