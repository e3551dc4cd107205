import { writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { countAsk } from './ask.ts'
import { MAP, withMentions } from './mentions.ts'
import { CONCEPTS } from './names.ts'
import { countPost } from './post.ts'
import { countOwners, countRooms } from './rooms.ts'
import { sizes } from './sizes.ts'

// How large the code is, how its rooms hang together, and how long the way of an ask: npm run counts. It also writes the lists of
// files in ARCHITECTURE.md.

writeFileSync(MAP, withMentions().current)

const say = (line: string) => process.stdout.write(`${line}\n`)
for (const { part, files, lines } of sizes())
  say(`${part.padEnd(32)} ${String(files).padStart(4)} files ${String(lines).padStart(6)} lines`)

const { lines, arrows, upward, circles } = countRooms()
const all = [...lines.values()].reduce((sum, one) => sum + one, 0)
say(`\n${lines.size} rooms, ${arrows.length} arrows, ${upward.length} of them upward, ${circles.length} circles:`)
for (const [room, own] of [...lines].sort(([, a], [, b]) => b - a))
  say(`  ${room.padEnd(16)} ${String(own).padStart(6)} lines ${((100 * own) / all).toFixed(1).padStart(5)} %`)
for (const arrow of upward) say(`  upward: ${arrow}`)
for (const circle of circles) say(`  circle: ${circle.join(', ')}`)

say('\nWho reads or writes the keys, tables or topics of a concept, and who calls its port (files by room):')
const byRoom = (rooms: ReadonlyMap<string, number>) => [...rooms].map((one) => one.join(' ')).join(', ')
for (const { concept, owners, callers } of countOwners())
  say(`  ${concept.padEnd(14)} ${byRoom(owners).padEnd(34)} called by ${byRoom(callers)}`)

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
