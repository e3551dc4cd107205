import { createHash } from 'node:crypto'
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus'

/** A repeatable source of random numbers. */
export interface Random {
  /** A whole number from 0 to `end` − 1. */
  below(end: number): number
  /** A number in [0, 1). */
  unit(): number
  /** The same elements in random order (Fisher–Yates); the input stays as it is. */
  shuffled<Element>(elements: readonly Element[]): Element[]
}

/** The same numbers for the same seed, on every machine: xoroshiro128+, whose state is the seed's SHA-256. */
export function seededRandom(seed: string | number): Random {
  const digest = createHash('sha256').update(String(seed)).digest()
  const generator = xoroshiro128plusFromState([0, 4, 8, 12].map((at) => digest.readInt32LE(at)))
  const below = (end: number) => uniformInt(generator, 0, end - 1)
  return {
    below,
    unit: () => uniformFloat64(generator),
    shuffled(elements) {
      const result = [...elements]
      for (let last = result.length - 1; last > 0; last--) {
        const other = below(last + 1)
        const moved = result[last]
        result[last] = result[other] as (typeof result)[number]
        result[other] = moved as (typeof result)[number]
      }
      return result
    },
  }
}
