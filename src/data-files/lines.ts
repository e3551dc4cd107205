import { constants, createReadStream, readdirSync } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { didYouMean } from '../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../contracts/facts/errors.ts'

/**
 * The lines of a text file, without a byte order mark. Lines end with LF or CRLF alone: JSON may hold Unicode's line
 * separators unescaped, at which readline would split it. Throws what reading throws.
 */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const stream = createReadStream(file, 'utf8')
  let begun = ''
  let first = true
  try {
    for await (const chunk of stream) {
      const [head = '', ...tail] = String(chunk).split('\n')
      begun += first ? head.replace(/^\ufeff/, '') : head
      first = false
      const last = tail.pop()
      if (last === undefined) continue
      yield begun
      yield* tail
      begun = last
    }
    if (begun !== '') yield begun
  } finally {
    stream.destroy()
  }
}

/** An `OperatorError` in place of what reading a file throws; every other error as it is. */
export function unreadable(file: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error
  return new OperatorError(`${file} cannot be read: ${whyNot(file, String(error.code))}`, { cause: error })
}

/** Throws an `OperatorError` where a file cannot be read. */
export async function mustBeReadable(file: string): Promise<void> {
  try {
    await access(file, constants.R_OK)
    if ((await stat(file)).isDirectory()) throw Object.assign(new Error('is a folder'), { code: 'EISDIR' })
  } catch (error) {
    throw unreadable(file, error)
  }
}

function whyNot(file: string, code: string): string {
  if (code === 'EISDIR') return 'it is a folder.'
  if (code === 'EACCES') return 'this user may not.'
  if (code !== 'ENOENT') return `${code}.`
  return `there is no such file.${didYouMean(basename(file), namesBeside(file))}`
}

function namesBeside(file: string): string[] {
  try {
    return readdirSync(dirname(file))
  } catch {
    return []
  }
}
