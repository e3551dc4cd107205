import { countAsk } from './ask.ts'
import { sizes } from './sizes.ts'

// How large the code is, and how long the way of an ask: npm run counts.

const say = (line: string) => process.stdout.write(`${line}\n`)
for (const { part, files, lines } of sizes())
  say(`${part.padEnd(32)} ${String(files).padStart(4)} files ${String(lines).padStart(6)} lines`)

const { frames, types, functions, files } = await countAsk()
say(
  `\nAn ask: ${functions.length} functions in ${files.length} files run; ${frames.length} are on the stack of its call:`,
)
for (const { name, file, line } of frames) say(`  ${name.padEnd(16)} ${file}:${line}`)
say(`They take and return ${types.length} types: ${types.join(', ')}`)
