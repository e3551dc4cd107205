import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../../contracts/facts/errors.ts'
import { printable } from '../../contracts/facts/printable.ts'
import type { Clock } from '../../contracts/ports/clock.ts'
import type { DeletedOwners } from '../../contracts/ports/erasures.ts'
import type { Library } from '../../contracts/ports/library.ts'
import { type EmbedderSettings, embedderOf } from '../embedders/make.ts'
import { type LibraryOptions, libraryOver } from '../library.ts'
import { tableName } from '../names.ts'
import { DamagedFiles, type ShelfRecord, type Storage } from '../storage.ts'
import { namesIn, replaceFile, textOf } from './files.ts'
import { type LockCheck, withLock } from './lock.ts'
import { isOfCutFiles } from './open-tables.ts'
import { changeFiles, deletionLog, proposalFiles, shelfFiles } from './records.ts'
import type { ResidentBounds } from './resident.ts'
import { lanceTables } from './tables.ts'

export interface LanceLibraryOptions extends LibraryOptions {
  /** The folder of the whole library; created at the first write. */
  readonly path: string
  /** Which tables are searched in memory; the usual bounds if left out. */
  readonly resident?: ResidentBounds
}

/**
 * A library in a folder: a table of vectors for each shelf (LanceDB), and small files that record the shelves, the
 * changes and the proposals. Nothing is loaded or created before it is needed.
 */
export function lanceLibrary(options: LanceLibraryOptions): Library {
  return libraryOver(lanceStorage(options.path, options.now, options.resident), options)
}

function lanceStorage(path: string, now: () => number, resident?: ResidentBounds): Storage {
  const vectors = join(path, 'vectors')
  const tables = lanceTables(vectors, resident)
  const shelves = shelfFiles(join(path, 'shelves'))
  const changes = changeFiles(join(path, 'changes'))
  const proposals = proposalFiles(join(path, 'proposals'))
  const deletions = deletionLog(join(path, 'forgotten'), now)
  let turn: Promise<unknown> = Promise.resolve()
  /** Of the writer at work. */
  let stillHeld: LockCheck = async () => {}
  let checked: Promise<void> | undefined

  /** Before anything is read; once it was found to be in this version's form, only before writing again. */
  async function readable(): Promise<void> {
    checked ??= checkSchema(path)
    await checked.catch((error: unknown) => {
      checked = undefined
      throw error
    })
  }

  const onceReadable =
    <Given extends unknown[], Result>(read: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      await readable()
      return read(...given)
    }

  /** A write is begun only while the lock is this process's: another writer may be at work after it stood still for long. */
  const whileHeld =
    <Given extends unknown[], Result>(write: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      await stillHeld()
      return write(...given)
    }

  /** What writers have not finished, or not removed: tables that no shelf names, files that have not replaced others. */
  async function leftovers(): Promise<string[]> {
    const records = await shelves.all()
    const isNamed = (table: string) => records.some((record) => mayBeTableOf(record, table))
    const left = (await namesIn(vectors)).filter((table) => !isNamed(table)).map((table) => join(vectors, table))
    for (const folder of [join(path, 'shelves'), join(path, 'changes'), join(path, 'proposals')])
      left.push(...(await namesIn(folder)).filter((file) => file.endsWith('.new')).map((file) => join(folder, file)))
    return left
  }

  /** Removes what a dead writer left. */
  async function sweep(): Promise<void> {
    for (const left of await leftovers()) await rm(left, { recursive: true, force: true })
  }

  async function removeTables(record: ShelfRecord): Promise<void> {
    for (const table of await namesIn(vectors)) {
      if (!mayBeTableOf(record, table)) continue
      tables.closeTable(table.slice(0, -TABLE.length))
      await rm(join(vectors, table), { recursive: true, force: true })
    }
  }

  return {
    exclusive(work) {
      // One at a time within this process, so that the file is not polled unnecessarily.
      const mine = turn.then(async () => {
        await mkdir(path, { recursive: true })
        return withLock(join(path, 'lock'), async (held) => {
          stillHeld = held
          await checkSchema(path)
          await noteSchema(path)
          await sweep()
          return work()
        })
      })
      turn = mine.catch(() => {})
      return mine
    },

    hasLeftovers: async () => (await leftovers()).length > 0,
    // The folders stay when what was in them is gone.
    holdsAnything: async () => (await namesIn(path)).some((name) => name === 'shelves' || name === 'proposals'),
    shelf: onceReadable(shelves.read),
    shelves: onceReadable(shelves.all),
    putShelf: whileHeld(shelves.put),
    removeShelf: whileHeld(async (record) => {
      await shelves.remove(record.name)
      await removeTables(record)
    }),

    count: (record) => orDamage(record, ({ table }) => tables.count(table)),
    countRead: (record) => orDamage(record, ({ table }) => tables.countRead(table)),
    rows: (record, ids) => orDamage(record, async ({ table }) => (ids.length === 0 ? [] : tables.rows(table, ids))),
    rowsBy: (record, by) =>
      orDamage(record, ({ table }) =>
        'change' in by ? tables.rowsBy(table, 'change', [by.change]) : tables.rowsBy(table, 'owner', [...by.owners]),
      ),
    nearest: (record, vector, limit) => orDamage(record, ({ table }) => tables.nearest(table, vector, limit)),
    putRows: whileHeld((record, fresh, replacing) =>
      orDamage(record, ({ table, dimension }) => tables.put(table, dimension, fresh, replacing, now())),
    ),
    rewrite: whileHeld((record, become) =>
      orDamage(record, async ({ name, dimension }) => {
        const table = tableName(name)
        await tables.copy(record.table, table, dimension, become)
        await stillHeld()
        await shelves.put({ ...record, table })
        await removeTables(record)
      }),
    ),

    change: changes.read,
    changes: onceReadable(changes.all),
    addStep: whileHeld(changes.addStep),
    putChange: whileHeld(changes.put),
    removeChange: whileHeld(changes.remove),

    proposal: proposals.read,
    proposals: onceReadable(proposals.all),
    proposed: onceReadable(proposals.proposed),
    putProposal: whileHeld(proposals.put),
    removeProposal: whileHeld(proposals.remove),
    proposalsOf: proposals.of,
    removeProposalsOf: whileHeld(proposals.removeOf),

    noteForgotten: deletions.note,
    wasForgotten: deletions.has,

    close: tables.close,
  }
}

/** What the folders of tables end in. */
const TABLE = '.lance'

/** Whether a folder is the shelf's table; of a shelf whose record can't be read any more, each that `tableName` may have named. */
function mayBeTableOf({ name, table, damaged }: ShelfRecord, folder: string): boolean {
  if (damaged === undefined) return folder === `${table}${TABLE}`
  return folder.startsWith(`${name}.`) && /^[0-9a-f]{12}\.lance$/.test(folder.slice(name.length + 1))
}

/** Rejects with `DamagedFiles` where the work on a shelf shows that its files were cut off. */
async function orDamage<Result>(record: ShelfRecord, work: (record: ShelfRecord) => Promise<Result>): Promise<Result> {
  if (record.damaged !== undefined) throw DamagedFiles.ofShelf(record.name, undefined)
  try {
    return await work(record)
  } catch (error) {
    if (isOfCutFiles(error)) throw DamagedFiles.ofShelf(record.name, error)
    throw error
  }
}

/** As in the settings. */
export interface LibrarySettings extends EmbedderSettings {
  readonly library: EmbedderSettings['library'] & {
    readonly path: string
    readonly shared: readonly string[]
  } & Required<Pick<LibraryOptions, 'proposalsPerAuthor' | 'newProposals'>>
}

/**
 * The library that the settings name; loaded only when it is first used. With `deleted` nothing of deleted subjects is shown or
 * proposed, even before it is erased.
 */
export function libraryOf(settings: LibrarySettings, clock: Clock, deleted?: DeletedOwners): Library {
  const { path, proposalsPerAuthor, newProposals, shared } = settings.library
  return lanceLibrary({
    path,
    embedder: embedderOf(settings),
    now: clock,
    proposalsPerAuthor,
    newProposals,
    shared: new Set(shared),
    ...(deleted === undefined ? {} : { deletedAmong: deleted.deletedAmong }),
  })
}

/** The form in which the library's folder is kept; a change of it raises the number. */
const SCHEMA = 1

/** Throws an `OperatorError` unless this version can read the folder. One without a number is in the first form. */
async function checkSchema(path: string): Promise<void> {
  const text = (await textOf(fileIn(path)))?.trim() ?? '1'
  if (text === String(SCHEMA)) return
  throw new OperatorError(
    `The library in ${path} is in the form ${printable(text, 20)}, and this version of Gavel keeps it in the form ${SCHEMA}. Run the version that wrote it; or set another library.path and import and learn again.`,
  )
}

/** Notes this version's form in a folder that has no number yet. */
async function noteSchema(path: string): Promise<void> {
  if ((await textOf(fileIn(path))) === null) await replaceFile(fileIn(path), `${SCHEMA}\n`)
}

function fileIn(path: string): string {
  return join(path, 'schema')
}
