import { hash } from 'node:crypto'

/** The keyed hash of a text: HMAC-SHA-256 (RFC 2104), 32 bytes in this encoding. */
export type Hmac = (text: string, encoding: 'hex' | 'base64url') => string

/** SHA-256 works on blocks of this many bytes. */
const BLOCK = 64
/** Longest text hashed without a copy of its own, in UTF-16 units, each of at most three bytes. */
const SHORT = 4_096

/**
 * HMAC-SHA-256 under one key, for texts that are hashed by the dozen for every case. It is made of two plain hashes: an
 * object of `createHmac`, and a buffer for each result, have to be finalized by the garbage collector, which costs more
 * than the hashing.
 */
export function hmac(key: string): Hmac {
  const bytes = Buffer.from(key)
  const block = Buffer.alloc(BLOCK)
  block.set(bytes.length > BLOCK ? hash('sha256', bytes, 'buffer') : bytes)
  const inner = Buffer.alloc(BLOCK + 3 * SHORT)
  inner.set(block.map((byte) => byte ^ 0x36))
  const outer = Buffer.alloc(BLOCK + 32)
  outer.set(block.map((byte) => byte ^ 0x5c))
  const padded = (text: string) =>
    text.length > SHORT
      ? Buffer.concat([inner.subarray(0, BLOCK), Buffer.from(text)])
      : inner.subarray(0, BLOCK + inner.write(text, BLOCK))
  return (text, encoding) => {
    outer.write(hash('sha256', padded(text), 'binary'), BLOCK, 'latin1')
    return hash('sha256', outer, encoding)
  }
}
