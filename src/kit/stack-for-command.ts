import { OperatorError } from '../contracts/facts/errors.ts'
import { NotReadyError, UnavailableError } from './stack/servers/local-server.ts'
import { startStack } from './stack/stack.ts'

/**
 * As {@link startStack}. Throws an `OperatorError` where a server can't be had here, with the ways to get it, and where one does
 * not start, with its last words.
 */
export async function startStackForCommand(...given: Parameters<typeof startStack>): ReturnType<typeof startStack> {
  try {
    return await startStack(...given)
  } catch (error) {
    if (error instanceof UnavailableError || error instanceof NotReadyError)
      throw new OperatorError(error.message, { cause: error })
    throw error
  }
}
