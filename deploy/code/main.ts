import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { manifestFiles } from './all.ts'

/** Writes every manifest: `npm run manifests`. */
for (const [file, text] of manifestFiles()) {
  const path = join(import.meta.dirname, '..', 'kubernetes', file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
