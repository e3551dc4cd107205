import { hash } from './hash.ts'
import { isPlain, stemOf, termsOf } from './terms.ts'

/** Length of the understudy's vectors where the request names none. */
export const DIMENSIONS = 64

/** Words like `the` are in every text and should bring few together. */
const PLAIN_WEIGHT = 0.15

/** A unit vector of the text's words and their stems, hashed into signed buckets: texts that share words lie near each other. */
export function embed(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  const add = (feature: string, weight: number) => {
    const bucket = hash(feature) % dimensions
    vector[bucket] = (vector[bucket] ?? 0) + (hash(feature, 1) % 2 === 0 ? weight : -weight)
  }
  for (const term of termsOf(text)) {
    if (isPlain(term)) {
      add(term, PLAIN_WEIGHT)
      continue
    }
    add(term, 1)
    add(`${stemOf(term)}…`, 1)
  }
  const length = Math.hypot(...vector)
  // No words, or words that cancel out: any fixed direction keeps the promise of a unit vector.
  if (length === 0) return vector.with(0, 1)
  return vector.map((value) => value / length)
}
