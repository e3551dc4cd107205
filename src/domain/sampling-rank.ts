import { createHmac } from 'node:crypto'

/**
 * An item's fixed rank in a random sample: a whole number below {@link RANK_LIMIT}, the same on every machine that has the key.
 * A sample is the items with the smallest ranks. Senders choose their own ids; without the key nobody can tell which of them
 * rank low, and a low rank in one scope says nothing of another scope.
 */
export type SamplingRank = (scope: string, id: string) => number

/** Every rank is below this. */
export const RANK_LIMIT = 2 ** 48

/** Raised when ranks are computed in another way: samples from before differ from those after. */
const VERSION = 2

export function samplingRanks(key: string): SamplingRank {
  return (scope, id) =>
    // With the scope's length, so that no id can be read as the end of another scope. The label `lot` fixes all ranks: it stays.
    createHmac('sha256', key).update(`lot/${VERSION}\0${scope.length}\0${scope}\0${id}`).digest().readUIntBE(0, 6)
}

/** Names the key and the way of ranking, without telling the key. Under one name, equal ids have equal ranks. */
export function samplingKeyVersion(rank: SamplingRank): string {
  return `${VERSION}.${rank('draw', '').toString(36)}`
}
