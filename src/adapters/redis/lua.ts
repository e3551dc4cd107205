import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'

/** Runs a script; where the number of its keys varies, that is the first argument. */
export type Lua = (...args: (string | number)[]) => Promise<unknown>

export interface Source {
  readonly lua: string
  /** How many of the arguments are keys, if it is always as many. */
  readonly keys?: number
}

/**
 * Scripts on a connection: sent by their hash, and whole where Redis does not know them. ioredis' own `defineCommand` does the
 * same, and keeps each call's arguments until V8's next full collection: it assigns a function to a property of each command,
 * and such functions are allocated in the old space.
 */
export function luaOn<Name extends string>(client: Redis, sources: Readonly<Record<Name, Source>>): Record<Name, Lua> {
  const made = Object.entries<Source>(sources).map(([name, source]) => [name, scriptOn(client, source)])
  return Object.fromEntries(made) as Record<Name, Lua> // As many names as there are sources.
}

function scriptOn(client: Redis, { lua, keys }: Source): Lua {
  const sha = createHash('sha1').update(lua).digest('hex')
  return async (...args) => {
    const [count = 0, ...given] = keys === undefined ? args : [keys, ...args]
    try {
      return await client.evalsha(sha, Number(count), ...given)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return client.eval(lua, Number(count), ...given)
    }
  }
}
