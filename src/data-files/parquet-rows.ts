import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { asyncBufferFromFile, type Compressors, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { OperatorError } from '../contracts/facts/errors.ts'
import { bytesAddress } from './own-images.ts'

/** Most rows that are held at once, and their bytes. For each such part its row group is read anew. */
const ROWS = 50_000
const BYTES = 64 * 1024 * 1024
/** A column of one row group may take no more than this, in bytes. */
const LARGEST_CHUNK = 1024 * 1024 * 1024

/** Codecs that Node has; Snappy is the reader's own. */
const COMPRESSORS: Compressors = {
  GZIP: (bytes, length) => gunzipSync(bytes, { maxOutputLength: Math.max(1, length) }),
  ZSTD: (bytes, length) => zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
  BROTLI: (bytes, length) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, length) }),
}

/**
 * The files of a folder as Hugging Face keeps a data set, in the order of their names, or the file itself; empty where a file is no
 * Parquet. Throws an `OperatorError` for a folder without Parquet files.
 */
export async function parquetFiles(path: string): Promise<string[]> {
  const isFolder = (await stat(path).catch(() => null))?.isDirectory() === true
  if (!isFolder) return IS_PARQUET.test(path) ? [path] : []
  const all = await readdir(path, { recursive: true })
  const files = all.filter((name) => IS_PARQUET.test(name)).sort()
  if (files.length === 0) throw new OperatorError(`${path} is a folder without Parquet files: name one file.`)
  return files.map((name) => join(path, name))
}
const IS_PARQUET = /\.parquet$/i

/** A row, numbered from 1; `isRow` where it is flat, as a row of CSV is. */
interface ParquetRow {
  readonly line: number
  readonly json: Readonly<Record<string, unknown>>
  readonly isRow?: true
}

/** The rows of these files, numbered through. A row without `split` has that of its file's name, as in `train-00000-of-00001`. */
export async function* parquetRows(files: readonly string[]): AsyncGenerator<ParquetRow> {
  let line = 0
  for (const file of files) {
    const split = /^(train|validation|valid|dev|test)[-.]/.exec(basename(file))?.[1]
    for await (const row of rowsOf(file)) {
      const json = split === undefined || row.split !== undefined ? row : { ...row, split }
      // Lists and groups are what JSON has: such a row is no table's.
      const isFlat = Object.values(json).every((value) => typeof value !== 'object' || value === null)
      yield isFlat ? { line: ++line, json, isRow: true } : { line: ++line, json }
    }
  }
}

async function* rowsOf(path: string): AsyncGenerator<Record<string, unknown>> {
  try {
    const file = await asyncBufferFromFile(path)
    const metadata = await parquetMetadataAsync(file)
    const groups = metadata.row_groups.map(({ num_rows: count, columns }) => ({
      count: Number(count),
      chunks: columns.map(({ meta_data: data }) => Number(data?.total_uncompressed_size ?? 0)),
    }))
    if (groups.some(({ chunks }) => chunks.some((bytes) => bytes > LARGEST_CHUNK)))
      throw new OperatorError(`${path} has a column of more than 1 GiB in one row group: write it in smaller ones.`)
    let from = 0
    for (const { count, chunks } of groups) {
      const parts = Math.ceil(chunks.reduce((sum, bytes) => sum + bytes, 0) / BYTES)
      const most = Math.min(ROWS, Math.max(1, Math.ceil(count / Math.max(1, parts))))
      const end = from + count
      for (; from < end; from += most) {
        const wanted = { rowStart: from, rowEnd: Math.min(end, from + most) }
        const rows = await parquetReadObjects({ file, metadata, ...wanted, compressors: COMPRESSORS, utf8: false })
        for (const row of rows)
          yield Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]))
      }
      from = end
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new OperatorError(`${path} is no Parquet file that can be read: ${why.slice(0, 200)}.`, { cause: error })
  }
}

/**
 * A value as JSON has it: whole numbers that a float can't hold as texts, times as ISO 8601; an image as Hugging Face keeps it
 * (`bytes` beside `path`) as its address; other bytes as the text that they are, or left out.
 */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return textIn(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'object' && value !== null) {
    const { bytes, path, ...others } = value as { bytes?: unknown; path?: unknown } // as: a group of any fields
    const isImage = Object.keys(others).length === 0 && path !== undefined
    if (isImage && bytes instanceof Uint8Array) return bytesAddress(bytes)
    if (isImage && bytes === null && typeof path === 'string') return path
    return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, plain(of)]))
  }
  return value
}

/** Texts of a column that does not say that it holds texts; null where they are none. */
function textIn(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes)
  } catch {
    return null
  }
}
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
