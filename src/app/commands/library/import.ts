import { setTimeout as sleep } from 'node:timers/promises'
import { Option } from 'commander'
import type { Command, Invocation } from '../../../cli/command.ts'
import { contradictionsOption, labelFieldOption, readingOptions } from '../../../cli/file-options.ts'
import { counted, printable } from '../../../cli/terminal.ts'
import { didYouMean } from '../../../contracts/facts/did-you-mean.ts'
import { entryOf } from '../../../contracts/facts/entry-of.ts'
import { OperatorError, RetryLaterError } from '../../../contracts/facts/errors.ts'
import { fences } from '../../../contracts/facts/fence.ts'
import { TENANT_RULE, tenantName } from '../../../contracts/facts/messages.ts'
import { samplingRanks } from '../../../contracts/facts/sampling-rank.ts'
import type { Change, Item, Library } from '../../../contracts/ports/library.ts'
import { type BadLine, faultIn } from '../../../data-files/file-message.ts'
import { itemsOf, SHELF_FORMATS, type ShelfFile } from '../../../data-files/shelf-items.ts'
import { DEFAULT_TENANT } from '../../../shelves/names.ts'
import { makeProtocols } from '../../composition/make-protocols.ts'
import { isFailure, type LibraryCommandSettings, operator, withLibrary } from './with-library.ts'

type ImportIo = Pick<Invocation, 'terminal' | 'signal'>

export interface ImportOptions extends ShelfFile {
  readonly shelf: string
  /**
   * The only tenant that is shown the items; if absent, all tenants that are shown the shelf's items without a tenant.
   */
  readonly tenant?: string
  /** The only labels that may be imported, in small letters; if absent, any. */
  readonly allowed?: readonly string[] | undefined
}

export interface ImportResult {
  readonly shelf: string
  readonly tenant: string | null
  /** The change by which everything can be rolled back; null if nothing was imported. */
  readonly change: string | null
  readonly added: number
  readonly unchanged: number
  readonly relabelled: number
  /** Items for which the embedder is weak, and why; null where there are none. */
  readonly weak: { readonly items: number; readonly why: string } | null
  /** How many lines were left out, and the first of them. */
  readonly skipped: number
  readonly skippedFirst: readonly BadLine[]
  /** Whether it was stopped before its end. */
  readonly stopped: boolean
  readonly seconds: number
}

/** Items that are embedded and written together: a stop, or another writer, waits for at most this many. */
const BATCH = 256
/** Most bad lines that are shown one by one. */
const NAMED = 20
/** Attempts at a batch while the embedder is busy, and the first pause between two, in ms; it doubles. */
const TRIES = 6
const PAUSE_MS = 1_000

/** `gavel library import`: fills a shelf, and reports what was done and who will be shown it. */
export const command: Command<ImportOptions, ImportResult> = {
  options: [
    new Option('--shelf <name>', 'shelf to import to; created if missing').makeOptionMandatory(),
    new Option('--format <format>', "the file's format (default: detected)").choices(SHELF_FORMATS),
    ...readingOptions(),
    labelFieldOption(),
    contradictionsOption('majority'),
    new Option('--tenant <name>', 'show the items to this tenant only'),
  ],
  json: true,
  help: `Without --tenant, items on shelves in library.shared are visible to all tenants, other items only to the tenant "default".

Example:
  $ gavel library import comments.jsonl --shelf kodoli --format kodoli`,
  run({ args: [file = ''], options, settings: read, ...io }) {
    const settings = read()
    const protocols = makeProtocols(settings.protocols, fences('import', settings.fences), samplingRanks('import'))
    const allowed = labelsFor(protocols, options.shelf)
    const known = new Set(
      protocols.flatMap(({ shelves = [], shelfLabels = {} }) => [...shelves, ...Object.keys(shelfLabels)]),
    )
    if (!known.has(options.shelf))
      io.terminal.say(
        `No protocol that is on knows a shelf "${printable(options.shelf, 80)}".${didYouMean(options.shelf, known)} The items were imported; "gavel library drop" removes them.`,
      )
    return importShelf(settings, file, { ...options, allowed }, io)
  },
  print(imported, { args: [file], json, settings, terminal }) {
    const { shelf, tenant, change, added, unchanged, relabelled, weak, skipped, skippedFirst, stopped, seconds } =
      imported
    const counts = `${added} added, ${unchanged} unchanged, ${relabelled} relabelled`
    terminal.out(
      json
        ? JSON.stringify(imported)
        : `${shelf}: ${counts} in ${seconds.toFixed(1)} s${change === null ? '' : ` (change ${change})`}`,
    )
    if (weak !== null)
      terminal.say(
        `${counted(weak.items, 'item')} of ${added + unchanged + relabelled}: ${weak.why}. Set library.embedder to one of your endpoint.`,
      )
    if (stopped) terminal.say('Stopped before the end. Run it again to continue.')
    for (const { line, why } of skippedFirst) terminal.say(`${file}:${line} ${printable(why, 120)}; left out`)
    if (tenant === null && !settings().library.shared.includes(shelf))
      terminal.say(
        `Only the tenant "${DEFAULT_TENANT}" sees it: library.shared does not name "${shelf}", and --tenant names no other.`,
      )
    if (skipped > 0) throw new OperatorError(`${skipped} lines of ${file} were left out.`)
  },
}

/**
 * Imports a file's labelled texts to a shelf, as one change. Items that are already there are not embedded again: to
 * continue a broken import, simply run it again. Throws an `OperatorError` with the progress so far.
 */
export async function importShelf(
  settings: LibraryCommandSettings,
  file: string,
  options: ImportOptions,
  io: ImportIo,
): Promise<ImportResult> {
  const started = performance.now()
  const done = { added: 0, unchanged: 0, relabelled: 0 }
  const skippedFirst: BadLine[] = []
  let change: string | null = null
  let weak: ImportResult['weak'] = null
  let skipped = 0
  let stopped = false
  const bad = (line: BadLine) => {
    if (line.read === true) io.terminal.say(printable(faultIn(file, line), 200))
    else if (++skipped <= NAMED) skippedFirst.push(line)
  }
  const tenant = options.tenant === undefined ? null : checkedTenant(options.tenant)
  const imported = (): ImportResult => {
    const seconds = (performance.now() - started) / 1000
    return { shelf: options.shelf, tenant, change, ...done, weak, skipped, skippedFirst, stopped, seconds }
  }

  if (options.allowed !== undefined) await checkLabels(file, options, options.allowed)
  return withLibrary(settings, async (library) => {
    try {
      for await (const batch of batches(itemsOf(file, options, bad))) {
        if (io.signal.aborted) break
        const written = await addWithRetry(library, { ...options, tenant }, batch, change, io)
        change = written.id
        const why = batch.flatMap(({ text }) => library.weakFor(text) ?? [])
        if (why[0] !== undefined) weak = { items: (weak?.items ?? 0) + why.length, why: weak?.why ?? why[0] }
        done.added += written.added
        done.unchanged += written.unchanged
        done.relabelled += written.relabelled
        io.terminal.progress(`${sum(done)} read, ${done.added} added, ${skipped} lines left out`)
      }
    } catch (error) {
      if (!isFailure(error)) throw error
      if (!io.signal.aborted) {
        const far = change === null ? 'Nothing was imported' : `${sum(done)} items were imported as change ${change}`
        const next = error instanceof RetryLaterError ? ' Run it again to continue.' : ''
        throw new OperatorError(`${far}, then: ${error.message}.${next}`, { cause: error })
      }
    }
    stopped = io.signal.aborted
    return imported()
  })
}

/** The labels that the shelf's searchers know; undefined where no protocol names any. */
function labelsFor(protocols: ReturnType<typeof makeProtocols>, shelf: string): readonly string[] | undefined {
  const known = protocols.flatMap(({ shelfLabels = {} }) => entryOf(shelfLabels, shelf) ?? [])
  return known.length === 0 ? undefined : [...new Set(known)]
}

/** Labels that an error names. */
const MOST_LABELS = 10

/** Throws an `OperatorError` that names every label that is not allowed, and those that are. */
async function checkLabels(file: string, options: ImportOptions, allowed: readonly string[]): Promise<void> {
  const others = new Map<string, number>()
  for await (const { label } of itemsOf(file, options, () => {}))
    if (!allowed.includes(label.trim().toLowerCase())) others.set(label, (others.get(label) ?? 0) + 1)
  if (others.size === 0) return
  const most = [...others].sort(([, one], [, other]) => other - one)
  const named = most
    .slice(0, MOST_LABELS)
    .map(([label, items]) => `"${printable(label, 40)}" (${counted(items, 'item')})`)
  const more = most.length > MOST_LABELS ? ` and ${most.length - MOST_LABELS} more` : ''
  throw new OperatorError(
    `Nothing was imported: no perspective that searches the shelf "${options.shelf}" knows ${named.join(', ')}${more}. It may hold ${allowed.map((label) => `"${printable(label, 40)}"`).join(', ')}; capitals don't matter. Write these in the file, or add its own to labels[].shelf of the perspective (docs/perspectives.md).`,
  )
}

function checkedTenant(tenant: string): string {
  if (tenantName.safeParse(tenant).success) return tenant
  throw new OperatorError(`"${printable(tenant, 80)}" is not a valid tenant name: ${TENANT_RULE}.`)
}

/** Retries while the embedder is busy: a command has no queue that would. */
async function addWithRetry(
  library: Library,
  { shelf, tenant }: { shelf: string; tenant: string | null },
  items: readonly Item[],
  change: string | null,
  { terminal, signal }: ImportIo,
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
