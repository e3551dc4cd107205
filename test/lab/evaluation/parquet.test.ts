import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type FileRecord, recordsOf } from '../../../src/data-files/file-records.ts'
import type { Evaluation } from '../../../src/lab/evaluation/evaluation.ts'
import { tidyColumns, tidyTable } from '../../../src/lab/evaluation/report/tidy.ts'

const folder = mkdtempSync(join(tmpdir(), 'gavel-parquet-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Column = Parameters<typeof parquetWriteBuffer>[0]['columnData'][number]
function parquetFile(
  name: string,
  columnData: Column[],
  codec: 'UNCOMPRESSED' | 'SNAPPY' | 'GZIP' | 'ZSTD' = 'SNAPPY',
) {
  const file = join(folder, name)
  const compressors = {
    GZIP: (bytes: Uint8Array) => gzipSync(bytes),
    ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes),
  }
  writeFileSync(file, Buffer.from(parquetWriteBuffer({ columnData, codec, compressors })))
  return file
}
async function read(file: string, needed: readonly string[] = ['text'], recordsIn = recordsOf) {
  const bad: string[] = []
  const records: FileRecord[] = []
  for await (const record of recordsIn(file, {}, { needed }, ({ why }) => void bad.push(why))) records.push(record)
  return { records, bad }
}
const texts = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `text ${from + at}`)

describe('a Parquet file', () => {
  it.each(['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'ZSTD'] as const)('packed as %s is read row by row', async (codec) => {
    const file = parquetFile(
      `${codec}.parquet`,
      [
        { name: 'id', data: [1n, 2n, 9_007_199_254_740_993n], type: 'INT64' },
        { name: 'text', data: ['one', 'zwei', '셋'], type: 'STRING' },
        { name: 'at', data: [0, 1, 2].map((day) => new Date(day * 86_400_000)), type: 'TIMESTAMP' },
        { name: 'score', data: [0.5, null, -1], type: 'DOUBLE' },
      ],
      codec,
    )
    const { records } = await read(file)
    expect(records).toEqual([
      { line: 1, json: { id: 1, text: 'one', at: '1970-01-01T00:00:00.000Z', score: 0.5 }, isRow: true },
      { line: 2, json: { id: 2, text: 'zwei', at: '1970-01-02T00:00:00.000Z', score: null }, isRow: true },
      { line: 3, json: { id: '9007199254740993', text: '셋', at: '1970-01-03T00:00:00.000Z', score: -1 }, isRow: true },
    ])
  })

  it('of several thousand rows is read whole and in order', async () => {
    const { records } = await read(parquetFile('long.parquet', [{ name: 'text', data: texts(3_500), type: 'STRING' }]))
    expect(records.map(({ json }) => (json as { text: string }).text)).toEqual(texts(3_500)) // as: the column that was written
  })

  it('is not read anew for every few rows', async () => {
    const file = parquetFile('many.parquet', [{ name: 'text', data: texts(20_000), type: 'STRING' }], 'UNCOMPRESSED')
    let bytesRead = 0
    // Other tests of this process may have loaded the reader.
    vi.resetModules()
    vi.doMock('hyparquet', async (original) => {
      const own = await original<typeof import('hyparquet')>()
      return {
        ...own,
        asyncBufferFromFile: async (path: string) => {
          const { byteLength, slice: ownSlice } = await own.asyncBufferFromFile(path)
          const slice: typeof ownSlice = (start, end = byteLength) => {
            bytesRead += end - start
            return ownSlice(start, end)
          }
          return { byteLength, slice }
        },
      }
    })
    onTestFinished(() => {
      vi.doUnmock('hyparquet')
      vi.resetModules()
    })
    const counted = await import('../../../src/data-files/file-records.ts')
    expect((await read(file, ['text'], counted.recordsOf)).records).toHaveLength(20_000)
    expect(bytesRead).toBeGreaterThan(200_000)
    expect(bytesRead).toBeLessThan(3 * statSync(file).size)
  })

  it('is of no split by the name of a folder that it is in', async () => {
    mkdirSync(join(folder, 'test-sets'))
    const file = parquetFile('test-sets/mine.parquet', [{ name: 'text', data: texts(1), type: 'STRING' }])
    expect((await read(file)).records[0]?.json).toEqual({ text: 'text 0' })
  })

  it('in a folder is one of a data set’s splits', async () => {
    mkdirSync(join(folder, 'set', 'data'), { recursive: true })
    const column = (count: number, from: number): Column[] => [
      { name: 'text', data: texts(count, from), type: 'STRING' },
    ]
    parquetFile('set/data/train-00000-of-00002.parquet', column(2, 0))
    parquetFile('set/data/train-00001-of-00002.parquet', column(1, 2))
    parquetFile('set/data/test-00000-of-00001.parquet', column(1, 3))
    writeFileSync(join(folder, 'set', 'README.md'), 'About it.')
    const { records } = await read(join(folder, 'set'))
    expect(records.map(({ line, json }) => [line, json])).toEqual([
      [1, { text: 'text 3', split: 'test' }],
      [2, { text: 'text 0', split: 'train' }],
      [3, { text: 'text 1', split: 'train' }],
      [4, { text: 'text 2', split: 'train' }],
    ])
  })

  it('that is none, is cut off, or lacks the column, and a folder without any, end in one line', async () => {
    const cut = join(folder, 'cut.parquet')
    writeFileSync(cut, 'PAR1 and nothing else')
    await expect(read(cut)).rejects.toThrow(/cut\.parquet is no Parquet file that can be read: /)
    const other = parquetFile('other.parquet', [{ name: 'body', data: ['x'], type: 'STRING' }])
    await expect(read(other)).rejects.toThrow('has no item with "text"; its first has body')
    mkdirSync(join(folder, 'empty'))
    await expect(read(join(folder, 'empty'))).rejects.toThrow('empty is a folder without Parquet files: name one file.')
  })
})

describe('an evaluation, tidily', () => {
  it('has a line for each item, row and repeat, and a number in a cell', async () => {
    const usage = { calls: 2, tokens: 30, costUsd: 0.01, sequence: 1 }
    const outcome = { id: 'a', unit: 'u', gold: 'hate', label: null, confidence: null, usage, scores: { tone: 2.5 } }
    const table = [
      {
        row: 'hate',
        data: 'set',
        variant: { model: 'm', preset: 'paper' },
        outcomes: [
          { ...outcome, ratings: { tone: 3 } },
          { ...outcome, repeat: 2, label: 'hate' },
        ],
      },
      { row: 'zero-shot', data: 'set', outcomes: [{ ...outcome, id: 'b,"', scores: {} }] },
    ]
    // The fields that are read, and no others.
    const columns = tidyColumns({ protocol: 'hate', table } as unknown as Evaluation) // tidyColumns reads these fields alone
    expect(tidyTable(columns)).toEqual({
      head: 'protocol data row model settings repeat item unit gold label confidence calls tokens usd rating_tone score_tone'.split(
        ' ',
      ),
      rows: [
        ['hate', 'set', 'hate', 'm', 'paper', '1', 'a', 'u', 'hate', '', '', '2', '30', '0.01', '3', '2.5'],
        ['hate', 'set', 'hate', 'm', 'paper', '2', 'a', 'u', 'hate', 'hate', '', '2', '30', '0.01', '', '2.5'],
        ['hate', 'set', 'zero-shot', '', '', '1', 'b,"', 'u', 'hate', '', '', '2', '30', '0.01', '', ''],
      ],
    })
    const file = parquetFile(
      'items.parquet',
      columns.map(({ data, ...column }) => ({ ...column, data: [...data] })),
    )
    const { records } = await read(file, ['item'])
    expect(records[1]?.json).toMatchObject({ row: 'hate', repeat: 2, label: 'hate', confidence: null, score_tone: 2.5 })
  })
})
