import { createCipheriv } from 'node:crypto'
import { hmac } from '../../contracts/facts/hmac.ts'

/** AES's, in bytes; a gram has at most three characters, of four bytes each. */
const BLOCK = 16

/** Grams and marks as the database has them: by a keyed hash, for a key of an index stays when its last row is gone. */
export function hashing(secret: string) {
  const digest = hmac(secret)
  // A permutation of blocks under a key: for texts of hundreds of grams that are hashed in one go.
  const cipher = createCipheriv('aes-128-ecb', Buffer.from(digest('grams', 'hex').slice(0, 2 * BLOCK), 'hex'), null)
  return {
    grams(grams: ReadonlySet<string>): number[] {
      const blocks = Buffer.alloc(grams.size * BLOCK)
      let at = 0
      for (const gram of grams) {
        let byte = at
        for (const character of gram) byte = blocks.writeUInt32LE(character.codePointAt(0) ?? 0, byte)
        at += BLOCK
      }
      const hashed = cipher.update(blocks)
      return Array.from({ length: grams.size }, (_, n) => hashed.readInt32LE(n * BLOCK))
    },
    /** Beside the grams of each text stands whose it is: others' texts are no candidates. */
    tenant: (tenant: string) => Number.parseInt(digest(`tenant ${tenant}`, 'hex').slice(0, 8), 16) | 0,
    /** Who wrote something, and which comment, is hashed; models, prompts, faults and languages are nobody's words. */
    mark: (mark: string, value: string) =>
      mark === 'author' || mark === 'elsewhere' ? digest(`${mark} ${value}`, 'base64url') : value.slice(0, 200),
    key: (text: string) => digest(`key ${text}`, 'base64url'),
  }
}
export type GramHashes = ReturnType<typeof hashing>
