import { createReadStream } from 'node:fs'
import { userInfo } from 'node:os'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CsvError, parse } from 'csv-parse'
import { z } from 'zod'
import type { Settings } from '../../config/schema.ts'
import { libraryOf } from '../composition/library.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../domain/errors.ts'
import { TENANT_RULE, tenantName } from '../domain/messages.ts'
import {
  type BadLine,
  LABELLED_FORMATS,
  type LabelledFormat,
  labelledItems,
  sourceIdOf,
} from '../evaluation/formats.ts'
import { linesOf } from '../evaluation/lines.ts'
import { DEFAULT_TENANT } from '../library/names.ts'
import type { Change, Item, Library } from '../ports/library.ts'
import { printable, printableJson, type Terminal, table } from './terminal.ts'

interface Io {
  readonly terminal: Terminal
  readonly signal: AbortSignal
}
type LibrarySettings = Pick<Settings, 'library' | 'openai'>

/** What `gavel library import` reads: a line or row for each item, or a public data set. */
export const SHELF_FORMATS = ['jsonl', 'csv', ...LABELLED_FORMATS] as const
export type ShelfFormat = (typeof SHELF_FORMATS)[number]

export interface ImportOptions {
  readonly shelf: string
  /** By the file's ending where it is not given: `csv` for `.csv`, else `jsonl`. */
  readonly format?: ShelfFormat
  /** Which field of a line, or column of a row, is the text and which the label: `text` and `label`. */
  readonly textField?: string
  readonly labelField?: string
  /** Who alone shall be shown it; left out, whoever is shown what is loaded for none in particular. */
  readonly tenant?: string
}

export interface Imported {
  readonly shelf: string
  readonly tenant: string | null
  /** Under which all of it can be rolled back; null if nothing was imported. */
  readonly change: string | null
  readonly added: number
  readonly unchanged: number
  readonly relabelled: number
  /** How many lines were left out, and the first of them. */
  readonly skipped: number
  readonly skippedFirst: readonly BadLine[]
  /** Whether it was stopped before its end. */
  readonly stopped: boolean
  readonly seconds: number
}

/** Items that are embedded and written together: a stop, or another writer, waits for no more than these. */
const BATCH = 256
/** Bad lines that are named. */
const NAMED = 20
/** Tries of a batch that the embedder can't take now, and the first pause between two, in ms. */
const TRIES = 6
const PAUSE_MS = 1_000
/** Longest text of an item, in characters: longer ones are no examples. */
const LONGEST = 100_000

/**
 * `gavel library import`: a file's labelled texts onto a shelf, as one change. What stands there already is not embedded
 * again, so that a broken import is simply run again. Throws an `OperatorError` that says how far it came.
 */
export async function importShelf(
  settings: LibrarySettings,
  file: string,
  options: ImportOptions,
  io: Io,
): Promise<Imported> {
  const started = performance.now()
  const done = { added: 0, unchanged: 0, relabelled: 0 }
  const skippedFirst: BadLine[] = []
  let change: string | null = null
  let skipped = 0
  let stopped = false
  const bad = (line: BadLine) => {
    if (++skipped <= NAMED) skippedFirst.push(line)
  }
  const tenant = options.tenant === undefined ? null : checkedTenant(options.tenant)
  const imported = (): Imported => {
    const seconds = (performance.now() - started) / 1000
    return { shelf: options.shelf, tenant, change, ...done, skipped, skippedFirst, stopped, seconds }
  }

  return withLibrary(settings, async (library) => {
    try {
      for await (const batch of batches(itemsOf(file, options, bad))) {
        if (io.signal.aborted) break
        const written = await addPatiently(library, { ...options, tenant }, batch, change, io)
        change = written.id
        done.added += written.added
        done.unchanged += written.unchanged
        done.relabelled += written.relabelled
        io.terminal.progress(`${sum(done)} read, ${done.added} added, ${skipped} lines left out`)
      }
    } catch (error) {
      if (!isFailure(error)) throw error
      if (!io.signal.aborted) {
        const far = change === null ? 'Nothing was imported' : `${sum(done)} items were imported as change ${change}`
        throw new OperatorError(`${far}, then: ${error.message}. Run it again to go on.`, { cause: error })
      }
    }
    stopped = io.signal.aborted
    return imported()
  })
}

/** Tells what an import did, and who will be shown it. Throws an `OperatorError` if lines were left out. */
export function tellImport(
  { library }: LibrarySettings,
  file: string,
  imported: Imported,
  options: { json: boolean },
  { terminal }: Io,
): void {
  const { shelf, tenant, change, added, unchanged, relabelled, skipped, skippedFirst, stopped, seconds } = imported
  const counts = `${added} added, ${unchanged} unchanged, ${relabelled} relabelled`
  terminal.out(
    options.json
      ? JSON.stringify(imported)
      : `${shelf}: ${counts} in ${seconds.toFixed(1)} s${change === null ? '' : ` (change ${change})`}`,
  )
  if (stopped) terminal.say('Stopped before the end. Run it again to go on.')
  for (const { line, why } of skippedFirst) terminal.say(`${file}:${line} ${printable(why, 120)}; left out`)
  if (tenant === null && !library.shared.includes(shelf))
    terminal.say(
      `It is shown to the tenant "${DEFAULT_TENANT}" alone: library.shared does not name "${shelf}", and --tenant names no other.`,
    )
  if (skipped > 0) throw new OperatorError(`${skipped} lines of ${file} were left out.`)
}

/** `gavel library list`: the shelves, whose part of them is how large, and who made their vectors. */
export async function listShelves(settings: LibrarySettings, options: { json: boolean }, io: Io): Promise<void> {
  const shelves = await withLibrary(settings, (library) => library.shelves())
  if (options.json) for (const shelf of shelves) io.terminal.out(JSON.stringify(shelf))
  else if (shelves.length > 0)
    io.terminal.out(
      table(
        ['shelf', 'shown to', 'items', 'embedder', 'dimensions'],
        shelves.map(({ name, tenant, items, embedder, dimension }) => [
          name,
          tenant ?? (settings.library.shared.includes(name) ? 'all' : DEFAULT_TENANT),
          `${items}`,
          embedder,
          `${dimension}`,
        ]),
      ),
    )
  if (shelves.length === 0) io.terminal.say(`There are no shelves in ${settings.library.path}.`)
}

/**
 * `gavel library search`: the nearest items to a text, as a protocol would be given them: so the same text is not among
 * them. Throws an `OperatorError` that says why a shelf can't be searched.
 */
export async function searchShelf(
  settings: LibrarySettings,
  text: string,
  options: { shelf: string; k: number; lang?: string; tenant?: string; json: boolean },
  io: Io,
): Promise<void> {
  const { shelf, k, lang, json, tenant = DEFAULT_TENANT } = options
  const wanted = { text, shelves: [shelf], k, ...(lang === undefined ? {} : { lang }) }
  const { shelves, weak } = await withLibrary(settings, (library) =>
    library.find(wanted, { tenant, id: '' }, io.signal),
  )
  const found = shelves[0]
  if (found?.problem) throw new OperatorError(`${found.problem}.`)
  for (const neighbour of found?.neighbours ?? [])
    io.terminal.out(
      json
        ? printableJson(JSON.stringify(neighbour))
        : `${neighbour.similarity.toFixed(3)}  ${printable(neighbour.label, 30)}  ${printable(neighbour.text, 120)}`,
    )
  if (weak !== null) io.terminal.say(weak)
}

/** `gavel library history`: what changed, the newest first. */
export async function libraryHistory(
  settings: LibrarySettings,
  options: { shelf?: string; json: boolean },
  io: Io,
): Promise<void> {
  const changes = await withLibrary(settings, (library) => library.history(options.shelf))
  for (const change of changes) {
    const { id, kind, shelf, tenant, item, by, at, added, unchanged, relabelled, rolledBackAt } = change
    const counts =
      kind === 'drop' || kind === 'take-back'
        ? ''
        : `  ${added} added, ${unchanged} unchanged, ${relabelled} relabelled`
    const back = rolledBackAt === null ? '' : `  rolled back ${new Date(rolledBackAt).toISOString()}`
    io.terminal.out(
      options.json
        ? printableJson(JSON.stringify(change))
        : `${id}  ${new Date(at).toISOString()}  ${kind}  ${shelf}${tenant === null ? '' : ` of ${tenant}`}  by ${printable(by, 40)}${counts}${item === undefined ? '' : `  ${item}`}${back}`,
    )
  }
  if (changes.length === 0) io.terminal.say('Nothing has changed yet.')
}

/** `gavel library rollback`, and `gavel learn rollback`: takes back one change. */
export async function rollbackChange(settings: LibrarySettings, change: string, io: Io): Promise<void> {
  await withLibrary(settings, (library) => library.rollback(change))
  io.terminal.out(`${change} was rolled back.`)
}

/** `gavel library drop`: erases a shelf, or one tenant's part of it, and its history for good. */
export async function dropShelf(
  settings: LibrarySettings,
  shelf: string,
  options: { tenant?: string },
  io: Io,
): Promise<void> {
  const { tenant } = options
  await withLibrary(settings, (library) => library.drop(shelf, operator(), tenant))
  const whose = tenant === undefined ? '' : ` of the tenant ${printable(tenant, 64)}`
  io.terminal.out(`The shelf "${shelf}"${whose} and its history are gone.`)
}

/** Runs a command on the library. What the library can't do now, or ever, is told as one line. */
export async function withLibrary<Result>(
  settings: LibrarySettings,
  work: (library: Library) => Promise<Result>,
): Promise<Result> {
  const library = libraryOf(settings, Date.now)
  try {
    return await work(library)
  } catch (error) {
    throw isFailure(error) ? new OperatorError(`${error.message}.`, { cause: error }) : error
  } finally {
    await library.close()
  }
}

function checkedTenant(tenant: string): string {
  if (tenantName.safeParse(tenant).success) return tenant
  throw new OperatorError(`"${printable(tenant, 80)}" is no name for a tenant: ${TENANT_RULE}.`)
}

/** Under whose name the commands of this person are logged. */
export function operator(): string {
  try {
    return userInfo().username
  } catch {
    // A container's user may have no name.
    return 'unknown'
  }
}

/** An embedder that is busy is asked again: no queue stands behind a command. */
async function addPatiently(
  library: Library,
  { shelf, tenant }: { shelf: string; tenant: string | null },
  items: readonly Item[],
  change: string | null,
  { terminal, signal }: Io,
): Promise<Change> {
  for (let tries = 1; ; tries++) {
    try {
      return await library.add(shelf, items, operator(), signal, change ?? undefined, tenant)
    } catch (error) {
      if (!(error instanceof RetryLaterError) || signal.aborted || tries >= TRIES) throw error
      const pause = error.delayMs ?? PAUSE_MS * 2 ** (tries - 1)
      terminal.progress(`${error.message}; trying again in ${Math.ceil(pause / 1000)} s`)
      await sleep(pause, undefined, { signal }).catch(() => {})
    }
  }
}

function isFailure(error: unknown): error is PermanentError | RetryLaterError {
  return error instanceof PermanentError || error instanceof RetryLaterError
}

function sum({ added, unchanged, relabelled }: Pick<Change, 'added' | 'unchanged' | 'relabelled'>): number {
  return added + unchanged + relabelled
}

async function* batches(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let batch: Item[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

type Bad = (line: BadLine) => void

function itemsOf(file: string, options: ImportOptions, bad: Bad): AsyncGenerator<Item> {
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
  // The loop below meets the failure of either as the parser's.
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
  if (!(error instanceof Error && 'code' in error) || error instanceof OperatorError || isFailure(error)) return error
  return new OperatorError(`${file} cannot be read: ${String(error.code)}`, { cause: error })
}
