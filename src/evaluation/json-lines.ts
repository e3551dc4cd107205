import { OperatorError } from '../domain/errors.ts'
import type { BadLine } from './file-message.ts'
import { linesOf } from './lines.ts'

/**
 * The JSON of each line of a file, by its number from 1. Lines that are none are told to `bad`, empty ones passed over. Throws
 * an `OperatorError` if the file can't be read.
 */
export async function* jsonLines(
  file: string,
  bad: (line: BadLine) => void,
): AsyncGenerator<{ line: number; json: unknown }> {
  let line = 0
  try {
    for await (const text of linesOf(file)) {
      line++
      if (text.trim() === '') continue
      let json: unknown
      try {
        json = JSON.parse(text)
      } catch {
        bad({ line, why: 'is not JSON' })
        continue
      }
      yield { line, json }
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    throw new OperatorError(`${file} cannot be read: ${String(error.code)}`, { cause: error })
  }
}
