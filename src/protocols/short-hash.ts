import { createHash } from 'node:crypto'

/** A value's hash in sixteen hex digits, for the `versions` of verdicts. */
export function shortHash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
