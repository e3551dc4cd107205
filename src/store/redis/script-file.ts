import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A list of keys and arguments whose length the caller chooses: one row per element, with these fields. */
export interface ListLayout {
  /** The list's name in Lua. */
  readonly name: string
  /** Fields that are keys, and fields that are arguments; the single field of a list of plain values is called ''. */
  readonly keys: readonly string[]
  readonly args: readonly string[]
}

/** A parsed script file. All names are Lua's. */
export interface ScriptFile {
  /** The code that Redis runs: the included files, then the header's names as locals, then the script itself. */
  readonly lua: string
  /** In the order in which they are sent; followed by the keys of each row of each list. */
  readonly keys: readonly string[]
  /** In the order in which they are sent; followed by the number of rows of each list, and then by the rows' arguments. */
  readonly args: readonly string[]
  readonly lists: readonly ListLayout[]
}

/** The text of a script, by its path under `src/store/` without `.lua`. */
export type ReadLua = (name: string) => string

/** A script stands in the folder of its concept, in the sources and in the build. */
export const SCRIPTS = join(import.meta.dirname, '..')
const fromFolder: ReadLua = (name) => readFileSync(join(SCRIPTS, `${name}.lua`), 'utf8')

const DIRECTIVE = /^--@(\S*)(?:\s+(\S+))?/
/** `name`, `list[]` or `list[].field`. */
const NAME = /^([a-z]\w*)(?:(\[\])(?:\.([a-z]\w*))?)?$/

/**
 * Reads a script. Its header names one key or argument a line, in any order, with an optional note behind the name:
 *
 *     --@include due             the file redis/include/due.lua, whose local functions the script may call
 *     --@include memo/frame      the file memo/include/frame.lua
 *     --@key thread              the local `thread`
 *     --@arg now  wall time, ms  the local `now`, a string like every argument
 *     --@arg protocols[]         the local `protocols`, an array of strings
 *     --@arg changes[].id        the local `changes`, an array of tables with the field `id`
 *
 * Before the first line of a block, `--@functions` makes those included functions there that only the block calls: a run that
 * leaves the block out does not pay for them.
 *
 * An included file may include others. Throws an error that names the file and the line that it can't read.
 */
export function readScript(name: string, read: ReadLua = fromFolder): ScriptFile {
  const included = new Map<string, string>()
  const keys: string[] = []
  const args: string[] = []
  const lists = new Map<string, { name: string; keys: string[]; args: string[] }>()

  function include(file: string, from: readonly string[]): void {
    if (from.includes(file)) throw new Error(`${[...from, file].join(' includes ')}, a circular include`)
    if (included.has(file)) return
    const text = read(file)
    for (const { word, value } of directivesOf(file, text)) {
      if (word !== 'include') throw new Error(`${file}.lua: an included file can't declare @${word}`)
      include(includedFile(value), [...from, file])
    }
    included.set(file, text)
  }

  function declare(kind: 'keys' | 'args', text: string): void {
    const [, first = '', isList, field = ''] = NAME.exec(text) ?? []
    if (first === '') throw new Error(`${name}.lua: ${text} is not a name, list[] or list[].field`)
    if (isList === undefined) {
      if (keys.includes(first) || args.includes(first) || lists.has(first))
        throw new Error(`${name}.lua: ${first} is named twice`)
      ;(kind === 'keys' ? keys : args).push(first)
      return
    }
    const list = lists.get(first) ?? { name: first, keys: [], args: [] }
    const fields = [...list.keys, ...list.args]
    const mixed = fields.length > 0 && (field === '' || fields.includes(''))
    if (fields.includes(field) || mixed || keys.includes(first) || args.includes(first))
      throw new Error(`${name}.lua: ${text} is named twice`)
    list[kind].push(field)
    lists.set(first, list)
  }

  const body = read(name)
  for (const { word, value } of directivesOf(name, body)) {
    if (word === 'include') include(includedFile(value), [name])
    else declare(word === 'key' ? 'keys' : 'args', value)
  }
  const layout = { keys, args, lists: [...lists.values()] }
  // The included files come first, so that they can't use the script's keys and arguments.
  const own = [bindingsOf(layout), body].join('\n')
  return { ...layout, lua: [`-- gavel: ${name}`, joined([...included.values()].join('\n'), own)].join('\n') }
}

/** A function of an included file: on one line, or up to the line that is its end. */
const FUNCTION = /^local function (\w+)\((?:.* end|.*\n(?:[^e].*\n|\n|e(?!nd$).*\n)*end)$/gm
/** A block of a script with its own functions: from the directive to a line that stands further out. */
const BLOCK = /^( +)--@functions\n((?:\1.*\n|\n)*)/gm

/**
 * A script with the included functions that it calls, since each run makes all of them anew: those that only a block calls
 * stand in that block, others before the script. A function calls only what stands above it.
 */
function joined(included: string, own: string): string {
  const wordsOf = (text: string) => text.replace(/^ *--.*/gm, '').match(/\w+/g) ?? []
  const partOf = (text: string) => ({ words: new Set(wordsOf(text)), functions: [] as string[] })
  const blocks = [...own.matchAll(BLOCK)].map(([, , text = '']) => partOf(text))
  const script = partOf(`${included.replace(FUNCTION, '')}\n${own.replace(BLOCK, '')}`)
  for (const [text, name = ''] of [...included.matchAll(FUNCTION)].reverse())
    for (const part of script.words.has(name) ? [script] : blocks.filter(({ words }) => words.has(name))) {
      for (const word of wordsOf(text)) part.words.add(word)
      part.functions.unshift(text)
    }
  const before = included.replace(FUNCTION, (text) => (script.functions.includes(text) ? text : ''))
  const inBlocks = blocks.values()
  const whole = own.replace(BLOCK, (_, _indent, text: string) =>
    [...(inBlocks.next().value?.functions ?? []), text].join('\n'),
  )
  return [before, whole].join('\n')
}

/** The path of an included file: what one concept includes stands in its folder, what several do in `redis/include/`. */
export function includedFile(value: string): string {
  const [concept, file] = value.includes('/') ? value.split('/', 2) : ['redis', value]
  return `${concept}/include/${file}`
}

function directivesOf(file: string, text: string): { word: 'include' | 'key' | 'arg'; value: string }[] {
  return text.split('\n').flatMap((line) => {
    const found = DIRECTIVE.exec(line)
    if (found === null) return []
    const [, word, value] = found
    if ((word !== 'include' && word !== 'key' && word !== 'arg') || value === undefined)
      throw new Error(`${file}.lua: "${line}" is not an @include, @key or @arg with a name`)
    return [{ word, value }]
  })
}

/** Lua that gives each key and argument its name. */
function bindingsOf({ keys, args, lists }: Omit<ScriptFile, 'lua'>): string {
  const locals = [
    ...keys.map((name, at) => [name, `KEYS[${at + 1}]`]),
    ...args.map((name, at) => [name, `ARGV[${at + 1}]`]),
  ]
  const lines = locals.map(([name, value]) => `local ${name} = ${value}`)
  if (lists.length === 0) return lines.join('\n')
  lines.push(...lists.map(({ name }) => `local ${name} = {}`))
  lines.push('do', `local key_at, arg_at = ${keys.length}, ${args.length + lists.length}`)
  lists.forEach((list, nth) => {
    const values = [
      ...list.keys.map((field, at) => [field, `KEYS[key_at + ${at + 1}]`]),
      ...list.args.map((field, at) => [field, `ARGV[arg_at + ${at + 1}]`]),
    ]
    const [[first = '', plain = ''] = []] = values
    const row = first === '' ? plain : `{ ${values.map(([field, value]) => `${field} = ${value}`).join(', ')} }`
    lines.push(
      `for row = 1, tonumber(ARGV[${args.length + nth + 1}]) do`,
      `${list.name}[row] = ${row}`,
      `key_at, arg_at = key_at + ${list.keys.length}, arg_at + ${list.args.length}`,
      'end',
    )
  })
  return [...lines, 'end'].join('\n')
}
