import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Redis } from 'ioredis'

/** Files under a folder that hold the text. */
export function filesWith(text: string, under: string): string[] {
  return ifThere(() => readdirSync(under, { withFileTypes: true }), []).flatMap((entry) => {
    const path = join(under, entry.name)
    if (entry.isDirectory()) return filesWith(text, path)
    return ifThere(() => readFileSync(path).includes(text), false) ? [path] : []
  })
}

/** What a look finds, or `nothing` if what it looks at has gone meanwhile: its shelf was rewritten. */
function ifThere<Found>(look: () => Found, nothing: Found): Found {
  try {
    return look()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return nothing
    throw error
  }
}

/** All that stands in Redis at a moment, as text: what moves from key to key is not missed. */
export async function everythingIn(redis: Redis): Promise<string[]> {
  const read = await redis.eval(
    `local read = { hash = { 'HGETALL' }, list = { 'LRANGE', 0, -1 }, stream = { 'XRANGE', '-', '+' }, set = { 'SMEMBERS' },
       zset = { 'ZRANGE', 0, -1 }, string = { 'GET' } }
     local all = {}
     for _, key in ipairs(redis.call('KEYS', '*')) do
       local command, from, to = unpack(read[redis.call('TYPE', key).ok])
       local content
       if to then content = redis.call(command, key, from, to) else content = redis.call(command, key) end
       all[#all + 1] = { key, content }
     end
     return all`,
    0,
  )
  return (read as [string, unknown][]).map(([key, content]) => `${key} ${JSON.stringify(content)}`)
}
