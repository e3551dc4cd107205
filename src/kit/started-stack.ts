import { OperatorError } from '../service/domain/errors.ts'
import { UnavailableError } from './stack/servers/local-server.ts'
import { startStack } from './stack/stack.ts'

/** As {@link startStack}. Throws an `OperatorError`, which lists the ways to get it, where a server can't be had here. */
export async function startedStack(...given: Parameters<typeof startStack>): ReturnType<typeof startStack> {
  try {
    return await startStack(...given)
  } catch (error) {
    if (error instanceof UnavailableError) throw new OperatorError(error.message, { cause: error })
    throw error
  }
}
