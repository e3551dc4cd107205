import { cut } from '../../contracts/facts/cut.ts'

/** Embedders read this much of a text, in characters: models use no more of it, and endpoints refuse much longer ones. */
const READ = 4_000

/** The part of a text that is embedded: of a long one its beginning and end, without padding; never half a character. */
export function readPart(text: string): string {
  return cut(text, READ).text
}

/** Why the vector of a long text is weak, in words; null if all of the text is read. */
export function weakByLength(text: string): string | null {
  const { left } = cut(text, READ)
  return left === 0 ? null : `beginning and end were compared: ${left} of ${text.length} characters were not`
}
