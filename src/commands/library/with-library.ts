import { userInfo } from 'node:os'
import type { Settings } from '../../../config/schema.ts'
import { libraryOf } from '../../assembly.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../../domain/errors.ts'
import type { Library } from '../../ports/library.ts'

export type LibrarySettings = Pick<Settings, 'library' | 'openai'>

/** Runs a command on the library. What the library can't do now, or ever, is told as one line. */
export async function withLibrary<Result>(
  settings: LibrarySettings,
  work: (library: Library) => Promise<Result>,
): Promise<Result> {
  const library = libraryOf(settings, Date.now)
  try {
    return await work(library)
  } catch (error) {
    throw isFailure(error) ? new OperatorError(`${error.message}.`, { cause: error }) : error
  } finally {
    await library.close()
  }
}

/** What the library can't do now, or ever. */
export function isFailure(error: unknown): error is PermanentError | RetryLaterError {
  return error instanceof PermanentError || error instanceof RetryLaterError
}

/** Under whose name the commands of this person are logged. */
export function operator(): string {
  try {
    return userInfo().username
  } catch {
    // A container's user may have no name.
    return 'unknown'
  }
}
