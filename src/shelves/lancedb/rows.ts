import { z } from 'zod'
import type { NearRow, Row, RowKey } from '../storage.ts'

const metadata = z
  .string()
  .transform((json): unknown => JSON.parse(json))
  .pipe(z.record(z.string(), z.string()))
const withoutVector = z.object({
  id: z.string(),
  text: z.string(),
  label: z.string(),
  metadata,
  owner: z.string(),
  source: z.string(),
  change: z.string(),
})
const near = withoutVector.extend({ _distance: z.number() })
const withVector = withoutVector.extend({
  vector: z.custom<Iterable<number>>(
    (value) => typeof value === 'object' && value !== null && Symbol.iterator in value,
  ),
})
const key = z.object({ id: z.string(), change: z.string(), owner: z.string() })

/** All columns but the vector. */
export const COLUMNS = Object.keys(withoutVector.shape)
/** The columns that `keyOf` reads. */
export const KEY_COLUMNS = Object.keys(key.shape)

/** A row as a query with all columns gives it. Throws a ZodError for one that Gavel has not written. */
export function rowOf(read: unknown): Row {
  const row = withVector.parse(read)
  return { ...row, vector: Float32Array.from(row.vector) }
}

/** A row as a search by cosine distance gives it: the smaller the distance, the more similar. */
export function nearRowOf(read: unknown): NearRow {
  const { _distance, ...row } = near.parse(read)
  return { ...row, similarity: 1 - _distance }
}

export function keyOf(read: unknown): RowKey {
  return key.parse(read)
}

/** A row as the table stores it: metadata as JSON. */
export function storedRow({ id, text, label, metadata, owner, source, change, vector }: Row): Record<string, unknown> {
  return { id, text, label, metadata: JSON.stringify(metadata), owner, source, change, vector }
}
