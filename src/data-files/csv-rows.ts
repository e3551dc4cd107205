import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { parse as parseWhole } from 'csv-parse/sync'
import { z } from 'zod'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { OperatorError } from '../contracts/facts/errors.ts'
import { printable } from '../contracts/facts/printable.ts'
import type { BadLine } from './file-message.ts'
import { type FileReading, NOT_UTF8, type TextLine } from './text-lines.ts'

export interface CsvRow {
  readonly line: number
  readonly json: Readonly<Record<string, string>>
  readonly isRow: true
}

/** What a table of comma-separated values is to hold. */
export interface Columns {
  /** The columns without which no row can be read. */
  readonly needed: readonly string[]
  /** Those that are also found in other cases, where they are there. */
  readonly known?: readonly string[]
  /** What to do where one of them has another name; ends the message. */
  readonly hint?: string
  /** An item of JSON or Parquet that has one of these fields needs none of them. */
  readonly unless?: readonly string[]
}

/** What stands between fields, in the order in which it is tried. */
const DELIMITERS = [',', '\t', ';', '|'] as const
const NAMES: Readonly<Record<string, string>> = { tab: '\t', comma: ',', semicolon: ';', pipe: '|', space: ' ' }
const LONGEST_RECORD = 4 * 1024 * 1024
/** Most columns of a table: each of its rows becomes an object with as many fields. */
const MOST_COLUMNS = 2_000
/** Most of a first row that is looked at to find the delimiter, in characters. */
const LONGEST_HEADER = 65_536
/** Rows that are broken so that those after them had to be found anew; with more of them the file is another one. */
const MOST_BROKEN = 100
/** Rows after the first that don't fit it, and none that does: its columns are not theirs. */
const MOST_MISFITS = 20
/** Stands in no text: a table of one column has no delimiter. */
const NO_DELIMITER = '\u001f'

const record = z.object({ info: z.object({ lines: z.int() }), record: z.array(z.string()) })

/**
 * The rows of a CSV file whose first row names the columns; a column that is needed is also found in other cases. Remarks may stand
 * above that row: lines that begin with `#`. Where it names one column, each line is a text, with commas or without. A row that does
 * not fit is reported to `bad` and left out, and so is one whose quotation mark is never closed: the lines after it are read as rows of
 * their own. Throws an `OperatorError` where a column is missing or stands there twice, or the first rows all don't fit.
 */
export async function* csvRows(
  file: string,
  lines: AsyncIterator<TextLine>,
  { delimiter: named }: FileReading,
  columns: Columns,
  bad: (line: BadLine) => void,
): AsyncGenerator<CsvRow> {
  const source = linesToParse(lines)
  const first = await source.first()
  const separator = /^sep=(.)$/i.exec(first?.text.trim() ?? '')?.[1]
  if (separator !== undefined) source.skip()
  await source.skipRemarks((line) => namesAll(line, columns, named))
  const top = await source.first()
  // Columns can't be called by what can't be read.
  if (top?.isWhole === false) throw new OperatorError(`${file}:${top.line} ${NOT_UTF8}.`)
  const delimiter =
    named === undefined
      ? (separator ?? delimiterOf(top?.text.slice(0, LONGEST_HEADER) ?? '', columns))
      : (entryOf(NAMES, named) ?? named)
  let header: string[] | null = null
  /** Of rows that don't fit, until one does. */
  let misfits: BadLine[] | null = []
  for (let broken = 0; ; broken++) {
    if (broken > MOST_BROKEN)
      throw new OperatorError(`${file} has more than ${MOST_BROKEN} rows whose quotation marks are not closed.`)
    const base = source.start()
    const parser = parse({
      delimiter,
      info: true,
      max_record_size: LONGEST_RECORD,
      relax_quotes: true,
      relax_column_count: true,
      skip_empty_lines: true,
    })
    const feed = Readable.from(source.feed())
    feed.on('error', (error) => parser.destroy(error))
    feed.pipe(parser)
    let isAtEnd = true
    try {
      for await (const read of parser) {
        const { info, record: fields } = record.parse(read)
        const spanned = source.take(base + info.lines)
        const line = spanned[0]?.line ?? base + info.lines
        if (header === null) {
          header = headerOf(file, fields, columns)
          continue
        }
        if (fields.length !== header.length) {
          const odd = { line, why: misfit(fields.length, header.length, spanned.length) }
          if (misfits === null) bad(odd)
          else if (misfits.push(odd) === MOST_MISFITS) throw notItsColumns(file, header.length, fields.length)
          if (spanned.length < 2) continue
          source.putBack(spanned.slice(1))
          isAtEnd = false
          break
        }
        for (const odd of misfits ?? []) bad(odd)
        misfits = null
        if (spanned.some(({ isWhole }) => !isWhole)) bad({ line, why: NOT_UTF8 })
        else yield { line: base + info.lines, json: rowOf(header, fields), isRow: true }
      }
    } catch (error) {
      if (!(error instanceof CsvError)) throw error
      const [start, ...after] = source
        .take(Number.POSITIVE_INFINITY)
        .filter(({ text }, at) => at > 0 || text.trim() !== '')
      bad({ line: start?.line ?? base, why: 'begins a quotation that is never closed' })
      source.putBack(after)
      isAtEnd = false
    } finally {
      feed.destroy()
      parser.destroy()
    }
    if (!isAtEnd) continue
    for (const odd of misfits ?? []) bad(odd)
    return
  }
}

function notItsColumns(file: string, named: number, fields: number): OperatorError {
  return new OperatorError(
    `${file} names ${counted(named, 'column')} in its first row, and none of the ${MOST_MISFITS} rows after it has so many: this one has ${counted(fields, 'field')}. Add a first row that names all columns, or set --delimiter.`,
  )
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function rowOf(header: readonly string[], fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(header.map((name, at) => [name, fields[at] ?? '']))
}

/** Lines on their way into a parser: those that it has made no record of yet can be fed again. */
function linesToParse(lines: AsyncIterator<TextLine>) {
  /** To be fed, the next one last, for an array gives up its last element at once; and fed without having become a record. */
  let waiting: TextLine[] = []
  let fed: TextLine[] = []
  /** So many of those that were fed have become a record, and are let go together: taking each away would move all others. */
  let taken = 0
  let last = 0
  async function next(): Promise<TextLine | undefined> {
    const queued = waiting.pop()
    if (queued !== undefined) return queued
    const read = await lines.next()
    return read.done === true ? undefined : read.value
  }
  return {
    /** The first line that holds something; it stays to be fed. */
    async first(): Promise<TextLine | undefined> {
      for (let line = await next(); line !== undefined; line = await next())
        if (line.text.trim() !== '') {
          waiting.push(line)
          return line
        }
      return undefined
    },
    skip() {
      last = waiting.pop()?.line ?? last
    },
    /** Skips lines that begin with `#`, where the next line names the columns. */
    async skipRemarks(namesColumns: (line: string) => boolean) {
      const passed: TextLine[] = []
      for (let line = await next(); line !== undefined; line = await next()) {
        if (namesColumns(line.text)) {
          waiting.push(line)
          return
        }
        passed.push(line)
        if (!/^(#|\s*$)/.test(line.text)) break
      }
      waiting = waiting.concat(passed.reverse())
    },
    /** The number of the line before the first that will be fed. */
    start: () => (waiting.at(-1)?.line ?? last + 1) - 1,
    async *feed() {
      for (let line = await next(); line !== undefined; line = await next()) {
        fed.push(line)
        last = line.line
        // A file of an old Mac is one line of them.
        yield `${line.text.replaceAll('\r', '\n')}\n`
      }
    },
    /** The lines up to this number, which have become a record; all that are left where it is infinite. */
    take(upTo: number): TextLine[] {
      const from = taken
      for (let next = fed[taken]; next !== undefined && next.line <= upTo; next = fed[taken]) taken++
      const lines = fed.slice(from, taken)
      if (2 * taken >= fed.length) {
        fed = fed.slice(taken)
        taken = 0
      }
      return lines
    },
    /** Feeds these lines again, and then those that were fed and became no record. */
    putBack(again: readonly TextLine[]) {
      waiting = waiting.concat(fed.slice(taken).reverse(), again.toReversed())
      fed = []
      taken = 0
    },
  }
}

function misfit(fields: number, columns: number, lines: number): string {
  const what = `has ${fields} fields, and the first row names ${columns}`
  if (lines > 1) return `${what}: a quotation mark is not closed`
  return fields > columns ? `${what}: put a text that contains a delimiter into quotation marks` : what
}

/** The delimiter under which the first row has the columns that are needed; else the one that makes most columns of it. */
function delimiterOf(top: string, { needed }: Columns): string {
  const tried = DELIMITERS.map((delimiter) => {
    const names = fieldsOf(top, delimiter)
    const found = needed.filter((name) => names.some((one) => isNamed(one, name))).length
    return { delimiter, found, columns: names.length }
  })
  const [best] = tried.sort((one, other) => other.found - one.found || other.columns - one.columns)
  return best === undefined || best.columns === 1 ? NO_DELIMITER : best.delimiter
}

function namesAll(line: string, { needed }: Columns, named: string | undefined): boolean {
  const top = line.slice(0, LONGEST_HEADER)
  const tried = named === undefined ? DELIMITERS : [entryOf(NAMES, named) ?? named]
  return tried.some((delimiter) => {
    const names = fieldsOf(top, delimiter)
    return needed.every((name) => names.some((one) => isNamed(one, name)))
  })
}

function fieldsOf(line: string, delimiter: string): string[] {
  try {
    return parseWhole(line, { delimiter, relax_quotes: true, to: 1 })[0] ?? []
  } catch {
    return line.split(delimiter)
  }
}

function isNamed(column: string, name: string): boolean {
  return column.trim().toLowerCase() === name.toLowerCase()
}

/** The columns' names: those that are needed as they are asked for, others that stand there twice with their number. */
function headerOf(file: string, fields: readonly string[], { needed, known = [], hint }: Columns): string[] {
  mustBeFewColumns(file, fields)
  const shown = printable(fields.join(', '), 200)
  const missing = needed.filter((name) => !fields.some((field) => isNamed(field, name)))
  if (missing.length > 0)
    throw new OperatorError(
      `${file} has no column ${missing.map((name) => `"${name}"`).join(' and ')}, but: ${shown}.${hint === undefined ? '' : ` ${hint}`} If the first row names no columns, put one above it that does.`,
    )
  const wanted = [...needed, ...known]
  const written = new Set(fields.map((field) => field.trim()))
  const names = fields.map((field) => {
    const exact = wanted.find((name) => name === field.trim())
    const other = wanted.find((name) => isNamed(field, name) && !written.has(name))
    return exact ?? other ?? field.trim()
  })
  const twice = wanted.find((name) => names.filter((one) => one === name).length > 1)
  if (twice !== undefined)
    throw new OperatorError(`${file} has the column "${twice}" twice: ${shown}. Rename one of them.`)
  const seen = new Map<string, number>()
  return names.map((name) => {
    const nth = (seen.get(name) ?? 0) + 1
    seen.set(name, nth)
    return nth === 1 ? name : `${name} (${nth})`
  })
}

/** Throws an `OperatorError` where a first row names more columns than are read. */
export function mustBeFewColumns(file: string, columns: readonly string[]): void {
  if (columns.length > MOST_COLUMNS)
    throw new OperatorError(
      `${file} names ${columns.length} columns in its first row, and at most ${MOST_COLUMNS} are read: leave out those that nobody needs.`,
    )
}
