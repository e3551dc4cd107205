import { cut } from '../../domain/cut.ts'

/** Embedders read this much of a text, in characters: models know no more of it, and endpoints refuse much longer ones. */
const READ = 4_000

/** What is embedded of a text: of a long one beginning and end, without padding; never half a character. */
export function readPart(text: string): string {
  return cut(text, READ).text
}

/** Why the vector of a long text is weak, in words; null where all of it is read. */
export function weakByLength(text: string): string | null {
  const { left } = cut(text, READ)
  return left === 0 ? null : `beginning and end were compared: ${left} of ${text.length} characters were not`
}
