import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isClone, root, userCache } from '../../../package-folder.js'

/** Where downloads are kept for the next time unless the caller names another folder. Nothing is kept for a user without a home. */
export function defaultCacheDirectory(): string {
  if (isClone) return join(root, '.cache')
  return userCache() ?? mkdtempSync(join(tmpdir(), 'gavel-'))
}
