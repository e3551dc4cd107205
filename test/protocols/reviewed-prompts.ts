import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { PROJECT } from '../../config/load.ts'

/** Everything under `config/` that is put before a model. */
const FOLDERS = ['aspects', 'prompts', 'steps', 'perspectives', 'policies']
const TABLE = join(import.meta.dirname, 'reviewed-prompts.json')

/** Each file's path from `config/`, with the first 16 hex digits of the SHA-256 of its bytes, by path. */
export function shippedPrompts(): Record<string, string> {
  const config = join(PROJECT, 'config')
  const files = FOLDERS.flatMap((folder) => readdirSync(join(config, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  return Object.fromEntries(
    files.map((file) => [relative(config, file).split(sep).join('/'), digestOf(readFileSync(file))]),
  )
}

/** The same, as it was when somebody last read every file beside its paper. */
export function reviewedPrompts(): Record<string, string> {
  return JSON.parse(readFileSync(TABLE, 'utf8')) as Record<string, string>
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}

// `npm run review-prompts`: what is shipped now is what was reviewed.
if (import.meta.main) writeFileSync(TABLE, `${JSON.stringify(shippedPrompts(), null, 2)}\n`)
