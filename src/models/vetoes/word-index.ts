import { setImmediate as others } from 'node:timers/promises'
import { bitsIn } from '../images/pdq.ts'

/** A hash of 32 bytes has so many words of 16 bits. */
const [BYTES, WORDS, VALUES] = [32, 16, 65_536]
/** Hashes that are compared before other work has its turn: about a millisecond. */
const AT_ONCE = 65_536
/** Most bits in which a word may differ that is looked up: values that far from it are many more with each. */
const MOST_TURNED = 2

/** The largest distance that {@link wordIndex} is quicker for than a comparison with each hash. */
export const MOST_INDEXED = WORDS * (MOST_TURNED + 1) - 1

/** Where hashes have each value of one of their words: `order` has their numbers by that value, `begins` where each value's begin. */
interface WordColumn {
  readonly begins: Uint32Array
  readonly order: Uint32Array
}

/**
 * Finds hashes that are near another one without comparing all: of two that differ in at most 31 bits, one of sixteen words differs in
 * at most one. Takes 64 bytes a hash, and 4 MiB. `nearest`: the first of the nearest within a distance; null if there is none.
 */
export async function wordIndex(hashes: Buffer) {
  const numbers = new Uint32Array(hashes.buffer, hashes.byteOffset, hashes.length / 4)
  const columns: WordColumn[] = []
  for (let word = 0; word < WORDS; word++) {
    columns.push(columnOf(hashes, word))
    await others()
  }
  return {
    async nearest(hash: Buffer, distance: number): Promise<Buffer | null> {
      const wanted = new Uint32Array(Uint8Array.from(hash).buffer)
      let [found, least, compared] = [-1, distance + 1, 0]
      const compare = (nth: number) => {
        let apart = 0
        for (let at = 0; at < wanted.length && apart <= least; at++)
          apart += bitsIn((numbers[8 * nth + at] ?? 0) ^ (wanted[at] ?? 0))
        if (apart < least || (apart === least && nth < found)) [found, least] = [nth, apart]
      }
      for (const [word, { begins, order }] of columns.entries())
        for (const mask of masks(Math.floor(distance / WORDS))) {
          const value = hash.readUInt16BE(2 * word) ^ mask
          const [from, to] = [begins[value] ?? 0, begins[value + 1] ?? 0]
          for (let at = from; at < to; at++) {
            compare(order[at] ?? 0)
            if (++compared % AT_ONCE === 0) await others()
          }
        }
      return found < 0 ? null : hashes.subarray(BYTES * found, BYTES * (found + 1))
    },
  }
}

function columnOf(hashes: Buffer, word: number): WordColumn {
  const begins = new Uint32Array(VALUES + 1)
  const valueAt = (nth: number) => hashes.readUInt16BE(BYTES * nth + 2 * word)
  const entries = hashes.length / BYTES
  for (let nth = 0; nth < entries; nth++) begins[valueAt(nth) + 1] = (begins[valueAt(nth) + 1] ?? 0) + 1
  for (let value = 0; value < VALUES; value++) begins[value + 1] = (begins[value + 1] ?? 0) + (begins[value] ?? 0)
  const [next, order] = [begins.slice(), new Uint32Array(entries)]
  for (let nth = 0; nth < entries; nth++) {
    const place = next[valueAt(nth)] ?? 0
    next[valueAt(nth)] = place + 1
    order[place] = nth
  }
  return { begins, order }
}

/** By what a word of 16 bits is turned into each that differs in at most so many. */
function* masks(most: number, from = 0, mask = 0): Generator<number> {
  yield mask
  if (most > 0) for (let bit = from; bit < 16; bit++) yield* masks(most - 1, bit + 1, mask | (1 << bit))
}
