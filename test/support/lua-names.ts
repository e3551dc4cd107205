/** Lua's words, and the globals that Redis gives a script and ours may use. */
const WORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
)
const GLOBALS = new Set('cjson ipairs math next pairs redis string table tonumber tostring type unpack'.split(' '))

interface Header {
  readonly scalars: readonly string[]
  /** Fields by list; one without fields holds plain values. */
  readonly lists: ReadonlyMap<string, readonly string[]>
}

/**
 * What is wrong with the names in a script, one sentence each. `functions` are those of the files that it includes. Scopes are
 * not told apart: a name counts as known in the whole file if it is declared anywhere in it.
 */
export function nameFaults(text: string, functions: readonly string[] = []): string[] {
  const { scalars, lists } = headerOf(text)
  const code = withoutComments(text)
  const bare = namesIn(code)
  const declared = new Set([...declaredIn(code), ...functions, ...scalars, ...lists.keys()])
  const unknown = [...bare].filter((name) => !WORDS.has(name) && !GLOBALS.has(name) && !declared.has(name))
  const unused = [...scalars, ...lists.keys()].filter((name) => !bare.has(name))
  return [
    ...unknown.map((name) => `${name} is used, and neither declared nor named in the header`),
    ...unused.map((name) => `${name} is named in the header, and never used`),
    ...[...lists].flatMap(([list, fields]) => fieldFaults(code, list, fields)),
  ]
}

/** Local functions on the top level of a file. */
export function functionsOf(text: string): string[] {
  return [...text.matchAll(/^local function (\w+)/gm)].map(([, name = '']) => name)
}

function headerOf(text: string): Header {
  const scalars: string[] = []
  const lists = new Map<string, string[]>()
  for (const [, name = '', isList, field] of text.matchAll(/^--@(?:key|arg)\s+(\w+)(\[\])?(?:\.(\w+))?/gm)) {
    if (isList === undefined) scalars.push(name)
    else lists.set(name, [...(lists.get(name) ?? []), ...(field === undefined ? [] : [field])])
  }
  return { scalars, lists }
}

/** Without comments, and with empty strings in the place of strings. */
function withoutComments(text: string): string {
  return text.replace(/'(?:\\.|[^'\\\n])*'|--[^\n]*/g, (found) => (found.startsWith('--') ? '' : "''"))
}

/** Names that are neither a field (`row.name`) nor a field's name in a table (`{ name = value }`). */
function namesIn(code: string): Set<string> {
  const withoutTables = code.replace(/([{,]\s*)[A-Za-z_]\w*\s*=(?!=)/g, '$1')
  return new Set([...withoutTables.matchAll(/(?<![.\w])[A-Za-z_]\w*/g)].map(([name]) => name))
}

function declaredIn(code: string): string[] {
  const lists = [
    ...code.matchAll(/\blocal ((?!function\b)\w+(?:\s*,\s*\w+)*)/g),
    ...code.matchAll(/\bfor (\w+(?:\s*,\s*\w+)*)\s*(?:=|\bin\b)/g),
    ...code.matchAll(/\bfunction\s*\w*\(([^)]*)\)/g),
  ]
  const names = lists.flatMap(([, list = '']) => list.split(',').map((name) => name.trim()))
  return [...names, ...[...code.matchAll(/\blocal function (\w+)/g)].map(([, name = '']) => name)]
}

/** Fields of a list's rows, by whatever variable a loop or a call gives a row. */
function fieldFaults(code: string, list: string, fields: readonly string[]): string[] {
  const rows = [...code.matchAll(new RegExp(`\\bfor \\w+, (\\w+) in ipairs\\(${list}\\)`, 'g'))].map(
    ([, row = '']) => row,
  )
  const used = new Set(
    rows.flatMap((row) =>
      [...code.matchAll(new RegExp(`(?<![.\\w])${row}\\.(\\w+)`, 'g'))].map(([, field = '']) => field),
    ),
  )
  return [
    ...[...used]
      .filter((field) => !fields.includes(field))
      .map((field) => `${list}[].${field} is used, and not named in the header`),
    ...fields
      .filter((field) => !used.has(field))
      .map((field) => `${list}[].${field} is named in the header, and never used`),
  ]
}
