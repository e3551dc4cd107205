import { entryOf } from '../contracts/facts/entry-of.ts'
import { OperatorError } from '../contracts/facts/errors.ts'
import { MAX_DEPTH, parseMessage, parseMessages, withoutDeepFields } from '../contracts/facts/message-json.ts'
import { faultInJson } from '../contracts/facts/not-json.ts'
import { printable } from '../contracts/facts/printable.ts'
import { type Columns, csvRows, mustBeFewColumns } from './csv-rows.ts'
import type { BadLine } from './file-message.ts'
import { parquetFiles, parquetRows } from './parquet-rows.ts'
import { type FileReading, NOT_UTF8, type TextLine, textLines } from './text-lines.ts'

/** One item of a file: an object of a line or of a list, or a row of a table, whose values are texts. */
export interface FileRecord {
  /** Its line, or its place in a file that is one JSON list; from 1. */
  readonly line: number
  readonly json: unknown
  /** Of a table: every value is a text, and columns are called as their authors call them. */
  readonly isRow?: true
}

type Bad = (line: BadLine) => void

/** Such a file is no table, whatever it begins with: its first line, broken perhaps, would be quoted as names of columns. */
const NAMED_JSON = /\.(json|jsonl|ndjson)(\.gz)?$/i

/** Items of JSON that lack what is needed, and none that has it: the file holds something else. */
const MOST_LACKING = 100
/** Lines of a file that are named although none can be read. */
const MOST_NAMED = 5

/** What a file's items are, where it is not to be found out: by its first character, `{` or `[`, or its name, else it is a table. */
export type Shape = 'json' | 'table'

/**
 * The items of a file, in its order, whatever it is: JSON Lines, a JSON list, one JSON object of objects as pandas writes a table
 * (`to_json`, by columns or by rows), CSV with any delimiter, or Parquet, also a folder of it; plain or gzip; UTF-8, UTF-16 or
 * the encoding that was named. Numbers that a float can't hold are read as they are written. Where one column is needed, a JSON text
 * by itself is an item with it. Lines that are none are reported to `bad` and left out. Throws an `OperatorError` in one line where nothing
 * can be read, or no item has the columns that are needed.
 */
export async function* recordsOf(
  file: string,
  reading: FileReading & { readonly shape?: Shape },
  columns: Columns,
  bad: Bad,
): AsyncGenerator<FileRecord> {
  const parquet = await parquetFiles(file)
  if (parquet.length > 0) {
    yield* withFields(file, () => parquetRows(parquet), columns, bad)
    return
  }
  const lines = textLines(file, reading)
  const first: TextLine[] = []
  try {
    for (let read = await lines.next(); read.done !== true; read = await lines.next()) {
      first.push(read.value)
      if (read.value.text.trim() !== '') break
    }
    const begins = first.at(-1)?.text.trimStart()[0] ?? ''
    const isTable =
      reading.shape === 'table' || (reading.shape === undefined && !/[{[]/.test(begins) && !NAMED_JSON.test(file))
    const isObjectAlone = !isTable && begins === '{' && (await beginsOneObject(first, lines))
    const all = chained(first, lines)
    if (isTable) yield* csvRows(file, all, reading, columns, bad)
    else if (begins === '[') yield* withFields(file, () => wholeRecords(file, all, listIn), columns, bad)
    else if (isObjectAlone)
      yield* withFields(file, () => wholeRecords(file, all, (json) => rowsIn(file, json, columns)), columns, bad)
    else yield* withFields(file, (reportBad) => lineRecords(all, reportBad), columns, bad)
  } finally {
    await lines.return(undefined)
  }
}

/**
 * The items, unless none of the first has any of the fields that are needed: such a file would be named line by line. Faults of the lines
 * before are reported in their place.
 */
async function* withFields(
  file: string,
  itemsOf: (bad: Bad) => AsyncIterable<FileRecord>,
  { needed, unless = [], hint }: Columns,
  bad: Bad,
): AsyncGenerator<FileRecord> {
  const [only, ...others] = needed
  const wanted = [...needed, ...unless]
  let deferred: (FileRecord | BadLine)[] | null = needed.length === 0 ? null : []
  const reportBad = (line: BadLine) => {
    if (deferred === null) bad(line)
    else deferred.push(line)
  }
  for await (const { line, json: read, ...kind } of itemsOf(reportBad)) {
    const json = typeof read === 'string' && only !== undefined && others.length === 0 ? { [only]: read } : read
    if (deferred !== null && wanted.some((name) => isObject(json) && Object.hasOwn(json, name))) {
      for (const before of deferred)
        if ('json' in before) yield before
        else bad(before)
      deferred = null
    }
    if (deferred === null) yield { line, json, ...kind }
    else deferred.push({ line, json, ...kind })
    if (deferred !== null && deferred.length >= MOST_LACKING) break
  }
  const first = deferred?.find((one) => 'json' in one)
  if (first === undefined) {
    const broken = (deferred ?? []).flatMap((one) => ('json' in one ? [] : [one]))
    if (broken.length > MOST_NAMED)
      throw new OperatorError(`${file} has no line that can be read: its first ${broken[0]?.why}.`)
    for (const line of broken) bad(line)
    return
  }
  const has = isObject(first.json) ? `has ${printable(Object.keys(first.json).join(', '), 200)}` : 'is no JSON object'
  throw new OperatorError(
    `${file} has no item with ${needed.map((name) => `"${name}"`).join(' and ')}; its first ${has}.${hint === undefined ? '' : ` ${hint}`}`,
  )
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** Whether what begins in the last of these lines is one object in more lines, or begins with an object and has no line after it. */
async function beginsOneObject(first: TextLine[], rest: AsyncGenerator<TextLine>): Promise<boolean> {
  const text = first.at(-1)?.text.trim() ?? ''
  if (text === '{') return true
  if (!/^\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{/.test(text)) return false
  for (let read = await rest.next(); read.done !== true; read = await rest.next()) {
    first.push(read.value)
    if (read.value.text.trim() !== '') return false
  }
  return true
}

function listIn(json: unknown): unknown[] {
  if (!Array.isArray(json)) throw new SyntaxError('is no list')
  return json
}

/**
 * The rows of a table that is an object of objects: of its columns, if one of them is needed, else of its rows. Any other object is
 * one item.
 */
function rowsIn(file: string, json: unknown, { needed, unless = [] }: Columns): unknown[] {
  if (!isObject(json) || Object.keys(json).length === 0 || !Object.values(json).every(isObject)) return [json]
  if (![...needed, ...unless].some((name) => Object.hasOwn(json, name))) return Object.values(json)
  mustBeFewColumns(file, Object.keys(json))
  const columns = Object.entries(json).flatMap(([name, column]) => (isObject(column) ? [{ name, column }] : []))
  const places = Object.keys(columns[0]?.column ?? {})
  // Else the rows could be many times what the file holds.
  if (columns.some(({ column }) => Object.keys(column).length !== places.length))
    throw new OperatorError(`${file} is one JSON object, and its columns differ in their rows: give a list of items.`)
  return places.map((place) =>
    Object.fromEntries(columns.map(({ name, column }) => [name, entryOf(column, place) ?? null])),
  )
}

async function* chained(first: readonly TextLine[], rest: AsyncGenerator<TextLine>): AsyncGenerator<TextLine> {
  yield* first
  yield* rest
}

async function* lineRecords(lines: AsyncIterable<TextLine>, bad: Bad): AsyncGenerator<FileRecord> {
  for await (const { line, text, isWhole } of lines) {
    if (text.trim() === '') continue
    if (!isWhole) {
      bad({ line, why: NOT_UTF8 })
      continue
    }
    const shallow = withoutDeepFields(Buffer.from(text))
    if (shallow === null) {
      bad({ line, why: `is nested deeper than ${MAX_DEPTH} levels` })
      continue
    }
    let json: unknown
    try {
      json = parseMessage(shallow.toString())
    } catch (error) {
      bad({ line, why: `is not JSON${faultInJson(shallow.toString(), error)}` })
      continue
    }
    yield { line, json }
  }
}

/** The items that `listed` finds in the one JSON text that all lines are. */
async function* wholeRecords(
  file: string,
  lines: AsyncIterable<TextLine>,
  listed: (json: unknown) => unknown[],
): AsyncGenerator<FileRecord> {
  const texts: string[] = []
  for await (const { line, text, isWhole } of lines) {
    if (!isWhole) throw new OperatorError(`${file}:${line} ${NOT_UTF8}.`)
    texts.push(text)
  }
  let list: unknown[]
  try {
    list = parseMessages(texts.join('\n'), listed)
  } catch (error) {
    if (error instanceof OperatorError) throw error
    // V8's message names the place; the rest of it quotes the file.
    const line = /\(line (\d+) /.exec(String(error))?.[1]
    throw new OperatorError(
      `${file}${line === undefined ? '' : `:${line}`} is not JSON${faultInJson(texts.join('\n'), error)}.`,
      {
        cause: error,
      },
    )
  }
  for (const [at, json] of list.entries()) yield { line: at + 1, json }
}
