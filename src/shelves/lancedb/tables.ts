import type { NearRow, Row, RowKey, Version } from '../storage.ts'
import { namesIn } from './files.ts'
import { CONSISTENT_WITHIN, openTables } from './open-tables.ts'
import { type ResidentBounds, residentTables } from './resident.ts'
import { COLUMNS, KEY_COLUMNS, keyOf, nearRowOf, rowOf, storedRow } from './rows.ts'

/** A table is compacted when it has this many small fragments: each addition makes one. */
const FRAGMENTS = 32
/** Old versions of a table are kept for this long, in ms: another process may still be reading one. */
const KEEP_VERSIONS_MS = 10 * 60_000
/** Rows copied in one step. */
const COPY_CHUNK = 1_024
/** Values in one filter. */
const FILTER_CHUNK = 1_024

/** A shelf of 8,000 texts of 512 numbers each is searched in memory; the shelves of a service are, up to four of these. */
const RESIDENT: ResidentBounds = {
  tableBytes: 16 * 1024 * 1024,
  totalBytes: 64 * 1024 * 1024,
  checkEveryMs: CONSISTENT_WITHIN * 1_000,
}

/**
 * Tables of rows with vectors, one folder each. Nothing native is loaded, and no file made, before the first use. Small
 * tables are searched in memory.
 */
export function lanceTables(folder: string, bounds: ResidentBounds = RESIDENT) {
  const tables = openTables(folder)
  const residents = residentTables(tables.reading, bounds)

  return {
    async count(name: string): Promise<number> {
      return (await tables.newest(name)).countRows()
    },

    /** The same by reading each row, and with it every file. */
    countRead(name: string): Promise<number> {
      return tables.reading(name, async (table) => {
        await table.checkoutLatest()
        let count = 0
        for await (const batch of table.query().select(KEY_COLUMNS)) count += batch.numRows
        return count
      })
    },

    async rows(name: string, ids: readonly string[]): Promise<Row[]> {
      const table = await tables.newest(name)
      const found: Row[] = []
      for (let at = 0; at < ids.length; at += FILTER_CHUNK) {
        const chunk = ids.slice(at, at + FILTER_CHUNK).map(literal)
        const rows: unknown[] = await table
          .query()
          .where(`id IN (${chunk.join(', ')})`)
          .toArray()
        found.push(...rows.map(rowOf))
      }
      return found
    },

    async rowsBy(name: string, column: 'change' | 'owner', values: readonly string[]) {
      const table = await tables.newest(name)
      const found: RowKey[] = []
      for (let at = 0; at < values.length; at += FILTER_CHUNK) {
        const chunk = values.slice(at, at + FILTER_CHUNK).map(literal)
        const rows: unknown[] = await table
          .query()
          .where(`\`${column}\` IN (${chunk.join(', ')})`)
          .select(KEY_COLUMNS)
          .toArray()
        found.push(...rows.map(keyOf))
      }
      return found
    },

    async nearest(name: string, vector: Float32Array, limit: number): Promise<NearRow[]> {
      const resident = await residents.of(name)
      if (resident !== null) return resident.nearest(vector, limit)
      const rows: unknown[] = await tables.reading(name, (table) =>
        table
          .vectorSearch(vector)
          .distanceType('cosine')
          .select([...COLUMNS, '_distance'])
          .limit(limit)
          .toArray(),
      )
      return rows.map(nearRowOf)
    },

    /** Adds `fresh`, whose ids the table doesn't have, and replaces the rows with the ids of `replacing`. `now`: epoch ms. */
    async put(name: string, dimension: number, fresh: readonly Row[], replacing: readonly Row[], now: number) {
      residents.drop(name)
      const exists = (await namesIn(folder)).includes(`${name}.lance`)
      const table = exists ? await tables.newest(name) : await tables.make(name, dimension)
      if (replacing.length === 0) await table.add(fresh.map(storedRow))
      else
        await table
          .mergeInsert('id')
          .whenMatchedUpdateAll()
          .whenNotMatchedInsertAll()
          .execute([...fresh, ...replacing].map(storedRow))
      const { fragmentStats } = await table.stats()
      if (fragmentStats.numSmallFragments >= FRAGMENTS)
        await table.optimize({ cleanupOlderThan: new Date(now - KEEP_VERSIONS_MS) })
      residents.drop(name)
    },

    /** Copies a table without the rows whose id `become` maps to null, and with the others that it names changed. */
    async copy(from: string, to: string, dimension: number, become: ReadonlyMap<string, Version | null>) {
      const source = await tables.newest(from)
      const target = await tables.make(to, dimension)
      for await (const batch of source.query()) {
        const rows: unknown[] = batch.toArray()
        for (let at = 0; at < rows.length; at += COPY_CHUNK) {
          const kept = rows.slice(at, at + COPY_CHUNK).flatMap((read) => {
            const row = rowOf(read)
            const version = become.get(row.id)
            return version === null ? [] : [{ ...row, ...version }]
          })
          if (kept.length > 0) await target.add(kept.map(storedRow))
        }
      }
    },

    closeTable(name: string): void {
      residents.drop(name)
      tables.closeTable(name)
    },
    async close(): Promise<void> {
      residents.clear()
      await tables.close()
    },
  }
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
