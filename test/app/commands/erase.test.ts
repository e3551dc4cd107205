import { expect } from 'vitest'
import { loadSettings } from '../../../config/load.ts'
import { command } from '../../../src/app/commands/erase.ts'
import { keysUnder } from '../../../src/store/redis/keys.ts'
import { perform } from '../../support/commands.ts'
import { onRedis } from '../../support/on-redis.ts'
import { silent } from '../../support/pipeline.ts'

onRedis('an erasure that Redis loses on the way is not called done', async ({ redis, client }) => {
  const settings = loadSettings({ ...redis.settings, GAVEL_FENCES_KEY: 'a key of sixteen or more' })
  const { authorErasures } = keysUnder(settings.redis.prefix)
  const io = { terminal: silent, signal: new AbortController().signal }
  const asked = perform(command, settings, [], { author: 'ann', tenant: 'default', by: 'lea' }, io)
  await expect.poll(() => client.hlen(authorErasures), { timeout: 30_000 }).toBe(1)
  await client.del(authorErasures)
  await expect(asked).rejects.toThrow('Redis has lost the erasure')
})
