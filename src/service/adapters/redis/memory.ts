import type { Redis } from 'ioredis'
import { serversOf } from './connect.ts'

/**
 * The share (0 to 1) of its `maxmemory` that Redis uses, or where none is set of its machine's memory; in a cluster that of the
 * fullest master. 0 if the server tells neither.
 */
export async function memoryShare(client: Redis): Promise<number> {
  return Math.max(
    0,
    ...(await Promise.all(serversOf(client).map(async (server) => shareOf(await server.info('memory'))))),
  )
}

/** The same by one server's `INFO memory`. */
export function shareOf(info: string): number {
  const number = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
  // Without a limit of its own Redis grows until the machine has no more, and is then killed.
  const most = number('maxmemory') || number('total_system_memory')
  return most === 0 ? 0 : (number('used_memory') - number('mem_not_counted_for_evict')) / most
}
