import type { Table } from '@lancedb/lancedb'
import type { NearRow, Row } from '../storage.ts'
import { rowOf } from './rows.ts'

/** Rows in memory, whose nearest to a vector are found in one pass over all of them. */
export interface ResidentRows {
  /** As `Storage.nearest`: by cosine similarity, and of equal ones in the table's order. */
  nearest(vector: Float32Array, limit: number): NearRow[]
}

export interface ResidentBounds {
  /** Most bytes of vectors of one table; a larger one stays on disk. */
  readonly tableBytes: number
  /** The same of all tables: beyond it, the one that was not searched for longest is dropped. */
  readonly totalBytes: number
  /** For so long a table counts as unchanged by other processes, in ms. */
  readonly checkEveryMs: number
}

/** A table that is not searched for this long is dropped, in ms. */
const UNUSED_MS = 60_000

interface Kept {
  /** The table's version. */
  readonly version: number
  /** Null if it is too large. */
  readonly rows: ResidentRows | null
  readonly bytes: number
  readonly checkedAt: number
}

/**
 * Tables that are small enough to be searched in memory, as they were at most `checkEveryMs` ago. `reading` runs a read on
 * an open table. A table that this process changes must be dropped.
 */
export function residentTables(
  reading: <Result>(name: string, read: (table: Table) => Promise<Result>) => Promise<Result>,
  bounds: ResidentBounds,
  now: () => number = () => performance.now(),
) {
  const kept = new Map<string, Kept>()
  const loading = new Map<string, Promise<ResidentRows | null>>()

  function keep(name: string, one: Kept): void {
    kept.delete(name)
    kept.set(name, one)
    let total = [...kept.values()].reduce((sum, { bytes }) => sum + bytes, 0)
    for (const [oldest, { bytes, checkedAt }] of kept) {
      // The first ones are those that were not asked for longest; of a table that was replaced nothing stays behind.
      if (total <= bounds.totalBytes && now() - checkedAt < UNUSED_MS) break
      kept.delete(oldest)
      total -= bytes
    }
  }

  async function load(name: string): Promise<Kept> {
    const checkedAt = now()
    return reading(name, async (table) => {
      const version = await table.version()
      const known = kept.get(name)
      if (known?.version === version) return { ...known, checkedAt }
      const [first] = (await table.query().limit(1).toArray()).map(rowOf)
      const bytes = (await table.countRows()) * (first?.vector.byteLength ?? 0)
      if (bytes > bounds.tableBytes) return { version, rows: null, bytes: 0, checkedAt }
      const rows = (await table.query().toArray()).map(rowOf)
      return { version, rows: packed(rows), bytes, checkedAt }
    })
  }

  return {
    /** The table's rows; null if they are too many. */
    async of(name: string): Promise<ResidentRows | null> {
      const known = kept.get(name)
      if (known !== undefined && now() - known.checkedAt < bounds.checkEveryMs) {
        keep(name, known)
        return known.rows
      }
      const under = loading.get(name)
      if (under !== undefined) return under
      const mine = load(name).then((one) => {
        // What was changed or dropped meanwhile is read again for the next caller.
        if (loading.get(name) === mine) keep(name, one)
        return one.rows
      })
      loading.set(name, mine)
      try {
        return await mine
      } finally {
        if (loading.get(name) === mine) loading.delete(name)
      }
    },
    drop(name: string): void {
      kept.delete(name)
      loading.delete(name)
    },
    clear(): void {
      kept.clear()
      loading.clear()
    },
  }
}

function packed(rows: readonly Row[]): ResidentRows {
  const dimension = rows[0]?.vector.length ?? 0
  const vectors = new Float32Array(rows.length * dimension)
  const lengths = new Float64Array(rows.length)
  const bare = rows.map(({ vector, ...row }, at) => {
    vectors.set(vector, at * dimension)
    lengths[at] = Math.sqrt(dot(vector, 0, vector))
    return row
  })

  return {
    nearest(vector, limit) {
      const length = Math.sqrt(dot(vector, 0, vector))
      const best: { at: number; similarity: number }[] = []
      for (let at = 0; at < bare.length; at++) {
        const similarity = dot(vectors, at * dimension, vector) / ((lengths[at] ?? 0) * length)
        // A vector without a direction is near nothing: the division gives no number.
        if (Number.isNaN(similarity)) continue
        const last = best[limit - 1]
        if (last !== undefined && similarity <= last.similarity) continue
        let place = best.length
        while (place > 0 && (best[place - 1]?.similarity ?? 0) < similarity) place--
        best.splice(place, 0, { at, similarity })
        if (best.length > limit) best.pop()
      }
      return best.flatMap(({ at, similarity }) => {
        const row = bare[at]
        return row === undefined ? [] : [{ ...row, similarity }]
      })
    },
  }
}

/** The inner product of `vector` and as many numbers of `vectors`, from `start` on. */
function dot(vectors: Float32Array, start: number, vector: Float32Array): number {
  let sum = 0
  for (let i = 0; i < vector.length; i++) sum += (vectors[start + i] ?? 0) * (vector[i] ?? 0)
  return sum
}
