import { hmac } from './hmac.ts'

/**
 * An item's fixed rank in a random sample: an integer below {@link RANK_LIMIT}, the same on every machine that has the
 * key. A sample is the items with the smallest ranks. Senders choose their own ids; without the key they can't tell
 * which ids rank low, and a low rank in one scope reveals nothing about another scope.
 */
export type SamplingRank = (scope: string, id: string) => number

/** Every rank is below this. */
export const RANK_LIMIT = 2 ** 48
/** Hexadecimal digits of a rank. */
const RANK_DIGITS = 12

/** Raised when ranks are computed differently: samples from before then differ. */
const VERSION = 2

export function samplingRanks(key: string): SamplingRank {
  const keyed = hmac(key)
  return (scope, id) =>
    // With the scope's length, so that no id can be read as the end of another scope. The label `lot` determines all
    // ranks, so it stays.
    Number.parseInt(keyed(`lot/${VERSION}\0${scope.length}\0${scope}\0${id}`, 'hex').slice(0, RANK_DIGITS), 16)
}

/**
 * Identifies the key and the method of ranking, without revealing the key. With the same version, equal ids have equal
 * ranks.
 */
export function samplingKeyVersion(rank: SamplingRank): string {
  return `${VERSION}.${rank('draw', '').toString(36)}`
}
