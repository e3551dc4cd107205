import { hmac } from '../../domain/hmac.ts'

const MOST_REMEMBERED = 200_000

/** Grams and marks as the database has them: by a keyed hash, for a key of an index stays when its last row is gone. */
export function hashing(secret: string) {
  const digest = hmac(secret)
  const known = new Map<string, number>()
  return {
    gram(gram: string): number {
      const before = known.get(gram)
      if (before !== undefined) return before
      if (known.size >= MOST_REMEMBERED) known.clear()
      const hashed = Number.parseInt(digest(gram, 'hex').slice(0, 8), 16) | 0
      known.set(gram, hashed)
      return hashed
    },
    /** Who wrote something is hashed; models, prompts, faults and languages are nobody's words. */
    mark: (mark: string, value: string) =>
      mark === 'author' ? digest(`author ${value}`, 'base64url') : value.slice(0, 200),
    key: (text: string) => digest(`key ${text}`, 'base64url'),
  }
}
export type Hashing = ReturnType<typeof hashing>
