import { normalized } from '../contracts/facts/normalized.ts'

/** Share of their parts that two texts must have in common to say the same. */
const SAME = 0.9
/** Letters of a part. Parts of letters, unlike words, are found in every script. */
const LETTERS = 4

/**
 * Whether a turn says nearly word for word what an earlier one said: in as many words, and in nearly the same parts of them (Dice's
 * coefficient). A word more, such as "not", may say the opposite.
 */
export function isEcho(turn: string, earlier: readonly string[]): boolean {
  const own = lettersOf(turn)
  const others = earlier.map(lettersOf).filter((other) => other.split(' ').length === own.split(' ').length)
  return own !== '' && others.some((other) => similarity(partsOf(own), partsOf(other)) >= SAME)
}

function similarity(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const common = [...one].filter((part) => other.has(part)).length
  return (2 * common) / (one.size + other.size)
}

function lettersOf(text: string): string {
  const plain = normalized(text, 'NFKC').toLowerCase()
  return plain.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
}

function partsOf(letters: string): ReadonlySet<string> {
  const count = Math.max(1, letters.length - LETTERS + 1)
  return new Set(Array.from({ length: count }, (_, at) => letters.slice(at, at + LETTERS)))
}
