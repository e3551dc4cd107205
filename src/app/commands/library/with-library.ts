import { userInfo } from 'node:os'
import type { Settings } from '../../../../config/schema.ts'
import { OperatorError, PermanentError, RetryLaterError } from '../../../contracts/facts/errors.ts'
import type { Library } from '../../../contracts/ports/library.ts'
import { libraryOf } from '../../../shelves/lancedb/library.ts'
import { knownDeletions } from '../../../store/erasure/redis.ts'

export type LibraryCommandSettings = Pick<Settings, 'library' | 'openai' | 'endpoints' | 'redis'>

/**
 * Opens the library for `work` and closes it. Nothing is shown or proposed of what Redis knows as deleted. A failure of the library becomes an
 * `OperatorError` of one line.
 */
export async function withLibrary<Result>(
  settings: LibraryCommandSettings,
  work: (library: Library) => Promise<Result>,
): Promise<Result> {
  const deletions = knownDeletions(settings)
  const library = libraryOf(settings, Date.now, deletions)
  try {
    return await work(library)
  } catch (error) {
    throw isFailure(error) ? new OperatorError(`${error.message}.`, { cause: error }) : error
  } finally {
    await library.close()
    await deletions.close()
  }
}

/** Whether the library failed to do something, temporarily or for good. */
export function isFailure(error: unknown): error is PermanentError | RetryLaterError {
  return error instanceof PermanentError || error instanceof RetryLaterError
}

/** The account's name, by which the history names who made a change. */
export function operator(): string {
  try {
    return userInfo().username
  } catch {
    // A container's user may have no name.
    return 'unknown'
  }
}
