import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { type CsvError, parse } from 'csv-parse'
import { z } from 'zod'
import { OperatorError, PermanentError, RetryLaterError } from '../domain/errors.ts'
import { printable } from '../domain/printable.ts'
import type { Item } from '../ports/library.ts'
import type { BadLine } from './file-message.ts'
import { sourceIdOf } from './formats.ts'
import { LABELLED_FORMATS, type LabelledFormat, labelledItems } from './labelled-sets.ts'
import { linesOf } from './lines.ts'

/** What a shelf is filled from: a line or row for each item, or a public data set. */
export const SHELF_FORMATS = ['jsonl', 'csv', ...LABELLED_FORMATS] as const
export type ShelfFormat = (typeof SHELF_FORMATS)[number]

export interface ShelfFile {
  /** By the file's ending where it is not given: `csv` for `.csv`, else `jsonl`. */
  readonly format?: ShelfFormat
  /** Which field of a line, or column of a row, is the text and which the label: `text` and `label`. */
  readonly textField?: string
  readonly labelField?: string
}

/** Longest text of an item, in characters: longer ones are no examples. */
const LONGEST = 100_000

type Bad = (line: BadLine) => void

/**
 * A file's items for a shelf. Lines and rows that are none are told to `bad` and left out. Throws an `OperatorError` if the
 * file can't be read, or has no such columns.
 */
export function itemsOf(file: string, options: ShelfFile, bad: Bad): AsyncGenerator<Item> {
  const format = options.format ?? (file.toLowerCase().endsWith('.csv') ? 'csv' : 'jsonl')
  if (format !== 'jsonl' && format !== 'csv') return publicItems(file, format, bad)
  const { textField = 'text', labelField = 'label' } = options
  const rows = format === 'csv' ? csvRows(file, [textField, labelField], bad) : jsonRows(file, bad)
  const sourceOf = (item: string | number) => sourceIdOf(file, format, item)
  return rowItems(rows, { textField, labelField, sourceOf }, bad)
}

async function* publicItems(file: string, format: LabelledFormat, bad: Bad): AsyncGenerator<Item> {
  for await (const { line, id, text, label } of labelledItems(file, format, bad)) {
    const item = itemOf(text, label, {}, sourceIdOf(file, format, id))
    if (typeof item === 'string') bad({ line, why: item })
    else yield item
  }
}

interface Row {
  readonly line: number
  readonly fields: Readonly<Record<string, unknown>>
}

interface FieldNames {
  readonly textField: string
  readonly labelField: string
  /** What the item is called whose id this is, or whose line if it has no id. */
  readonly sourceOf: (item: string | number) => string
}

async function* rowItems(
  rows: AsyncIterable<Row>,
  { textField, labelField, sourceOf }: FieldNames,
  bad: Bad,
): AsyncGenerator<Item> {
  for await (const { line, fields } of rows) {
    const { [textField]: text, [labelField]: label, metadata: beside, ...rest } = fields
    const more = jsonObject.safeParse(beside)
    if (typeof text !== 'string') {
      bad({ line, why: `has no "${textField}" that is a text` })
      continue
    }
    const named = asText(label)
    const metadata = Object.fromEntries(
      Object.entries(more.success ? { ...rest, ...more.data } : rest).flatMap(([name, value]): [string, string][] => {
        const kept = asText(value)
        return kept === '' ? [] : [[name, kept]]
      }),
    )
    const source = sourceOf(asText(fields.id) || line)
    const item = named === '' ? `has no "${labelField}"` : itemOf(text, named, metadata, source)
    if (typeof item === 'string') bad({ line, why: item })
    else yield item
  }
}

/** An item, or why it is none. */
function itemOf(text: string, label: string, metadata: Record<string, string>, sourceId: string): Item | string {
  if (text.trim() === '') return 'has an empty text'
  if (text.length > LONGEST) return `has a text of more than ${LONGEST} characters`
  return { text: text.toWellFormed(), label, metadata, subject: null, sourceId }
}

/** A field as metadata holds it; empty where there is nothing. */
function asText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value.toWellFormed() : JSON.stringify(value)
}

const jsonObject = z.record(z.string(), z.unknown())

async function* jsonRows(file: string, bad: Bad): AsyncGenerator<Row> {
  let line = 0
  try {
    for await (const text of linesOf(file)) {
      line++
      if (text.trim() === '') continue
      const fields = jsonObject.safeParse(parsed(text))
      if (fields.success) yield { line, fields: fields.data }
      else bad({ line, why: 'is no JSON object' })
    }
  } catch (error) {
    throw unreadable(file, error)
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const csvRecord = z.object({ info: z.object({ lines: z.int() }), record: z.record(z.string(), z.string()) })

/** Rows of a CSV file with a header. A row that does not fit it is told to `bad`. */
async function* csvRows(file: string, needed: readonly string[], bad: Bad): AsyncGenerator<Row> {
  const stream = createReadStream(file)
  const parser = parse({
    bom: true,
    info: true,
    columns: (header: string[]) => {
      const missing = needed.filter((name) => !header.includes(name))
      if (missing.length === 0) return header
      const named = missing.map((name) => `"${name}"`).join(' and ')
      throw new OperatorError(
        `${file} has no column ${named}, but: ${printable(header.join(', '), 200)}. Name them with --text-field and --label-field.`,
      )
    },
    max_record_size: 4 * 1024 * 1024,
    relax_quotes: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined) => {
      if (error !== undefined) bad({ line: Number(error.lines), why: `is no row of this file (${error.code})` })
      return undefined
    },
  })
  // A failure of either stream reaches the loop below as the parser's.
  pipeline(stream, parser, () => {})
  try {
    for await (const read of parser) {
      const { info, record } = csvRecord.parse(read)
      yield { line: info.lines, fields: record }
    }
  } catch (error) {
    throw unreadable(file, error)
  } finally {
    stream.destroy()
  }
}

function unreadable(file: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error) || isToldAlready(error)) return error
  return new OperatorError(`${file} cannot be read: ${String(error.code)}`, { cause: error })
}

function isToldAlready(error: Error): boolean {
  return error instanceof OperatorError || error instanceof PermanentError || error instanceof RetryLaterError
}
