import { createReadStream } from 'node:fs'
import { OperatorError } from '../../service/domain/errors.ts'

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
  return new OperatorError(`${file} cannot be read: ${String(error.code)}`, { cause: error })
}
