import { OperatorError, PermanentError, RetryLaterError } from '../contracts/facts/errors.ts'
import type { Embedder } from '../contracts/ports/library.ts'
import { placeOf } from './names.ts'
import type { ShelfRecord, Storage } from './storage.ts'

/** A table that was replaced while it was read is read again under its new name. */
const READ_TRIES = 3

export type ShelfReading = ReturnType<typeof shelfReading>

/**
 * Reads shelves that other processes may replace at the same time, and reports which of them an embedder can't be used
 * with.
 */
export function shelfReading(storage: Pick<Storage, 'shelf'>, embedder: Pick<Embedder, 'name' | 'dimension'>) {
  /** Reads a place, whose table another process may replace meanwhile; null if it is missing. */
  async function read<Result>(name: string, use: (record: ShelfRecord) => Promise<Result>): Promise<Result | null> {
    let cause: unknown
    for (let attempt = 1; attempt <= READ_TRIES; attempt++) {
      const record = await shelfNow(name)
      if (record === null) return null
      try {
        return await use(record)
      } catch (error) {
        if (error instanceof PermanentError || error instanceof OperatorError) throw error
        cause = error
      }
    }
    throw new RetryLaterError('library', `the shelf "${placeOf(name).shelf}" could not be read`, { cause })
  }

  /** A place's current record; null if it does not exist, or if no shelf can have this name. */
  async function shelfNow(name: string): Promise<ShelfRecord | null> {
    try {
      return NAME.test(placeOf(name).shelf) ? await storage.shelf(name) : null
    } catch (cause) {
      if (cause instanceof PermanentError || cause instanceof OperatorError) throw cause
      throw new RetryLaterError('library', 'the library could not be read', { cause })
    }
  }

  function problemOf(shelf: string, record: ShelfRecord | null, dimension = embedder.dimension): string | null {
    if (record === null) return `the shelf "${shelf}" is missing`
    if (record.embedder === embedder.name && (dimension ?? record.dimension) === record.dimension) return null
    const present = dimension === null ? embedder.name : `${embedder.name} (${dimension} dimensions)`
    return `the shelf "${shelf}" was made by the embedder ${record.embedder} (${record.dimension} dimensions), not by ${present}`
  }

  function usable(shelf: string, record: ShelfRecord, dimension?: number): ShelfRecord {
    const problem = problemOf(shelf, record, dimension)
    if (problem === null) return record
    throw new OperatorError(`${problem}. Set library.embedder to it, or drop the shelf and import it again.`)
  }

  return { read, shelfNow, problemOf, usable }
}

/** What a shelf's name may be: it becomes a file's name. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/
/** Throws an `OperatorError` for a name that no shelf can have. */
export function checkedName(shelf: string): string {
  if (NAME.test(shelf)) return shelf
  throw new OperatorError(`"${shelf}" is not a valid shelf name: lower-case letters, digits, "-" and "_", at most 64.`)
}
