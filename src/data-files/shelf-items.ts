import { z } from 'zod'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { Item } from '../contracts/ports/library.ts'
import { type Contradictions, withoutContradictions } from './contradictions.ts'
import type { BadLine } from './file-message.ts'
import { recordsOf } from './file-records.ts'
import { sourceIdOf } from './formats.ts'
import { LABELLED_FORMATS, type LabelledFormat, labelledItems } from './labelled-sets.ts'
import { IS_MISSING, type OwnReading, textKeyOf } from './own-rows.ts'

/** What a shelf is filled from: a line or row for each item, a public data set, or cases as Aetheria's authors published them. */
export const SHELF_FORMATS = ['jsonl', 'csv', 'aetheria', ...LABELLED_FORMATS] as const
export type ShelfFormat = (typeof SHELF_FORMATS)[number]

export interface ShelfFile extends OwnReading {
  /** Found out where it is not given. */
  readonly format?: ShelfFormat
  /** Texts that stand there with several labels; `majority` by default, since a shelf holds each text once. */
  readonly contradictions?: Contradictions
}

/** Longest text of an item, in characters: longer ones are no examples. */
const LONGEST = 100_000

type Bad = (line: BadLine) => void

/**
 * A file's items for a shelf. Lines and rows that are none are reported to `bad` and left out, and texts that have several labels are reported.
 * Throws an `OperatorError` if the file can't be read, or has no such columns.
 */
export async function* itemsOf(file: string, options: ShelfFile, bad: Bad): AsyncGenerator<Item> {
  const { contradictions = 'majority' } = options
  // The labels of all texts first: which are contradicted is known only at the end.
  const labels: { line: number; textKey: string; label: string }[] = []
  for await (const { line, item } of linesIn(file, options, () => {}))
    labels.push({ line, textKey: textKeyOf(item.text), label: item.label })
  const settled = withoutContradictions<(typeof labels)[number] & { readonly why?: string }>(
    labels,
    contradictions,
    bad,
  )
  const byLine = new Map(settled.map((one) => [one.line, one]))
  for await (const { line, item } of linesIn(file, options, bad)) {
    const { label = item.label, why } = byLine.get(line) ?? {}
    if (why === undefined) yield { ...item, label }
  }
}

/** The items with their lines. */
async function* linesIn(file: string, options: ShelfFile, bad: Bad): AsyncGenerator<{ line: number; item: Item }> {
  const { format, textField = 'text', labelField = 'label', ...reading } = options
  if (format === 'aetheria') {
    yield* aetheriaCases(file, bad, reading)
    return
  }
  if (format !== undefined && format !== 'jsonl' && format !== 'csv') {
    yield* publicItems(file, format, bad, reading)
    return
  }
  const hint = 'Name them with --text-field and --label-field.'
  const shape = format === undefined ? {} : ({ shape: format === 'csv' ? 'table' : 'json' } as const)
  const rows = recordsOf(file, { ...reading, ...shape }, { needed: [textField, labelField], hint }, bad)
  // A shelf is of a data set whatever its file is packed in.
  yield* rowItems(rows, { textField, labelField, sourceOf: (item) => sourceIdOf(file, format ?? 'own', item) }, bad)
}

async function* publicItems(file: string, format: LabelledFormat, bad: Bad, reading: OwnReading) {
  for await (const { line, id, text, label } of labelledItems(file, format, bad, reading)) {
    const item = itemOf(text, label, {}, sourceIdOf(file, format, id))
    if (typeof item === 'string') bad({ line, why: item })
    else yield { line, item }
  }
}

const aetheriaCase = z.object({
  case_id: z.union([z.string(), z.number()]).transform(String),
  dataset_label: z.string().regex(/\S/),
  summary: z.string(),
  key_cues: z.array(z.string()),
  source_excerpt: z.string(),
})

/** Cases of Aetheria's curator: the excerpt of what was judged, people's label, the summary and the key cues. */
async function* aetheriaCases(file: string, bad: Bad, reading: OwnReading) {
  const needed = Object.keys(aetheriaCase.shape)
  const hint = 'See aetheria in docs/data-sets.md.'
  for await (const { line, json } of recordsOf(file, { ...reading, shape: 'json' }, { needed, hint }, bad)) {
    const read = aetheriaCase.safeParse(json)
    if (!read.success) {
      bad({ line, why: `has no readable ${String(read.error.issues[0]?.path[0] ?? 'case')}` })
      continue
    }
    const { case_id: id, dataset_label: label, summary, key_cues: cues, source_excerpt: excerpt } = read.data
    const text = excerpt
      .split(/(?:^|\s)input_\d+:\s*/)
      .filter((part) => part.trim() !== '')
      .join('\n')
    const metadata = { summary: summary.toWellFormed(), keyCues: cues.join('; ').toWellFormed() }
    const item = itemOf(text, label.trim(), metadata, sourceIdOf(file, 'aetheria', id))
    if (typeof item === 'string') bad({ line, why: item })
    else yield { line, item }
  }
}

interface Row {
  readonly line: number
  readonly json: unknown
}

interface FieldNames {
  readonly textField: string
  readonly labelField: string
  /** What the item is called whose id this is, or whose line if it has no id. */
  readonly sourceOf: (item: string | number) => string
}

async function* rowItems(rows: AsyncIterable<Row>, { textField, labelField, sourceOf }: FieldNames, bad: Bad) {
  for await (const { line, json } of rows) {
    const read = jsonObject.safeParse(json)
    if (!read.success) {
      bad({ line, why: 'is no JSON object' })
      continue
    }
    const { metadata: beside, ...fields } = read.data
    const [text, label] = [entryOf(fields, textField), entryOf(fields, labelField)]
    const rest = Object.fromEntries(
      Object.entries(fields).filter(([name]) => name !== textField && name !== labelField),
    )
    const more = jsonObject.safeParse(beside)
    if (typeof text !== 'string') {
      bad({ line, why: `has no "${textField}" that is a text` })
      continue
    }
    const named = asText(label).trim()
    const metadata = Object.fromEntries(
      Object.entries(more.success ? { ...rest, ...more.data } : rest).flatMap(([name, value]): [string, string][] => {
        const kept = asText(value)
        return kept === '' ? [] : [[name, kept]]
      }),
    )
    const source = sourceOf(asText(fields.id) || line)
    const item = IS_MISSING.test(named) ? `has no "${labelField}"` : itemOf(text, named, metadata, source)
    if (typeof item === 'string') bad({ line, why: item })
    else yield { line, item }
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
