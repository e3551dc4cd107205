import { createHmac } from 'node:crypto'

/**
 * A fixed lot by which one is drawn out of many: a whole number below {@link LOTS}, the same on every machine that has the key.
 * Ids are of their senders' choosing; without the key nobody can tell which of them win, and what won in one scope wins in no
 * other.
 */
export type Lot = (scope: string, id: string) => number

/** How many lots there are. */
export const LOTS = 2 ** 48

/** Raised when lots come to fall another way: samples that were drawn before it differ from those after. */
const VERSION = 2

export function lots(key: string): Lot {
  return (scope, id) =>
    // With the scope's length, so that no id can pass for the end of another scope.
    createHmac('sha256', key).update(`lot/${VERSION}\0${scope.length}\0${scope}\0${id}`).digest().readUIntBE(0, 6)
}

/** Names the draw: the version, and a mark of the key that does not tell it. Lots of one name fall the same way. */
export function drawOf(lot: Lot): string {
  return `${VERSION}.${lot('draw', '').toString(36)}`
}
