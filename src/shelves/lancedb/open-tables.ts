import type { Connection, Table } from '@lancedb/lancedb'
import { PermanentError } from '../../contracts/facts/errors.ts'
import { COLUMNS } from './rows.ts'

/** Caches of the native library, in bytes; its own bound would be 7 GB. */
const INDEX_CACHE = 64 * 1024 * 1024
const METADATA_CACHE = 64 * 1024 * 1024
/** Readers see what other processes added after this long, in seconds. */
export const CONSISTENT_WITHIN = 1

/** The tables of a folder, each opened once. Nothing native is loaded before the first use. */
export function openTables(folder: string) {
  let connecting: Promise<Connection> | null = null
  const tables = new Map<string, Promise<Table>>()

  function connected(): Promise<Connection> {
    connecting ??= (async () => {
      const { lance } = await loaded()
      const session = new lance.Session(BigInt(INDEX_CACHE), BigInt(METADATA_CACHE))
      return lance.connect(folder, { readConsistencyInterval: CONSISTENT_WITHIN }, session)
    })()
    connecting.catch(() => {
      connecting = null
    })
    return connecting
  }

  function opened(name: string): Promise<Table> {
    const known = tables.get(name)
    if (known !== undefined) return known
    const opening = connected().then((db) => db.openTable(name))
    tables.set(name, opening)
    opening.catch(() => tables.delete(name))
    return opening
  }

  /** Runs a read, and once more on the table opened anew if it fails: another process may have compacted or replaced it. */
  async function reading<Result>(name: string, read: (table: Table) => Promise<Result>): Promise<Result> {
    try {
      return await read(await opened(name))
    } catch {
      tables.delete(name)
      return opened(name).then(read)
    }
  }

  return {
    reading,
    /** The table at its newest version, whatever this process has read last: for writers, who decide by its content. */
    newest(name: string): Promise<Table> {
      return reading(name, async (table) => {
        await table.checkoutLatest()
        return table
      })
    },
    /** Makes an empty table. `dimension`: numbers in a vector. */
    async make(name: string, dimension: number): Promise<Table> {
      const { Field, FixedSizeList, Float32, Schema, Utf8 } = (await loaded()).arrow
      const db = await connected()
      const vector = new Field('vector', new FixedSizeList(dimension, new Field('item', new Float32(), true)), false)
      const schema = new Schema([...COLUMNS.map((column) => new Field(column, new Utf8(), false)), vector])
      const table = await db.createEmptyTable(name, schema)
      tables.set(name, Promise.resolve(table))
      return table
    },
    /** Forgets the open table: the next use opens it again. */
    closeTable(name: string): void {
      tables.delete(name)
    },
    async close(): Promise<void> {
      const open = connecting
      connecting = null
      tables.clear()
      if (open !== null) (await open).close()
    },
  }
}

/** Whether a read failed for files that are shorter than they say of themselves: LanceDB has no error of its own for this. */
export function isOfCutFiles(error: unknown): boolean {
  return error instanceof Error && /for object of size \d|file size is too small/.test(error.message)
}

/** What shelves need beside the package itself, as npm takes it: `peerDependencies` of package.json, which are optional. */
const SHELF_PACKAGES = '@lancedb/lancedb@0.39.0 apache-arrow@18.1.0'

/** What keeps LanceDB from being loaded, and what to do about it; null where nothing does. */
export async function whyNotLoaded(): Promise<string | null> {
  return loaded().then(
    () => null,
    (error: PermanentError) => error.message,
  )
}

async function loaded() {
  try {
    const [lance, arrow] = await Promise.all([import('@lancedb/lancedb'), import('apache-arrow')])
    return { lance, arrow }
  } catch (cause) {
    const isMissing = (cause as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND'
    const why = isMissing
      ? `shelves need two packages that are not installed: npm install ${SHELF_PACKAGES}`
      : 'LanceDB could not be loaded: it has no build for this machine'
    throw new PermanentError('library', why, { cause })
  }
}
