import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contractFiles, SCHEMAS } from './all.ts'

/** Writes every contract as a file that others' tools read: `npm run schemas`. */
mkdirSync(SCHEMAS, { recursive: true })
for (const [file, json] of contractFiles()) writeFileSync(join(SCHEMAS, file), json)
