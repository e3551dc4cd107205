import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * `npm run readers:keep -- RUN KEPT`: what readers answered in the folder of a `gavel eval --out`, without the questions: their
 * texts are the data sets'. A question is known by its digest, so that whoever has the data can replay the answers.
 */
const [run = '', kept = ''] = process.argv.slice(2)

/** Whole lines of a file of JSON Lines, each once and in order, so that the same answers make the same file. */
async function rewritten(file: string, as: (line: Record<string, unknown>) => unknown): Promise<void> {
  const lines = (await readFile(join(run, file), 'utf8')).split('\n').filter((line) => line !== '')
  const sorted = [...new Set(lines.map((line) => JSON.stringify(as(JSON.parse(line)))))].sort()
  await writeFile(join(kept, file), sorted.map((line) => `${line}\n`).join(''))
}

await mkdir(kept, { recursive: true })
await rewritten('answers.jsonl', ({ digest, reply }) => ({ digest, reply }))
await rewritten('lookups.jsonl', (line) => line)
