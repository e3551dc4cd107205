import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { mustBeReadable } from '../../../data-files/lines.ts'

/** A command's input, which may be read several times. */
export interface InputFile {
  readonly path: string
  /** What people call it. */
  readonly called: string
  /** The same for the same input, and for no other. */
  readonly source: string
}

/** What stands for standard input on a command line. */
const STANDARD_INPUT = '-'
const CALLED = 'standard input'

/**
 * Runs `work` with the file, if it can be read; what `-` stands for is kept in a file of its own meanwhile, which only this user can read. Errors that
 * name that file call it standard input.
 */
export async function withInput<Result>(
  file: string,
  input: Readable,
  signal: AbortSignal,
  work: (file: InputFile) => Promise<Result>,
): Promise<Result> {
  if (file !== STANDARD_INPUT) {
    await mustBeReadable(file)
    return work({ path: file, called: file, source: file })
  }
  const folder = await mkdtemp(join(tmpdir(), 'gavel-input-'))
  const path = join(folder, 'standard-input')
  try {
    const digest = createHash('sha256')
    input.on('data', (chunk: Buffer) => digest.update(chunk))
    await pipeline(input, createWriteStream(path, { mode: 0o600 }), { signal })
    return await work({ path, called: CALLED, source: `${STANDARD_INPUT} ${digest.digest('hex')}` })
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    throw new OperatorError(error.message.replaceAll(path, CALLED), { cause: error })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
