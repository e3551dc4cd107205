import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { drawnLines, PROTOCOLS } from './items.ts'

/** `npm run readers -- DATA FOLDER STEPS`: writes the items of the first so many steps of each protocol into the folder. */
const [data = '', folder = '.gavel/readers', steps = '1'] = process.argv.slice(2)
await mkdir(folder, { recursive: true })
for (const protocol of PROTOCOLS) {
  const file = join(folder, `${protocol}.jsonl`)
  const lines = await drawnLines(protocol, data, Number(steps))
  await writeFile(file, lines.map((line) => `${line}\n`).join(''))
  process.stdout.write(`${file}\n`)
}
