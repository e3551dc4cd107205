import { access, constants, mkdir } from 'node:fs/promises'
import { OperatorError } from '../contracts/facts/errors.ts'

/** Makes a folder, and those above it, where it is missing. Throws an `OperatorError` where nothing can be written there. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, constants.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file is in its place' : code
    throw new OperatorError(`${folder} cannot be written to: ${why}`, { cause: error })
  }
}
