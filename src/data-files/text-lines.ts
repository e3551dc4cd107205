import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { TextDecoder } from 'node:util'
import { createGunzip } from 'node:zlib'
import { OperatorError } from '../contracts/facts/errors.ts'
import { unreadable } from './lines.ts'

/** How a file is to be read, where it does not say it itself. */
export interface FileReading {
  /** As the Encoding Standard names it: `latin1`, `euc-kr`; by default UTF-8, or the encoding of a byte order mark. */
  readonly encoding?: string
  /** Of CSV: what stands between two fields; found by default. */
  readonly delimiter?: string
}

export interface TextLine {
  /** From 1. */
  readonly line: number
  /** Without its line end. */
  readonly text: string
  /** False where bytes of it are none of the encoding: replacement characters stand for them. */
  readonly isWhole: boolean
}

/** The fault of a line that is not whole. */
export const NOT_UTF8 = 'is not UTF-8: name the encoding of the file, as --encoding latin1'

const LF = 0x0a

/** First bytes of files that hold no text, and what to do with them. */
const NO_TEXT: readonly (readonly [bytes: readonly number[], what: string])[] = [
  [[0x50, 0x4b, 0x03, 0x04], 'is a ZIP archive or a workbook: unpack it, or save its sheet as CSV'],
  [[0xd0, 0xcf, 0x11, 0xe0], 'is a workbook: save its sheet as CSV'],
  [[0x50, 0x41, 0x52, 0x31], 'is a Parquet file: let its name end with .parquet'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'is compressed with Zstandard: unpack it, or use gzip'],
  [[0x42, 0x5a, 0x68], 'is compressed with bzip2: unpack it, or use gzip'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], 'is compressed with xz: unpack it, or use gzip'],
  [[0x25, 0x50, 0x44, 0x46], 'is a PDF: no table can be read from it'],
]
const GZIP = [0x1f, 0x8b]
const MARKS: readonly (readonly [bytes: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]

/**
 * The lines of a text file, unpacked if it is gzip, without a byte order mark. Lines end with LF, with CRLF or at the end: JSON may
 * hold Unicode's line separators. Throws an `OperatorError` in one line where the file can't be read, holds no text, is empty, or
 * is not in the encoding that was named; of UTF-8 single lines are not whole.
 */
export async function* textLines(file: string, { encoding }: FileReading = {}): AsyncGenerator<TextLine> {
  const named = encoding === undefined ? undefined : encodingNamed(encoding)
  let any = false
  try {
    const first = await firstBytes(file)
    const stream = createReadStream(file)
    try {
      for await (const line of decoded(file, unpacked(file, stream, first), named)) {
        any ||= line.text.trim() !== ''
        yield line
      }
    } finally {
      stream.destroy()
    }
  } catch (error) {
    throw unreadable(file, error)
  }
  if (!any) throw new OperatorError(`${file} is empty.`)
}

function encodingNamed(name: string): string {
  try {
    return new TextDecoder(name).encoding
  } catch {
    throw new OperatorError(`There is no encoding "${name}": name one as utf-8, latin1, utf-16le, euc-kr or gb18030.`)
  }
}

async function firstBytes(file: string): Promise<Buffer> {
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(8), 0, 8, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

function begins(bytes: Buffer, mark: readonly number[]): boolean {
  return mark.every((byte, at) => bytes[at] === byte)
}

function unpacked(file: string, stream: NodeJS.ReadableStream, first: Buffer): AsyncIterable<Buffer> {
  const other = NO_TEXT.find(([mark]) => begins(first, mark))
  if (other !== undefined) throw new OperatorError(`${file} ${other[1]}.`)
  if (!begins(first, GZIP)) return stream as unknown as AsyncIterable<Buffer>
  const gunzip = createGunzip()
  stream.on('error', (error) => gunzip.destroy(error as Error))
  return stream.pipe(gunzip)
}

async function* decoded(
  file: string,
  chunks: AsyncIterable<Buffer>,
  named: string | undefined,
): AsyncGenerator<TextLine> {
  let decoder: TextDecoder | null | undefined
  let line = 0
  let begun: Buffer[] = []
  let rest = ''
  const inUtf8 = (bytes: Buffer): TextLine => ({
    line: ++line,
    text: withoutEnd(bytes.toString('utf8')),
    isWhole: isUtf8(bytes),
  })
  const intoLines = (text: string): TextLine[] => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    return lines.map((one) => ({ line: ++line, text: withoutEnd(one), isWhole: true }))
  }
  for await (let chunk of chunks) {
    if (decoder === undefined) {
      const mark = MARKS.find(([bytes]) => begins(chunk, bytes))
      const encoding = named ?? mark?.[1] ?? 'utf-8'
      if (mark !== undefined && mark[1] === encoding) chunk = chunk.subarray(mark[0].length)
      else if (named === undefined && chunk.subarray(0, 64).includes(0))
        throw new OperatorError(`${file} is no text, or UTF-16 without a byte order mark: try --encoding utf-16le.`)
      decoder = encoding === 'utf-8' ? null : new TextDecoder(encoding, { fatal: true })
    }
    if (decoder !== null) {
      yield* intoLines(decodedBy(decoder, file, chunk))
      continue
    }
    let from = 0
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, from)) {
      begun.push(chunk.subarray(from, end))
      yield inUtf8(Buffer.concat(begun))
      begun = []
      from = end + 1
    }
    if (from < chunk.length) begun.push(chunk.subarray(from))
  }
  if (begun.length > 0) yield inUtf8(Buffer.concat(begun))
  if (decoder) yield* intoLines(decodedBy(decoder, file))
  if (rest !== '') yield { line: ++line, text: rest, isWhole: true }
}

function decodedBy(decoder: TextDecoder, file: string, chunk?: Buffer): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined })
  } catch (error) {
    throw new OperatorError(`${file} is not in the encoding ${decoder.encoding}: name another with --encoding.`, {
      cause: error,
    })
  }
}

function withoutEnd(text: string): string {
  return text.endsWith('\r') ? text.slice(0, -1) : text
}

/** The lines that hold something, by their number from 1; those that are not whole are reported to `bad` and left out. */
export async function* numberedLines(
  file: string,
  reading: FileReading,
  bad: (line: { readonly line: number; readonly why: string }) => void,
): AsyncGenerator<TextLine> {
  for await (const line of textLines(file, reading)) {
    if (line.text.trim() === '') continue
    if (line.isWhole) yield line
    else bad({ line: line.line, why: NOT_UTF8 })
  }
}
