import { OperatorError } from '../contracts/facts/errors.ts'
import { printable } from '../contracts/facts/printable.ts'
import { mustBeFewColumns } from './csv-rows.ts'
import type { BadLine } from './file-message.ts'
import { type FileReading, numberedLines } from './text-lines.ts'

interface TsvForm {
  /** What there must be a column for: one of each of these names. */
  readonly columns: readonly (readonly string[])[]
  /** `doubled`: a field may stand in quotation marks, and those within it are doubled; `none`: they are part of the text. */
  readonly quotes: 'doubled' | 'none'
}

/**
 * Rows of a file of tab-separated values whose first line names the columns, by their line from 1. A column is called by its
 * name in small letters without spaces and underscores. Rows that do not fit are reported to `bad`. Throws an `OperatorError` if
 * the file can't be read, or lacks a column.
 *
 * A row is one line, so that a stray quotation mark, of which comments are full, can't swallow the lines after it.
 */
export async function* tsvRows(
  file: string,
  { columns, quotes }: TsvForm,
  bad: (line: BadLine) => void,
  reading: FileReading = {},
): AsyncGenerator<{ line: number; json: Readonly<Record<string, string>> }> {
  let names: string[] | undefined
  for await (const { line, text } of numberedLines(file, reading, bad)) {
    const fields = text.replace(/\r$/, '').split('\t')
    if (names === undefined) {
      names = fields.map((name) => name.toLowerCase().replaceAll(/[ _]/g, ''))
      checkColumns(file, names, columns)
    } else if (fields.length !== names.length)
      bad({ line, why: `has ${fields.length} fields, and the first line names ${names.length}` })
    else {
      const values = quotes === 'doubled' ? fields.map(withoutQuotes) : fields
      yield { line, json: Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])) }
    }
  }
}

function checkColumns(file: string, names: readonly string[], needed: TsvForm['columns']): void {
  mustBeFewColumns(file, names)
  const missing = needed.find((oneOf) => !oneOf.some((name) => names.includes(name)))
  if (missing !== undefined)
    throw new OperatorError(
      `${file} has no column ${missing.join(' or ')}; its first line is: ${printable(names.join(', '), 200)}`,
    )
}

/** A field that stands in quotation marks, without them. */
function withoutQuotes(field: string): string {
  return /^"(?:[^"]|"")*"$/.test(field) ? field.slice(1, -1).replaceAll('""', '"') : field
}
