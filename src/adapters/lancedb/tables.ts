import type { Connection, Session, Table } from '@lancedb/lancedb'
import { z } from 'zod'
import { PermanentError } from '../../domain/errors.ts'
import type { NearRow, Row, Version } from '../../library/storage.ts'
import { namesIn } from './files.ts'

/** Caches of the native library, in bytes; its own bound would be 7 GB. */
const INDEX_CACHE = 64 * 1024 * 1024
const METADATA_CACHE = 64 * 1024 * 1024
/** Readers see what other processes added after this long, in seconds. */
const CONSISTENT_WITHIN = 1
/** Small additions are put together when there are this many. */
const FRAGMENTS = 32
/** What another process may still be reading is kept for this long, in ms. */
const KEEP_VERSIONS_MS = 10 * 60_000
/** Rows that are copied in one step. */
const COPIED_AT_ONCE = 1_024
/** Ids in one filter. */
const ASKED_AT_ONCE = 1_024

type Lance = typeof import('@lancedb/lancedb')

const metadata = z
  .string()
  .transform((json): unknown => JSON.parse(json))
  .pipe(z.record(z.string(), z.string()))
const standing = z.object({
  id: z.string(),
  text: z.string(),
  label: z.string(),
  metadata,
  owner: z.string(),
  source: z.string(),
  change: z.string(),
})
const near = standing.extend({ _distance: z.number() })
const withVector = standing.extend({
  vector: z.custom<Iterable<number>>(
    (value) => typeof value === 'object' && value !== null && Symbol.iterator in value,
  ),
})
const keys = z.object({ id: z.string(), change: z.string() })

const SHOWN = Object.keys(standing.shape)

/** Tables of rows with vectors, one folder each. Nothing native is loaded, and no file made, before the first use. */
export function lanceTables(folder: string) {
  let connecting: Promise<{ lance: Lance; db: Connection; session: Session }> | null = null
  const tables = new Map<string, Promise<Table>>()

  function connected() {
    connecting ??= (async () => {
      const lance = await loaded()
      const session = new lance.Session(BigInt(INDEX_CACHE), BigInt(METADATA_CACHE))
      const db = await lance.connect(folder, { readConsistencyInterval: CONSISTENT_WITHIN }, session)
      return { lance, db, session }
    })()
    connecting.catch(() => {
      connecting = null
    })
    return connecting
  }

  function opened(name: string): Promise<Table> {
    const known = tables.get(name)
    if (known !== undefined) return known
    const opening = connected().then(({ db }) => db.openTable(name))
    tables.set(name, opening)
    opening.catch(() => tables.delete(name))
    return opening
  }

  /** Runs a read; a table that another process has compacted or replaced is opened anew for the next try. */
  async function reading<Result>(name: string, read: (table: Table) => Promise<Result>): Promise<Result> {
    try {
      return await read(await opened(name))
    } catch {
      tables.delete(name)
      return read(await opened(name))
    }
  }

  async function make(name: string, dimension: number): Promise<Table> {
    const { Field, FixedSizeList, Float32, Schema, Utf8 } = await import('apache-arrow')
    const { db } = await connected()
    const vector = new Field('vector', new FixedSizeList(dimension, new Field('item', new Float32(), true)), false)
    const schema = new Schema([...SHOWN.map((column) => new Field(column, new Utf8(), false)), vector])
    const table = await db.createEmptyTable(name, schema)
    tables.set(name, Promise.resolve(table))
    return table
  }

  /** The newest state, whatever this process has seen last: for writers, who decide by what stands there. */
  function current(name: string): Promise<Table> {
    return reading(name, async (table) => {
      await table.checkoutLatest()
      return table
    })
  }

  return {
    async count(name: string): Promise<number> {
      return (await current(name)).countRows()
    },

    async rows(name: string, ids: readonly string[]): Promise<Row[]> {
      const table = await current(name)
      const found: Row[] = []
      for (let at = 0; at < ids.length; at += ASKED_AT_ONCE) {
        const asked = ids.slice(at, at + ASKED_AT_ONCE).map(literal)
        const rows: unknown[] = await table
          .query()
          .where(`id IN (${asked.join(', ')})`)
          .toArray()
        found.push(...rows.map(rowOf))
      }
      return found
    },

    async rowsBy(name: string, column: 'change' | 'owner', value: string) {
      const table = await current(name)
      const rows: unknown[] = await table
        .query()
        .where(`\`${column}\` = ${literal(value)}`)
        .select(['id', 'change'])
        .toArray()
      return rows.map((row) => keys.parse(row))
    },

    async ownedRows(name: string): Promise<string[]> {
      const table = await current(name)
      const rows: unknown[] = await table.query().where("owner <> ''").select(['id', 'change']).toArray()
      return rows.map((row) => keys.parse(row).id)
    },

    async nearest(name: string, vector: Float32Array, limit: number, loadedOnly: boolean) {
      const rows: unknown[] = await reading(name, (table) => {
        const search = table
          .vectorSearch(vector)
          .distanceType('cosine')
          .select([...SHOWN, '_distance'])
          .limit(limit)
        // The filter goes before the search, so that as many are found as there are.
        return (loadedOnly ? search.where("owner = ''") : search).toArray()
      })
      return rows.map((row): NearRow => {
        const { _distance, ...rest } = near.parse(row)
        return { ...rest, similarity: 1 - _distance }
      })
    },

    async put(name: string, dimension: number, fresh: readonly Row[], replacing: readonly Row[], now: number) {
      const there = (await namesIn(folder)).includes(`${name}.lance`)
      const table = there ? await current(name) : await make(name, dimension)
      if (replacing.length === 0) await table.add(fresh.map(plain))
      else
        await table
          .mergeInsert('id')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .execute([...fresh, ...replacing].map(plain))
      const { fragmentStats } = await table.stats()
      if (fragmentStats.numSmallFragments >= FRAGMENTS)
        await table.optimize({ cleanupOlderThan: new Date(now - KEEP_VERSIONS_MS) })
    },

    /** Copies a table without the rows that become null, and with others changed. */
    async copy(from: string, to: string, dimension: number, become: ReadonlyMap<string, Version | null>) {
      const source = await current(from)
      const target = await make(to, dimension)
      for await (const batch of source.query()) {
        const rows: unknown[] = batch.toArray()
        for (let at = 0; at < rows.length; at += COPIED_AT_ONCE) {
          const kept = rows.slice(at, at + COPIED_AT_ONCE).flatMap((read) => {
            const row = rowOf(read)
            const version = become.get(row.id)
            return version === null ? [] : [{ ...row, ...version }]
          })
          if (kept.length > 0) await target.add(kept.map(plain))
        }
      }
    },

    closeTable(name: string): void {
      tables.delete(name)
    },

    async close(): Promise<void> {
      const open = connecting
      connecting = null
      tables.clear()
      if (open !== null) (await open).db.close()
    },
  }
}

async function loaded(): Promise<Lance> {
  try {
    return await import('@lancedb/lancedb')
  } catch (cause) {
    throw new PermanentError(
      'library',
      'LanceDB could not be loaded: it has no build for this machine, or is not installed',
      {
        cause,
      },
    )
  }
}

function rowOf(read: unknown): Row {
  const row = withVector.parse(read)
  return { ...row, vector: Float32Array.from(row.vector) }
}

/** A row as the table takes it. */
function plain({ id, text, label, metadata, owner, source, change, vector }: Row): Record<string, unknown> {
  return { id, text, label, metadata: JSON.stringify(metadata), owner, source, change, vector }
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
