import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { PROJECT } from '../../config/load.ts'
import { libraryOf } from '../../src/shelves/lancedb/library.ts'
import { settingsOf } from './pipeline.ts'

const line = z.object({
  text: z.string(),
  label: z.string(),
  metadata: z.record(z.string(), z.string()).default({}),
})

/** Puts the demo's shelves into the library that this environment names. */
export async function fillShelves(environment: Record<string, string>): Promise<void> {
  const library = libraryOf(settingsOf(environment), Date.now)
  const folder = join(PROJECT, 'config', 'demo', 'shelves')
  try {
    for (const file of readdirSync(folder)) {
      const lines = readFileSync(join(folder, file), 'utf8').trim().split('\n')
      const items = lines.map((text) => ({ ...line.parse(JSON.parse(text)), subject: null }))
      await library.add(file.replace(/\.jsonl$/, ''), items, 'a test', new AbortController().signal)
    }
  } finally {
    await library.close()
  }
}
