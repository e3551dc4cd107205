import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

/** Runs a script with these keys and arguments, in order. */
export type Lua = (client: Redis, keys: readonly string[], args: readonly string[]) => Promise<unknown>

/**
 * A script that is sent by its hash, or in full to a server that does not have it. ioredis' own `defineCommand` does the
 * same, but keeps each call's arguments until V8's next full collection: it assigns a function to a property of each
 * command, and V8 allocates such functions in the old space.
 */
export function luaOf(text: string): Lua {
  const sha = createHash('sha1').update(text).digest('hex')
  return async (client, keys, args) => {
    try {
      return await client.evalsha(sha, keys.length, ...keys, ...args)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return client.eval(text, keys.length, ...keys, ...args)
    }
  }
}
