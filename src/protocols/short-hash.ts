import { createHash } from 'node:crypto'

/** Sixteen hex digits that tell two values apart, for the `versions` of verdicts. */
export function shortHash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
