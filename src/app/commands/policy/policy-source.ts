import { closeSync, openSync, readSync } from 'node:fs'
import { MOST_POLICY_BYTES } from '../../../protocols/policy.ts'

/** The text of a policy's file, or as much of it as shows that it is too long. Throws the file system's error. */
export function policySource(file: string): string {
  const read = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(MOST_POLICY_BYTES + 1)
    return bytes.toString('utf8', 0, readSync(read, bytes))
  } finally {
    closeSync(read)
  }
}
