import { normalized } from '../contracts/facts/normalized.ts'

/**
 * Whether a turn says word for word what an earlier one said, but for case, punctuation and spaces. Another word, such as "not" or
 * "harmless", may say the opposite.
 */
export function isEcho(turn: string, earlier: readonly string[]): boolean {
  const own = lettersOf(turn)
  return own !== '' && earlier.some((other) => lettersOf(other) === own)
}

function lettersOf(text: string): string {
  const plain = normalized(text, 'NFKC').toLowerCase()
  return plain.replace(/[^\p{L}\p{N}]+/gu, ' ').trim()
}
