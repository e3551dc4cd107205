import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type LibraryOptions, libraryOver } from '../../library/library.ts'
import { tableName } from '../../library/names.ts'
import type { Storage } from '../../library/storage.ts'
import type { Library } from '../../ports/library.ts'
import { namesIn } from './files.ts'
import { withLock } from './lock.ts'
import { orDamage } from './open-tables.ts'
import { changeFiles, farewellFiles, proposalFiles, shelfFiles } from './records.ts'
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

export function lanceStorage(path: string, now: () => number, resident?: ResidentBounds): Storage {
  const vectors = join(path, 'vectors')
  const tables = lanceTables(vectors, resident)
  const shelves = shelfFiles(join(path, 'shelves'))
  const changes = changeFiles(join(path, 'changes'))
  const proposals = proposalFiles(join(path, 'proposals'))
  const farewells = farewellFiles(join(path, 'forgotten'), now)
  let turn: Promise<unknown> = Promise.resolve()

  /** What writers have not finished, or not removed: tables that no shelf names, files that have not replaced others. */
  async function leftovers(): Promise<string[]> {
    const named = new Set((await shelves.all()).map(({ table }) => `${table}.lance`))
    const left = (await namesIn(vectors)).filter((table) => !named.has(table)).map((table) => join(vectors, table))
    for (const folder of [join(path, 'shelves'), join(path, 'changes'), join(path, 'proposals')])
      left.push(...(await namesIn(folder)).filter((file) => file.endsWith('.new')).map((file) => join(folder, file)))
    return left
  }

  /** Removes what a dead writer left. */
  async function sweep(): Promise<void> {
    for (const left of await leftovers()) await rm(left, { recursive: true, force: true })
  }

  async function removeTable(name: string): Promise<void> {
    tables.closeTable(name)
    await rm(join(vectors, `${name}.lance`), { recursive: true, force: true })
  }

  return {
    exclusive(work) {
      // One at a time within this process, so that the file is not polled unnecessarily.
      const mine = turn.then(async () => {
        await mkdir(path, { recursive: true })
        return withLock(join(path, 'lock'), async () => {
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
    shelf: shelves.read,
    shelves: shelves.all,
    putShelf: shelves.put,
    async removeShelf(record) {
      await shelves.remove(record.name)
      await removeTable(record.table)
    },

    count: ({ table }) => tables.count(table),
    countRead: ({ table }) => tables.countRead(table),
    rows: ({ table }, ids) => (ids.length === 0 ? Promise.resolve([]) : orDamage(tables.rows(table, ids))),
    rowsBy: ({ table }, by) =>
      orDamage(
        'change' in by ? tables.rowsBy(table, 'change', [by.change]) : tables.rowsBy(table, 'owner', [...by.owners]),
      ),
    ownedRows: ({ table }) => orDamage(tables.ownedRows(table)),
    nearest: ({ table }, vector, limit, loadedOnly) => tables.nearest(table, vector, limit, loadedOnly),
    putRows: ({ table, dimension }, fresh, replacing) => tables.put(table, dimension, fresh, replacing, now()),
    async rewrite(record, become) {
      const table = tableName(record.name)
      await tables.copy(record.table, table, record.dimension, become)
      await shelves.put({ ...record, table })
      await removeTable(record.table)
    },

    change: changes.read,
    changes: changes.all,
    addStep: changes.addStep,
    putChange: changes.put,
    removeChange: changes.remove,

    proposal: proposals.read,
    proposals: proposals.all,
    proposed: proposals.proposed,
    putProposal: proposals.put,
    removeProposal: proposals.remove,

    noteForgotten: farewells.note,
    wasForgotten: farewells.has,

    close: tables.close,
  }
}
