import { basename, dirname } from 'node:path'
import { countAsk } from './ask.ts'
import { CONCEPTS } from './names.ts'
import { countPost } from './post.ts'
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

const post = await countPost()
say(`\nA post, adapters apart: ${post.functions.length} functions in ${post.files.length} files run:`)
for (const [folder, files] of Map.groupBy(post.files, dirname))
  say(`  ${folder.padEnd(28)} ${files.map((file) => basename(file, '.ts')).join(', ')}`)

say('\nNames from the settings to the verdict:')
for (const [concept, { has }] of Object.entries(CONCEPTS))
  say(`  ${concept.padEnd(24)} ${has.length}: ${has.join(', ')}`)
