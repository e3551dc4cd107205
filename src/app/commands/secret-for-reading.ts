import type { Settings } from '../../../config/schema.ts'
import { knownSecretOf } from '../../store/redis/shared-key.ts'
import { commandRedis } from '../composition/redis.ts'

/**
 * The key of fences and draws, for a command that only compares: the settings' one, else the one that the service keeps in Redis.
 * Throws an `OperatorError` if Redis is asked and not reachable.
 */
export async function secretForReading(settings: Settings, say: (line: string) => void): Promise<string> {
  if (settings.fences.key !== '') return settings.fences.key
  const redis = await commandRedis(settings)
  try {
    return await knownSecretOf(redis.client, redis.keys, '', (_, event) => {
      if ('advice' in event) say(event.advice)
    })
  } finally {
    await redis.close()
  }
}
