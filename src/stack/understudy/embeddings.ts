import { hash } from './hash.ts'

/** Length of the understudy's vectors where the request names none. */
export const DIMENSIONS = 64

const TERM = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|[\p{L}\p{N}]+/gu

/** A unit vector of the text's words, hashed into signed buckets: texts that share words lie near each other. */
export function embed(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  for (const [term] of text.toLowerCase().matchAll(TERM)) {
    const bucket = hash(term)
    vector[bucket % dimensions] = (vector[bucket % dimensions] ?? 0) + (hash(term, 1) % 2 === 0 ? 1 : -1)
  }
  const length = Math.hypot(...vector)
  // No words, or words that cancel out: any fixed direction keeps the promise of a unit vector.
  if (length === 0) return vector.with(0, 1)
  return vector.map((value) => value / length)
}
