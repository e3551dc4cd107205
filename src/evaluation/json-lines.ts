import { readFile } from 'node:fs/promises'
import { OperatorError } from '../domain/errors.ts'
import { MAX_DEPTH, parseMessage, withoutDeepFields } from '../domain/message-json.ts'
import type { BadLine } from './file-message.ts'
import { numberedLines, unreadable } from './lines.ts'

/**
 * The JSON of each line of a file, by its number from 1. Lines that are none are told to `bad`, empty ones passed over. Throws
 * an `OperatorError` if the file can't be read.
 */
export async function* jsonLines(
  file: string,
  bad: (line: BadLine) => void,
): AsyncGenerator<{ line: number; json: unknown }> {
  for await (const { line, text } of numberedLines(file)) {
    const shallow = withoutDeepFields(Buffer.from(text))
    if (shallow === null) {
      bad({ line, why: `is nested deeper than ${MAX_DEPTH} levels` })
      continue
    }
    let json: unknown
    try {
      json = parseMessage(shallow.toString())
    } catch {
      bad({ line, why: 'is not JSON' })
      continue
    }
    yield { line, json }
  }
}

/**
 * The elements of a file that is one JSON list, each by its place in the list from 1; of a file of JSON Lines those. Throws an
 * `OperatorError` if the file can't be read, or the list is none.
 */
export async function* jsonElements(
  file: string,
  bad: (line: BadLine) => void,
): AsyncGenerator<{ line: number; json: unknown }> {
  let text: string
  try {
    text = (await readFile(file, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    throw unreadable(file, error)
  }
  if (!text.trimStart().startsWith('[')) {
    yield* jsonLines(file, bad)
    return
  }
  for (const [at, json] of listOf(text, file).entries()) yield { line: at + 1, json }
}

function listOf(text: string, file: string): unknown[] {
  try {
    return JSON.parse(text) as unknown[]
  } catch (error) {
    // V8 says where; the rest of its message quotes the file.
    const line = /\(line (\d+) /.exec(String(error))?.[1]
    throw new OperatorError(`${file}${line === undefined ? '' : `:${line}`} is not JSON.`, { cause: error })
  }
}
