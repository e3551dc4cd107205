import type { Settings } from '../../../../config/schema.ts'
import { didYouMean } from '../../../contracts/facts/did-you-mean.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import type { ThreadStore } from '../../../contracts/ports/threads.ts'
import { checkRedis, connect } from '../../../store/redis/connect.ts'
import { keysUnder } from '../../../store/redis/keys.ts'
import { redisThreads } from '../../../store/thread/redis.ts'

/** Throws an `OperatorError` if no protocol, switched on or not, has this name. */
export function mustExist({ protocols }: Settings, name: string): void {
  if (Object.hasOwn(protocols, name)) return
  const names = Object.keys(protocols)
  throw new OperatorError(`No protocol is called ${name}. There are: ${names.join(', ')}.${didYouMean(name, names)}`)
}

/** Uses the thread store in the settings' Redis once. Throws an `OperatorError` if Redis does not answer. */
export async function withThreads<Result>(
  settings: Settings,
  use: (threads: ThreadStore) => Promise<Result>,
): Promise<Result> {
  const client = connect(settings.redis, () => {}, 'fail-fast')
  const times = { keepTombstoneMs: settings.threads.keepTombstone, keepAfterFinalMs: settings.threads.keepAfterFinal }
  try {
    await checkRedis(client, settings.redis)
    return await use(redisThreads(client, keysUnder(settings.redis.prefix), times))
  } catch (error) {
    if (error instanceof OperatorError) throw error
    throw new OperatorError('Redis does not answer. See "gavel doctor".', { cause: error })
  } finally {
    client.disconnect()
  }
}
