import type { Redis } from 'ioredis'
import { serversOf } from './connect.ts'

/** How much Redis holds, and may hold. */
export interface MemoryUse {
  /**
   * The share (0 to 1) of its `maxmemory` that it uses, or where none is set of its machine's memory; in a cluster that of the fullest
   * master. 0 if the server tells neither.
   */
  readonly share: number
  /** Its `maxmemory` in bytes, or where none is set its machine's memory; of a cluster the smallest master's, for all keys are on one. */
  readonly most: number | null
}

export async function memoryUse(client: Redis): Promise<MemoryUse> {
  const servers = await Promise.all(serversOf(client).map((server) => server.info('memory')))
  const known = servers.map(limitOf).filter((limit) => limit > 0)
  return { share: Math.max(0, ...servers.map(shareOf)), most: known.length === 0 ? null : Math.min(...known) }
}

/**
 * What is left free, in bytes, where intake pauses: what it has fetched by then is written yet, and between two looks at the memory it
 * fetches more. test/e2e/small-redis.proof.ts measures it.
 */
const LEFT_FREE = 64_000_000
/** The least share at which intake pauses. */
const LEAST_SHARE = 0.25
/** From so many bytes on that much is left free. */
export const LEAST_MEMORY = LEFT_FREE / (1 - LEAST_SHARE)

/** The share of its memory at which intake pauses: that of the setting, or less where that would leave too little. */
export function pauseShare(setting: number, most: number | null): number {
  return most === null ? setting : Math.min(setting, Math.max(LEAST_SHARE, 1 - LEFT_FREE / most))
}

/** The share from which intake pauses whoever holds what, for what no share holds back: half of what is left free has gone by then. */
export function stopShare(setting: number, pause: number): number {
  return Math.max(pause, Math.min(setting, (1 + pause) / 2))
}

export function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}

function limitOf(info: string): number {
  const number = numbersIn(info)
  // Without a limit of its own Redis grows until the machine has no more, and is then killed.
  return number('maxmemory') || number('total_system_memory')
}

/** The share by one server's `INFO memory`. */
export function shareOf(info: string): number {
  const number = numbersIn(info)
  const most = limitOf(info)
  return most === 0 ? 0 : (number('used_memory') - number('mem_not_counted_for_evict')) / most
}

function numbersIn(info: string): (name: string) => number {
  return (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0)
}
